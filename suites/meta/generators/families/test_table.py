"""The table of builders."""

from __future__ import annotations

import pytest

from generators.families.table import BUILDERS, builder
from reference.ops.table import OPS


def test_every_builder_is_of_an_op() -> None:
    assert BUILDERS.keys() <= OPS.keys()
    assert builder("abs") is BUILDERS["abs"]


def test_an_op_without_cases_is_refused_by_name() -> None:
    with pytest.raises(KeyError, match=r"no cases for op 'mine'; known: .*\babs\b"):
        builder("mine")

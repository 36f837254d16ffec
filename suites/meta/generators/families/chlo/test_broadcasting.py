"""Cases of CHLO's elementwise ops of several shapes."""

from __future__ import annotations

import pytest

from generators.families.chlo.broadcasting import BUILDERS
from reference.ops.table import OPS
from suites.meta.support.built_cases import assert_valid, built, sizes, subjects


@pytest.mark.parametrize("op", BUILDERS)
def test_cases_are_valid(op: str) -> None:
    of = OPS[op].element_types[-1]
    assert_valid(built(BUILDERS[op], of.name, 8))


def test_an_operand_of_lower_rank_has_the_last_dimensions() -> None:
    cases = built(BUILDERS["chlo.broadcast_add"], "f32", 30, {"ranks": "as in numpy"})
    for one in subjects(cases):
        short, long = sorted((sizes(one), sizes(one, 1)), key=len)
        assert len(short) < len(long)
        assert long[len(long) - len(short) :] == short

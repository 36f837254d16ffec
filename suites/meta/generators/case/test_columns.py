"""Columns of the matrix by their names."""

from __future__ import annotations

import pytest

from generators.case.columns import INVALID, column
from generators.case.quantized_types import PER_AXIS, PER_TENSOR
from reference.ir.types import ALL


@pytest.mark.parametrize("one", [*ALL, *PER_TENSOR, PER_AXIS, INVALID], ids=str)
def test_a_column_is_found_by_its_name(one: object) -> None:
    assert column(str(one)) is one


def test_a_name_that_no_column_has() -> None:
    with pytest.raises(KeyError):
        column("q<f32:f32>")

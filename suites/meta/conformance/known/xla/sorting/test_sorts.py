"""Sorts along a dimension counted from the last, which XLA skips."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.xla.sorting.sorts import UNSORTED
from reference.ir.program import Operation
from reference.ir.types import Array

X, Y = np.array([[3, 1], [2, 4]], np.int32), np.array([[30, 10], [20, 40]], np.int32)


def errors(dimension: int | None, *actual: Array) -> list[bool]:
    """Return, for each result, whether all of its elements are explained."""
    given = () if dimension is None else (("dimension", dimension),)
    operation = Operation("sort", (), (), attributes=given)
    expected = (np.sort(X, axis=0), np.sort(Y, axis=0))
    assert UNSORTED.errors is not None
    found = UNSORTED.errors(operation, (X, Y), expected, actual)
    assert [one.shape for one in found] == [X.shape, Y.shape]
    assert {number for one in found for number in one.reshape(-1).tolist()} <= {0, np.inf}
    return [bool((one == 0).all()) for one in found]


@pytest.mark.parametrize(
    ("dimension", "explained"),
    [(-2, True), (-3, True), (-1, False), (0, False), (1, False), (None, False)],
)
def test_operands_stay_if_the_dimension_is_before_the_last(
    dimension: int | None, explained: bool
) -> None:
    assert errors(dimension, X, Y) == [explained, explained]


def test_all_results_must_be_operands() -> None:
    assert errors(-2, X, np.sort(Y, axis=0)) == [False, False]
    assert errors(-2, Y, X) == [False, False]

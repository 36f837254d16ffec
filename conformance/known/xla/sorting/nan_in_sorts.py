"""Sorts by one comparison of numbers, in which NaN is larger than all numbers and equal to NaN.

Spec "compare": a comparison with NaN is false, and so NaN is equal to whatever it is sorted among,
as are zeros of both signs. XLA's CPU sorts keys in place of the comparator, always stable: NaN
comes last where the order is ascending, first where it is descending. The order of a NaN among
different numbers is unspecified.

Source: jaxlib 0.12, measured; jaxlib 0.10.2 calls the comparator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.known.hypothesis import (
    Operands,
    Results,
    equal_slices,
    predict_nothing,
    predict_slices,
    value_hypothesis,
)
from conformance.tolerance.bounds.sorting import move_axis_last
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import to_float64

LABEL = "NaN sorted as the largest number"

_IS_ASCENDING = {"LT": True, "GT": False}


def _errors(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for slices that contain NaN and are sorted with NaN last or first, else infinity."""
    key = sorting_key(operation)
    if key is None or not element_type_of(operands[key[0]]).is_float:
        return predict_nothing(expected)
    dimension = dict[str, Any](operation.attributes).get("dimension", -1)
    given, got = (move_axis_last(arrays, dimension) for arrays in (operands, actual))
    order = _order(given[key[0]], is_ascending=key[1])
    found = equal_slices(tuple(np.take_along_axis(one, order, axis=-1) for one in given), got)
    found &= np.isnan(to_float64(given[key[0]])).any(axis=-1)
    return predict_slices(found, expected, dimension)


def _order(keys: Array, *, is_ascending: bool) -> Array:
    """Return the order of the keys along the last dimension."""
    numbers = to_float64(keys)
    nans = np.isnan(numbers)
    numbers = np.where(nans, 0.0, numbers if is_ascending else -numbers)
    return np.lexsort((numbers, nans if is_ascending else ~nans), axis=-1)


def sorting_key(operation: Operation) -> tuple[int, bool] | None:
    """Return the operand of the sort's single comparison, and whether it is ascending."""
    region = operation.regions[0]
    if [one.name for one in region.operations] != ["compare", "return"]:
        return None
    compare, end = region.operations
    given = dict[str, Any](compare.attributes)
    ascending = _IS_ASCENDING.get(given["comparison_direction"])
    if ascending is None or given.get("compare_type") == "TOTALORDER":
        return None
    places = [region.arguments.index(v) if v in region.arguments else -1 for v in compare.operands]
    first = min(places)
    if end.operands != compare.results or first < 0 or first % 2 or max(places) != first + 1:
        return None
    return first // 2, ascending == (places[0] == first)


NAN_LARGEST = value_hypothesis(LABEL, _errors)

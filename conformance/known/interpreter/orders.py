"""Comparisons in total order, which the interpreter computes as IEEE 754's `compareQuiet`.

Then no number is less than NaN or greater, so a sort may put NaNs anywhere. Other elements must
still be in order, and all elements must come from the operand.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Results,
    exact_hypothesis,
    predict_nothing,
    predict_slices,
)
from conformance.tolerance.bounds.sorting import are_permutations, are_sorted, move_axis_last
from reference.interpreter.evaluate import EvaluationError, apply, body_of
from reference.ir.program import Operation, Region
from reference.ir.types import Array, element_type_of

LABEL = "total order not kept"


def _replace_total_order(operation: Operation) -> Operation:
    """Return the operation with ordinary comparisons instead of those in total order."""
    if operation.attribute("compare_type") == "TOTALORDER":
        operation = operation.with_attributes(compare_type="FLOAT")
    return replace(operation, regions=tuple(map(_replace_comparisons_inside, operation.regions)))


def _replace_comparisons_inside(region: Region) -> Region:
    return replace(region, operations=tuple(map(_replace_total_order, region.operations)))


def _predict_compare(
    operation: Operation, operands: tuple[Array, ...], expected: Results
) -> Results | None:
    del expected
    other = _replace_total_order(operation)
    return None if other == operation else apply(other, operands)


def _distance_if_sorted(
    operation: Operation, operands: tuple[Array, ...], expected: Results, actual: Results
) -> Results:
    """Return 0 for all elements of slices that are sorted except for the positions of their
    NaNs.
    """
    del operands
    other = _replace_total_order(operation)
    if other == operation:
        return predict_nothing(expected)
    dimension = dict[str, Any](operation.attributes).get("dimension", -1)
    placed, after = (move_axis_last(arrays, dimension) for arrays in (expected, actual))
    try:
        right = are_sorted(after, body_of(other.regions[0])) | _has_nan(after)
    except EvaluationError:  # the comparator uses outer values, which are not available
        return predict_nothing(expected)
    return predict_slices(right & are_permutations(placed, after), expected, dimension)


def _has_nan(rows: tuple[Array, ...]) -> Array:
    """Return a mask of the slices along the last dimension that have a NaN in any of the arrays."""
    found = np.zeros(rows[0].shape[:-1], np.bool_)
    for array in rows:
        of = element_type_of(array)
        if of.is_float or of.is_complex:
            found |= np.isnan(array).any(axis=-1)
    return found


COMPARED = exact_hypothesis(LABEL, _predict_compare)
SORTED = Hypothesis(LABEL, _distance_if_sorted, signs=True)

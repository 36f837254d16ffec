"""Sorts, TopK and comparisons that compare other numbers than their elements.

TopK, and comparisons in total order, compare 6-bit numbers by their codes, as unsigned integers,
because they test the sign bit of an 8-bit type. They compare f8E5M2FNUZ in f16, where numbers under
2^-14 are subnormal and are read as 2^-14 with their sign. TopK of jaxlib 0.10 compares bf16 as f32,
by instructions that flush: -9e-39 and -8e-40 are both -0, and the first is returned.

Source: jaxlib 0.10.2 and 0.12, measured on all numbers of these types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from conformance.known.hypothesis import (
    Operands,
    Results,
    equal_slices,
    exact_hypothesis,
    predict_nothing,
    predict_slices,
    value_hypothesis,
)
from conformance.tolerance.bounds.sorting import are_permutations, are_sorted, move_axis_last
from conformance.tolerance.rule import Measure
from conformance.transforms.retype import retype
from conformance.transforms.values import nested_operations
from reference.interpreter.evaluate import apply, body_of
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of, to_bits
from reference.numerics.alike import has_subnormals
from reference.numerics.rounding import to_float64
from reference.ops.sorts.sorting import sorting_permutation

CODES = "order of the codes"
ROUNDED = "rounded up in f16"
FLUSHED = "subnormal comparison"

Seen = Callable[[Array], Array | None]
"""A function seen(array) that returns the compared numbers; None for any other type."""

_LEAST = 2.0**-14
"""The smallest normal number of f16."""


def rank_by_code(array: Array) -> Array | None:
    """Return 6-bit numbers in the order of the codes."""
    of = element_type_of(array)
    if not of.is_float or of.bits != 6:
        return None
    codes = to_bits(array).astype(np.uint8)
    half = np.uint8(1 << (of.bits - 1))
    return np.where(codes < half, 2 * half - 1 - codes, codes - half).view(array.dtype)


def six_bit_codes(array: Array) -> Array | None:
    """Return the codes of 6-bit numbers, as unsigned integers of 8 bits: no two are equal."""
    of = element_type_of(array)
    return to_bits(array).astype(np.uint8) if of.is_float and of.bits == 6 else None


def rounded_up(array: Array) -> Array | None:
    """Return f8E5M2FNUZ numbers; numbers that are subnormal in f16 become 2^-14 with their sign."""
    of = element_type_of(array)
    if of.name != "f8E5M2FNUZ":
        return None
    number = to_float64(array)
    is_lost = (np.abs(number) < _LEAST) & (np.abs(number) >= of.float_format.smallest_normal)
    return np.where(is_lost, np.copysign(_LEAST, number), number).astype(array.dtype)


def flush_keeping_signs(array: Array) -> Array | None:
    """Return numbers with subnormals replaced by zeros of their sign: -0 sorts before +0."""
    of = element_type_of(array)
    if not of.is_float or not has_subnormals(array):
        return None
    number, least = to_float64(array), of.float_format.smallest
    zero = np.where(np.signbit(number), -least, 0.0)
    return np.where(np.abs(number) < of.float_format.smallest_normal, zero, number).astype(
        array.dtype
    )


def _sorts(seen: Seen) -> Measure:
    """Return the measure of slices that are sorted by other numbers than their elements."""

    def measure(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        compares = (
            one.attribute("compare_type") == "TOTALORDER" for one in nested_operations(operation)
        )
        if not any(compares) or not any(seen(one) is not None for one in operands):
            return predict_nothing(expected)
        given: dict[str, Any] = dict(operation.attributes)
        dimension, comparator = given["dimension"], body_of(operation.regions[0])
        before, after = move_axis_last(operands, dimension), move_axis_last(actual, dimension)
        if given.get("is_stable", False):
            order = sorting_permutation(
                tuple(_compared_value(one, seen) for one in before), comparator
            )
            rows = tuple(np.take_along_axis(one, order, -1) for one in before)
            found = equal_slices(rows, after)
        else:
            compared = tuple(_compared_value(one, seen) for one in after)
            found = are_permutations(before, after) & are_sorted(compared, comparator)
        return predict_slices(found, expected, dimension)

    return measure


def _selects(seen: Seen) -> Measure:
    """Return the measure of rows from which TopK selects by other numbers than the elements."""

    def measure(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        compared = None if operation.attribute("largest") is None else seen(operands[0])
        if compared is None:
            return predict_nothing(expected)
        types = {element_type_of(operands[0]): element_type_of(compared)}
        indices = apply(retype(operation, types), (compared,))[1]
        values = np.take_along_axis(operands[0], np.asarray(indices, np.int64), axis=-1)
        return predict_slices(equal_slices((values, indices), actual), expected)

    return measure


def _compare_codes(operation: Operation, operands: Operands, expected: Results) -> Results | None:
    """Return a comparison in total order of numbers of 6 bits by their codes; None for any other
    operation.
    """
    del expected
    ranks = tuple(map(rank_by_code, operands))
    if operation.attribute("compare_type") != "TOTALORDER":
        return None
    known = [one for one in ranks if one is not None]
    return apply(operation, known) if len(known) == len(operands) else None


def _compared_value(array: Array, seen: Seen) -> Array:
    """Return the value compared in place of an operand: itself, if it has another type."""
    other = seen(array)
    return array if other is None else other


COMPARED = exact_hypothesis(CODES, _compare_codes)
"""The class of wrong results of comparisons in total order."""

SORTS = (
    value_hypothesis(CODES, _sorts(rank_by_code)),
    value_hypothesis(ROUNDED, _sorts(rounded_up)),
)
"""The classes of wrong results of `sort`, by the order that it uses."""

SELECTIONS = (
    value_hypothesis(CODES, _selects(six_bit_codes)),
    value_hypothesis(ROUNDED, _selects(rounded_up)),
    value_hypothesis(FLUSHED, _selects(flush_keeping_signs)),
)
"""The classes of wrong results of TopK, by the order that selects them."""

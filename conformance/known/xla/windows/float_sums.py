"""Convolutions of integers that a compiler folds: added in float64, then clamped to their type.

A sum beyond the largest or the smallest integer of the type saturates, where the specification's
arithmetic wraps around. In types narrower than a byte it saturates at the limits of a byte and then
wraps around. If the operands' type is wider than the result's, it saturates at the limits of the
operands' type.

Source: XLA's evaluator of constants; jaxlib 0.10.2 and 0.12, measured.
"""

from __future__ import annotations

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    predict_nothing,
    predict_where,
)
from conformance.tolerance.bounds.convolution import geometry_of
from reference.ir.program import Operation
from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.products import magnitudes
from reference.ops.convolution import Geometry, convolve

LABEL = "integers added up in float64"

EXACT = 2.0**53
"""Bound below which float64 represents all integers exactly."""

_BYTE = 8


def _measure_float_sum(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for elements equal to a sum that was added in float64 and saturated, else
    infinity.
    """
    to = element_type_of(expected[0])
    if not to.is_integer:
        return predict_nothing(expected)
    least, most = sum_range(operands, geometry_of(operation, operands), to)
    got = actual[0].astype(object)
    is_of_float64 = actual[0].astype(np.float64).astype(object) == got
    is_of_float64 |= (actual[0] == to.min_integer) | (actual[0] == to.max_integer)
    return predict_where(is_of_float64.astype(np.bool_) & (least <= got) & (got <= most))


ADDED_UP = Hypothesis(LABEL, _measure_float_sum)


def sum_range(operands: tuple[Array, ...], of: Geometry, to: ElementType) -> tuple[Array, Array]:
    """Return the smallest and the largest possible sum, as arrays of Python integers.

    They are equal if all partial sums are exact.
    """
    lhs, rhs = (one.astype(np.float64) for one in operands[:2])
    by = _wider_type(element_type_of(operands[0]), to)
    total = convolve(lhs, rhs, of, np.matmul)
    sizes = convolve(lhs, rhs, of, magnitudes)
    slack = np.where(sizes < EXACT, 0, sizes * max(rhs.size, 1) / EXACT)
    return _clamp_and_wrap(total - slack, by, to), _clamp_and_wrap(total + slack, by, to)


def _wider_type(operand: ElementType, to: ElementType) -> ElementType:
    """Return the type to which sums are clamped."""
    return operand if operand.bits > max(to.bits, _BYTE) else to


def _clamp_and_wrap(numbers: Array, by: ElementType, to: ElementType) -> Array:
    """Return numbers clamped to one type, then wrapped to another."""
    bits = max(by.bits, _BYTE)
    low, high = (
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if by.is_signed else (0, (1 << bits) - 1)
    )
    whole = [_wrap_integer(min(max(int(one), low), high), to) for one in numbers.reshape(-1)]
    return np.array(whole, object).reshape(numbers.shape)


def _wrap_integer(number: int, to: ElementType) -> int:
    low = number & ((1 << to.bits) - 1)
    return low - (1 << to.bits) if to.is_signed and low >> (to.bits - 1) else low

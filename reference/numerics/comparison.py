"""Comparison and selection: compare, is_finite, select."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reference.ir.types import Array, element_type_of, to_bits
from reference.numerics.arithmetic import widen_subbyte
from reference.numerics.rounding import to_float64

_DIRECTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "GE": np.greater_equal,
    "GT": np.greater,
    "LE": np.less_equal,
    "LT": np.less,
}
_STRICT = {"GE": "GT", "GT": "GT", "LE": "LT", "LT": "LT"}


def compare(
    lhs: Array, rhs: Array, *, comparison_direction: str, compare_type: str | None = None
) -> Array:
    """Compare elements; NaN makes every comparison but NE false, unless in total order.

    TOTALORDER is the order of XLA's documentation, -NaN < -inf < ... < -0 < +0 < ... < inf < NaN,
    in which elements are equal if their bits are: IEEE 754's totalOrder. Complex numbers are
    compared by real parts, then by imaginary parts.
    """
    apply = _DIRECTIONS[comparison_direction]
    element_type = element_type_of(lhs)
    if element_type.is_complex:
        return np.asarray(_lexicographic(lhs, rhs, comparison_direction))
    if compare_type == "TOTALORDER":
        return np.asarray(apply(total_order_key(lhs), total_order_key(rhs)))
    if element_type.is_float and element_type.bits < 32:
        return np.asarray(apply(to_float64(lhs), to_float64(rhs)))
    return np.asarray(apply(widen_subbyte(lhs), widen_subbyte(rhs)))


def _lexicographic(lhs: Array, rhs: Array, direction: str) -> Array:
    if direction not in _STRICT:
        equal = (np.real(lhs) == np.real(rhs)) & (np.imag(lhs) == np.imag(rhs))
        return equal if direction == "EQ" else ~equal
    first = _DIRECTIONS[_STRICT[direction]](np.real(lhs), np.real(rhs))
    return first | (
        (np.real(lhs) == np.real(rhs)) & _DIRECTIONS[direction](np.imag(lhs), np.imag(rhs))
    )


def total_order_key(array: Array) -> Array:
    """Return integers (si64) in the order that IEEE 754's totalOrder gives these floats."""
    element_type = element_type_of(array)
    bits = to_bits(array).astype(np.uint64)
    if not element_type.float_format.signed:
        return bits.astype(np.int64)
    magnitude = (bits & np.uint64((1 << (element_type.bits - 1)) - 1)).astype(np.int64)
    return np.where(bits >> np.uint64(element_type.bits - 1), -1 - magnitude, magnitude)


def is_finite(x: Array) -> Array:
    """Return a mask of the elements that are neither infinite nor NaN."""
    return np.asarray(np.isfinite(to_float64(x)))


def select(pred: Array, on_true: Array, on_false: Array) -> Array:
    """Return elements of `on_true` where `pred` holds, else of `on_false`; `pred` may be scalar."""
    return np.where(pred, on_true, on_false)

"""Tables of the float64 numbers that round to each number of a small type.

A result of at most 16 bits is right if the float64 value of the function lies between the bounds of
its code. Bounds are bits of float64, which are in order of value for each sign, so that a distance
between two of them counts units in the last place.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from reference.ir.types import Array, ElementType, from_bits, to_bits
from reference.numerics.rounding import round_to, to_float64

WIDEST = 16
"""Number of bits of the widest type that has a table."""

_SIGN = np.uint64(1 << 63)
_INFINITY = int(np.array(np.inf).view(np.int64))


@dataclass(frozen=True, slots=True)
class Preimages:
    """For each code of a type, the first float64 that rounds to it, as bits, and their number.

    NaN has no such number; `is_nan` marks its codes. Zeros count only numbers of their own sign.
    """

    first: Array
    count: Array
    is_nan: Array

    def excludes(self, codes: Array, values: Array) -> Array:
        """Return a mask of the codes that are not certain to be the rounded float64 values."""
        beyond = values.view(np.uint64) - self.first.take(codes)
        return np.asarray(beyond >= self.count.take(codes))


@cache
def preimages(element_type: ElementType, margin: int = 0) -> Preimages:
    """Return which float64 numbers round to each code of a type of at most 16 bits.

    Args:
        element_type: a floating-point type.
        margin: units in the last place of float64 by which values may be wrong. Numbers so near to
            another code's are left out. Zero and infinity are taken to be right.
    """
    codes = np.arange(1 << element_type.bits, dtype=np.uint32)
    values = to_float64(from_bits(codes, element_type))
    finite = np.flatnonzero(np.isfinite(values) & ~np.signbit(values))
    ascending = finite[np.argsort(values[finite], kind="stable")]
    first, last = _bounds(values[ascending], ascending, element_type)
    lows, highs = np.zeros(len(codes), np.int64), np.full(len(codes), -1, np.int64)
    lows[ascending], highs[ascending] = first, last
    infinite = np.flatnonzero(np.isposinf(values))
    lows[infinite], highs[infinite] = last[-1] + 1, _INFINITY
    lows += np.where(lows > 0, margin, 0)
    highs -= np.where(highs < _INFINITY, margin, 0)
    counts = np.maximum(highs - lows + 1, 0).astype(np.uint64)
    starts = lows.astype(np.uint64)
    if element_type.float_format.signed:
        _mirror(starts, counts, values, element_type)
    return Preimages(starts, counts, np.isnan(values))


def _bounds(values: Array, codes: Array, element_type: ElementType) -> tuple[Array, Array]:
    """Return the bits of the first and the last float64 that round to each of ascending values."""
    middles = (values[:-1] + values[1:]) / 2  # exact
    is_lower = _codes(middles, element_type) == codes[:-1]
    last = middles.view(np.int64) - ~is_lower
    top = _last_of(int(codes[-1]), float(values[-1]), element_type)
    has_zero = int(_codes(np.zeros(1), element_type)[0]) == codes[0]
    first = np.concatenate([[0 if has_zero else 1], last + 1])
    return first, np.concatenate([last, [top]])


def _codes(values: Array, element_type: ElementType) -> Array:
    with np.errstate(all="ignore"):
        return to_bits(round_to(values, element_type)).astype(np.int64)


def _last_of(code: int, value: float, element_type: ElementType) -> int:
    """Return the bits of the last float64 that rounds to the largest finite value."""
    low, high = int(np.array(value).view(np.int64)), _INFINITY + 1
    while high - low > 1:
        middle = (low + high) // 2
        rounded = _codes(np.array([middle], np.int64).view(np.float64), element_type)[0]
        low, high = (middle, high) if rounded == code else (low, middle)
    return low


def _mirror(starts: Array, counts: Array, values: Array, element_type: ElementType) -> None:
    """Fill in the negative codes: the positive codes with the sign changed."""
    half = 1 << (element_type.bits - 1)
    positive = np.arange(half)
    if not element_type.float_format.has_negative_zero:
        positive = positive[values[:half] != 0]
    starts[positive + half] = starts[positive] | _SIGN
    counts[positive + half] = counts[positive]

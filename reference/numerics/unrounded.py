"""Unrounded products as pairs of long doubles, and their sums, rounded once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference.ir.types import Array, ElementType
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import round_to, to_float64

_LOW = np.int64((1 << 27) - 1)
_DIGITS = np.finfo(np.longdouble).nmant + 1


@dataclass(frozen=True, slots=True)
class UnroundedNumbers:
    """Real numbers as sums of two long doubles; `low` is the rounding error of `high`."""

    high: Array
    low: Array

    def __neg__(self) -> UnroundedNumbers:
        """Return the numbers with the opposite sign."""
        return UnroundedNumbers(-self.high, -self.low)

    def add_correction(self, by: Array) -> UnroundedNumbers:
        """Return the numbers with `by` added to their low parts."""
        return UnroundedNumbers(self.high, self.low + by)

    def take(self, indices: Array) -> UnroundedNumbers:
        """Return the numbers at these flat indices, in the indices' shape."""
        return UnroundedNumbers(self.high.reshape(-1)[indices], self.low.reshape(-1)[indices])


def unrounded_number(array: Array) -> UnroundedNumbers:
    """Return numbers of a floating-point type, exactly."""
    wide = to_float64(array).astype(np.longdouble)
    return UnroundedNumbers(wide, np.zeros_like(wide))


@quiet
def unrounded_product(x: Array, y: Array) -> UnroundedNumbers:
    """Return products of numbers of floating-point types, exact unless they underflow."""
    a, b = to_float64(x), to_float64(y)
    (p, q), (r, s) = _halves(a), _halves(b)
    high = a.astype(np.longdouble) * b.astype(np.longdouble)
    low = ((p * r - high) + p * s + q * r) + q * s
    return UnroundedNumbers(high, np.where(np.isfinite(high), low, 0.0))


def _halves(x: Array) -> tuple[Array, Array]:
    """Return a double as the sum of its upper 26 bits and the rest, both as long doubles."""
    upper = (np.ascontiguousarray(x).view(np.int64) & ~_LOW).view(np.float64).reshape(x.shape)
    return upper.astype(np.longdouble), np.where(np.isfinite(x), x - upper, 0).astype(np.longdouble)


@quiet
def rounded_sum(one: UnroundedNumbers, other: UnroundedNumbers, to: ElementType) -> Array:
    """Return the sum of both, rounded once to a floating-point type."""
    high, lost = _two_sum(one.high, other.high)
    low, less = _two_sum(one.low, other.low)
    rest, least = _two_sum(lost, low)
    rest = _round_to_odd(rest, least + less)
    high, rest = _two_sum(high, rest)
    return round_to(np.where(np.isfinite(high), _round_to_odd(high, rest), high), to)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    shadow = total - a
    lost = (a - (total - shadow)) + (b - shadow)
    return total, np.where(np.isfinite(total), lost, 0.0)


def _round_to_odd(near: Array, lost: Array) -> Array:
    """Return the sum of a number and its rounding error, rounded to odd."""
    fraction = np.frexp(near)[0]
    is_odd = np.fmod(np.ldexp(np.abs(fraction), _DIGITS), 2) == 1
    there = np.nextafter(near, np.where(lost > 0, np.inf, -np.inf).astype(near.dtype))
    return np.where((lost != 0) & ~is_odd, there, near)

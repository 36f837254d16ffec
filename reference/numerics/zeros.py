"""Signed zeros, part by part, and the sign of their sums.

Masks have the shape of the array; masks of complex arrays have a trailing dimension of two parts.

IEEE 754-2019, 6.3, rounding to nearest: x + (-x) is +0 unless both are zeros of one sign. So in any
order of addition, a sum is -0 only if all terms are -0.
"""

from __future__ import annotations

import numpy as np

from reference.ir.types import Array
from reference.numerics.rounding import to_float64


def parts_of(array: Array) -> Array:
    """Return the real numbers of an array of any type, in a built-in type of numpy.

    Booleans and integers are unchanged; complex numbers become real and imaginary parts.
    """
    if array.dtype.kind == "c":
        return np.stack([np.real(array), np.imag(array)], axis=-1)
    return array if array.dtype.isbuiltin == 1 else to_float64(array)


def is_zero(array: Array) -> Array:
    """Return a mask of parts that are zero, of either sign."""
    return np.asarray(parts_of(array) == 0)


def is_negative(array: Array) -> Array:
    """Return a mask of parts with a sign: negative numbers, -0, some NaNs."""
    parts = parts_of(array)
    return np.asarray(np.signbit(parts) if parts.dtype.kind == "f" else parts < 0)


def is_negative_zero(array: Array) -> Array:
    """Return a mask of parts that are -0."""
    return is_zero(array) & is_negative(array)

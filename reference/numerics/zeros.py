"""Zeros by their sign, part by part, and the sign that a sum of them has.

Masks have the shape of the array; those of complex arrays a trailing dimension of two parts.

IEEE 754-2019, 6.3, rounding to nearest: x + (-x) is +0 unless both are zeros of one sign. So in
whatever order numbers are added up, a sum is -0 only where all of them are -0.
"""

from __future__ import annotations

import numpy as np

from reference.ir.types import Array
from reference.numerics.rounding import to_float64


def parts_of(array: Array) -> Array:
    """The real numbers of an array of any type, in a type of numpy's own.

    Booleans and integers stay what they are, complex numbers come as real and imaginary parts.
    """
    if array.dtype.kind == "c":
        return np.stack([np.real(array), np.imag(array)], axis=-1)
    return array if array.dtype.isbuiltin == 1 else to_float64(array)


def is_zero(array: Array) -> Array:
    """Which parts are zero, of either sign."""
    return np.asarray(parts_of(array) == 0)


def is_negative(array: Array) -> Array:
    """Which parts have a sign: those of negative numbers, of -0, of some NaNs."""
    parts = parts_of(array)
    return np.asarray(np.signbit(parts) if parts.dtype.kind == "f" else parts < 0)


def is_negative_zero(array: Array) -> Array:
    """Which parts are -0."""
    return is_zero(array) & is_negative(array)

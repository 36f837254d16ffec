"""Pairs of numbers of f32 whose sums stand for numbers of f64, and the accuracy of pairs."""

from __future__ import annotations

import numpy as np

from reference.ir.types import Array

PRECISION = 2.0**-44
"""Relative error of an operation on pairs: they have 48 bits, and lose some of the last."""

NUDGE = 2.0**-47
"""Relative change of operands, to measure the magnification of errors of pairs."""

NORMAL = 2.0**-126
"""Smallest normal number of f32. Smaller numbers may be flushed to zero on the way to a result."""

SMALLEST = 2.0**-125
"""Absolute error of pairs near the smallest normal number of f32."""

SUM_ERROR = 2.0**-112
"""Absolute error of sums of many products, whose low parts are flushed each."""

THIN, THICK = 2.0**-102, 2.0**105
"""Bounds between which the second numbers of pairs, and their products, are normal.

Other pairs are as accurate as a single f32 number.
"""

COARSE = 2.0**-22
"""Relative change of operands that are only as accurate as a single f32 number."""

LARGE = 2.0**126
"""Magnitude from which pairs may overflow in intermediate results."""

BOUND = 2.0**10
"""Ratio of the unit roundoff of pairs to f64's, on which bounds are based."""

SIGNS = ((1.0, 1.0), (-1.0, 1.0), (1.0, -1.0))
"""Directions in which even and odd operands are changed."""


def round_to_pairs(array: Array) -> Array:
    """Return numbers of f64, or complex numbers of f64, as the sums of the pairs that represent
    them.

    Arrays of other types are returned as they are.
    """
    if array.dtype == np.complex128:
        return complex_of(round_to_pairs(np.real(array)), round_to_pairs(np.imag(array)))
    if array.dtype != np.float64:
        return array
    high, low = (part.astype(np.float64) for part in split_into_pairs(array))
    return np.where(low != 0, high + low, high)


def split_into_pairs(array: Array) -> tuple[Array, Array]:
    """Return the numbers of f32 that are the pairs of numbers of f64, the larger first."""
    with np.errstate(all="ignore"):
        high = array.astype(np.float32)
        low = (array - high).astype(np.float32)
        return high, np.where(np.isfinite(high), low, np.float32(0))


def complex_of(real: Array, imag: Array) -> Array:
    """Return complex numbers of their parts, zeros with their signs."""
    made = np.empty(real.shape, np.complex128)
    made.real, made.imag = real, imag
    return made

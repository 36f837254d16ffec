"""Constants that are the numbers of an iota, all zeros among them being +0."""

from __future__ import annotations

import numpy as np

from reference.ir.types import Array, element_type_of

LEAST = 2
"""Elements that an iota has at least."""


def without_signed_zeros(array: Array) -> Array:
    """The same numbers, all zeros being +0."""
    return array + np.zeros((), array.dtype)


def is_iota(array: Array) -> bool:
    """Whether an array has the numbers 0, 1, 2, ... in one dimension, two or more of them."""
    if array.ndim != 1 or array.size < LEAST:
        return False
    of = element_type_of(array)
    is_number = of.is_float or of.is_complex
    return is_number and np.array_equal(array.astype(np.complex128), np.arange(array.size))

"""Constants -0, 1, 2, ... that are misread as an iota, which begins with +0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reference.ir.types import Array, element_type_of

IOTA = "taken for iota"

LEAST = 2
"""Minimum number of elements of an iota."""


def as_iotas(
    arrays: Sequence[Any], folded: Sequence[bool], *, reshaped: bool = False
) -> tuple[Any, ...] | None:
    """Return arrays with +0 for all zeros of arrays that are misread as an iota; None if there is
    none.

    `folded` tells which arrays are constants to a compiler. If they are `reshaped`, dimensions of
    size 1 are ignored.
    """
    taken = [
        is_constant
        and isinstance(array, np.ndarray)
        and is_iota(array.squeeze() if reshaped else array)
        for array, is_constant in zip(arrays, folded, strict=True)
    ]
    if not any(taken):
        return None
    return tuple(
        array + np.zeros((), array.dtype) if is_taken else array
        for array, is_taken in zip(arrays, taken, strict=True)
    )


def is_iota(array: Array) -> bool:
    """Return whether an array has the numbers 0, 1, 2, ... along a dimension of at least two
    elements.
    """
    if array.ndim != 1 or array.size < LEAST:
        return False
    of = element_type_of(array)
    is_number = of.is_float or of.is_complex
    return is_number and np.array_equal(array.astype(np.complex128), np.arange(array.size))

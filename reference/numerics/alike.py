"""Equality of elements, and subnormal numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.ir.types import Array, element_type_of, to_bits
from reference.numerics.rounding import round_to, to_float64


def equal_elements(array: Array, other: Array) -> Array:
    """Return a mask of the elements of two arrays of one type that have equal bits or are both NaN.

    Complex elements are compared part by part. The mask has the arrays' shape.
    """
    element_type = element_type_of(array)
    same = to_bits(array) == to_bits(other)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        if element_type.is_complex:
            nan = [np.isnan(part(array)) & np.isnan(part(other)) for part in (np.real, np.imag)]
            return np.asarray((same | np.stack(nan, axis=-1)).all(axis=-1))
        if element_type.is_float:
            same = same | (np.isnan(array) & np.isnan(other))
    return np.asarray(same)


def different_bits(array: Array, other: Array) -> Array:
    """Return a mask of the elements of two arrays of one type whose bits differ, of their shape."""
    different = to_bits(array) != to_bits(other)
    return np.asarray(different.any(axis=-1) if element_type_of(array).is_complex else different)


def equal_results(results: Sequence[Array], others: Sequence[Array]) -> bool:
    """Return whether two lists of arrays are of the same types and shapes, with equal elements.

    Elements are equal as in `equal_elements`: all NaNs are.
    """
    return len(results) == len(others) and all(
        result.shape == other.shape
        and result.dtype == other.dtype
        and bool(equal_elements(result, other).all())
        for result, other in zip(results, others, strict=True)
    )


def is_subnormal(array: Array) -> Array:
    """Return a mask of the numbers of an array that are subnormal, or have a part that is."""
    element_type = element_type_of(array)
    if element_type.is_complex:
        return is_subnormal(np.real(array).copy()) | is_subnormal(np.imag(array).copy())
    if not (element_type.is_float and element_type.float_format.has_zero):
        return np.zeros(array.shape, np.bool_)
    size = np.abs(to_float64(array))
    return np.asarray((size > 0) & (size < element_type.float_format.smallest_normal))


def has_subnormals(array: Array) -> bool:
    """Return whether any number, or any part of a complex number, is subnormal."""
    return bool(is_subnormal(array).any())


def flush_subnormals(array: Array) -> Array:
    """Return the array with subnormal numbers flushed to zeros of the same sign.

    Parts of complex numbers are flushed separately. An array without subnormals is returned as it
    is.
    """
    element_type = element_type_of(array)
    if element_type.is_complex:
        parts = np.stack([np.real(array), np.imag(array)], axis=-1)
        changed = flush_subnormals(parts)
        return array if changed is parts else changed.view(array.dtype)[..., 0]
    tiny = is_subnormal(array)
    if not tiny.any():
        return array
    return np.where(tiny, round_to(np.copysign(0.0, to_float64(array)), element_type), array)

"""Digests of wrong elements, by which a recording recognises the same failure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from reference.ir.types import Array, element_type_of, to_bits


def digest_elements(array: Array, positions: Array) -> bytes:
    """Return the digest of the elements at flat positions: position and bits, any NaN alike."""
    elements = array.reshape(-1)[positions]
    element_type = element_type_of(array)
    bits = to_bits(elements)
    if element_type.is_float or element_type.is_complex:
        parts = (
            np.stack([np.real(elements), np.imag(elements)], -1)
            if element_type.is_complex
            else elements
        )
        with np.errstate(invalid="ignore"):  # signaling NaNs of bf16
            is_nan = np.isnan(parts)
        bits = np.where(is_nan, np.iinfo(bits.dtype).max, bits)
    return combine_digests([np.asarray(positions, "<i8").tobytes(), bits.tobytes()])


def digest_arrays(arrays: Sequence[Array]) -> bytes:
    """Return the digest of whole arrays: types, shapes and bits."""
    forms = repr([(array.dtype.name, array.shape) for array in arrays])
    return combine_digests([forms.encode(), *(array.tobytes() for array in arrays)])


def combine_digests(digests: Iterable[bytes]) -> bytes:
    """Return the digest of several digests in their order; b"" if all are b""."""
    found = [*digests]
    return hashlib.sha256(repr(found).encode()).digest() if any(found) else b""

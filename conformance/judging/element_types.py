"""Results of another element type than stated whose bits can be judged nevertheless."""

from __future__ import annotations

from collections.abc import Sequence

from reference.ir.types import UNSIGNED, Array, element_type_of, from_bits, to_bits

LABEL = "unsigned element type"
"""The class of results of the unsigned type that is as wide as the stated type."""


def is_unsigned(want: Array, got: Array) -> bool:
    """Return whether an array has the stated type or the unsigned type of the same width.

    Types of 6 bits are stored in unsigned types of 8.
    """
    element_type = element_type_of(want)
    same = (
        one
        for one in UNSIGNED
        if element_type.bits <= one.bits < 2 * element_type.bits and not element_type.is_complex
    )
    return got.dtype in (want.dtype, *(one.storage for one in same))


def reinterpret_bits(expected: Sequence[Array], actual: Sequence[Array]) -> list[Array]:
    """Return results of unsigned types with the same bits in the stated types."""
    return [
        got if got.dtype == want.dtype else from_bits(to_bits(got), element_type_of(want))
        for want, got in zip(expected, actual, strict=True)
    ]

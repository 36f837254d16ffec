"""Arbitrary values for unspecified elements."""

from __future__ import annotations

from enum import Enum

import numpy as np

from reference.ir.types import Array, element_type_of, from_bits, to_bits
from reference.numerics.rounding import round_to


class Filling(Enum):
    """The numbers that replace unspecified elements: NaN, finite numbers, or any."""

    NAN = "nan"
    FINITE = "finite"
    ANY = "any"


def filling(number: int) -> Filling:
    """Return what the filling with this number consists of.

    The first is NaN, which few operations turn into another value. The second is finite, so that
    results that may be numbers are not all NaN by chance.
    """
    return (Filling.NAN, Filling.FINITE)[number] if number < 2 else Filling.ANY


def fill_arbitrary(
    result: Array, mask: Array, random: np.random.Generator, of_numbers: Filling = Filling.ANY
) -> Array:
    """Return the result with arbitrary values, small and large, in the masked elements."""
    element_type = element_type_of(result)
    if element_type.is_boolean:
        drawn = random.integers(0, 2, result.shape).astype(np.bool_)
        return np.where(mask, drawn, result)
    if element_type.is_integer:
        bits = random.integers(0, 256, (*result.shape, result.dtype.itemsize), np.uint8)
        drawn = bits.view(to_bits(result).dtype).reshape(result.shape)
        if element_type.bits < 8:
            drawn = np.asarray(drawn) & np.array((1 << element_type.bits) - 1, drawn.dtype)
        return np.where(mask, from_bits(drawn, element_type), result).astype(result.dtype)
    choice = np.array([0.0, -1.0, 0.5, 3.0, -40.0, np.nan, np.inf, -np.inf])
    choice = {Filling.NAN: choice[5:6], Filling.FINITE: choice[:5]}.get(of_numbers, choice)
    drawn = choice[random.integers(0, len(choice), (2, *result.shape))]
    with np.errstate(all="ignore"):
        if element_type.is_complex:
            parts = np.ascontiguousarray(np.moveaxis(drawn, 0, -1)).view(np.complex128)[..., 0]
            return np.where(mask, parts, result).astype(result.dtype)
        return np.where(mask, round_to(drawn[0], element_type), result).astype(result.dtype)


def replace_nans(array: Array, random: np.random.Generator) -> Array:
    """Return real numbers with the bits of NaNs changed: the other sign, or all bits set. All bits
    are set only where that is a NaN of the type.
    """
    element_type, bits = element_type_of(array), to_bits(array)
    ones = from_bits(np.full_like(bits, (1 << element_type.bits) - 1), element_type)
    with np.errstate(invalid="ignore"):  # signaling ones
        nan = np.isnan(array)
        others = [one for one in (np.negative(array), ones) if np.isnan(one[nan]).all()]
    return np.where(nan, others[random.integers(len(others))], array) if others else array

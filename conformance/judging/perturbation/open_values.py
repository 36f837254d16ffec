"""Arbitrary values for elements of which nothing is said."""

from __future__ import annotations

import numpy as np

from reference.ir.types import Array, element_type_of, from_bits, to_bits
from reference.numerics.rounding import round_to


def other(result: Array, mask: Array, random: np.random.Generator, *, nan: bool = False) -> Array:
    """The result with arbitrary values, small and large, in the elements that are open; with `nan`
    that in the place of all numbers that may be one, which few operations make another value of."""
    of = element_type_of(result)
    if of.is_boolean:
        drawn = random.integers(0, 2, result.shape).astype(np.bool_)
        return np.where(mask, drawn, result)
    if of.is_integer:
        bits = random.integers(0, 256, (*result.shape, result.dtype.itemsize), np.uint8)
        drawn = bits.view(to_bits(result).dtype).reshape(result.shape)
        if of.bits < 8:
            drawn = np.asarray(drawn) & np.array((1 << of.bits) - 1, drawn.dtype)
        return np.where(mask, from_bits(drawn, of), result).astype(result.dtype)
    choice = np.array([0.0, -1.0, 0.5, 3.0, -40.0, np.nan, np.inf, -np.inf])
    drawn = choice[random.integers(0, len(choice), (2, *result.shape))]
    if nan:
        drawn = np.full_like(drawn, np.nan)
    if of.is_complex:
        return np.where(mask, drawn[0] + 1j * drawn[1], result).astype(result.dtype)
    with np.errstate(all="ignore"):
        return np.where(mask, round_to(drawn[0], of), result).astype(result.dtype)


def with_other_nans(array: Array, random: np.random.Generator) -> Array:
    """Real numbers with other bits in the place of NaNs: of the other sign, or of all ones, where
    these are a NaN of the type, too."""
    of, bits = element_type_of(array), to_bits(array)
    ones = from_bits(np.full_like(bits, (1 << of.bits) - 1), of)
    with np.errstate(invalid="ignore"):  # signaling ones
        nan = np.isnan(array)
        others = [one for one in (np.negative(array), ones) if np.isnan(one[nan]).all()]
    return np.where(nan, others[random.integers(len(others))], array) if others else array

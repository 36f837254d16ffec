"""Fillers of the value profiles for integer types.

Each takes (element type, count, words) and returns codes (two's complement bits) as uint64;
contents.py names them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from generators.values.codes import Words
from generators.values.float_profiles import uniform_codes
from reference.ir.types import Array, ElementType


def _mask_codes(codes: Array, element_type: ElementType) -> Array:
    return codes & np.uint64((1 << element_type.bits) - 1)


def _draw_signs(magnitude: Array, element_type: ElementType, words: Words) -> Array:
    """Return codes of magnitudes, randomly negated for a signed type."""
    if element_type.is_signed:
        flip = words.chance(len(magnitude), 2)
        magnitude = np.where(flip, np.uint64(0) - magnitude, magnitude)
    return _mask_codes(magnitude, element_type)


def _draw_with_length(length: Array, words: Words) -> Array:
    """Return random uint64 numbers with these numbers of bits (0 to 64)."""
    raw = words.words(len(length))
    shift = np.minimum(64 - length, 63).astype(np.uint64)
    return np.where(length == 0, np.uint64(0), raw >> shift)


def _uniform(low: int, high: int, count: int, words: Words) -> Array:
    """Return codes of integers uniform in [low, high]."""
    span = high - low + 1
    raw = words.words(count)
    if span < 1 << 64:
        raw = raw % np.uint64(span)
    return raw + np.uint64(low % (1 << 64))


def small_integers(element_type: ElementType, count: int, words: Words) -> Array:
    """Return integers from -8 to 8, limited to the type's range."""
    low, high = max(element_type.min_integer, -8), min(element_type.max_integer, 8)
    return _mask_codes(_uniform(low, high, count, words), element_type)


def special_codes(element_type: ElementType) -> Array:
    """Return codes of 0, 1, -1, extremes, powers of two, alternating bits, and neighbours."""
    powers = [sign << n for n in range(element_type.bits) for sign in (1, -1)]
    patterns = [int(byte * 8, 16) for byte in ("55", "aa", "0f", "f0")]
    around = [0, element_type.min_integer, element_type.max_integer, *powers, *patterns]
    mask = (1 << element_type.bits) - 1
    codes = {(value + by) & mask for value in around for by in (-1, 0, 1)}
    return np.array(sorted(codes), np.uint64)


def _core(element_type: ElementType) -> Array:
    """Return codes of 0, 1, -1 and the extremes."""
    low, high = element_type.min_integer, element_type.max_integer
    mask = (1 << element_type.bits) - 1
    return np.array([number & mask for number in (0, 1, -1, low, low + 1, high)], np.uint64)


def special(element_type: ElementType, count: int, words: Words) -> Array:
    """Return special values, a quarter of them 0, 1, -1 and the extremes."""
    chosen = words.choice(count, _core(element_type))
    return np.where(
        words.chance(count, 4), chosen, words.choice(count, special_codes(element_type))
    )


def each_special(element_type: ElementType, count: int, words: Words) -> Array:
    """Return 0, 1, -1 and the extremes, each before any is repeated."""
    return words.each(count, np.unique(_core(element_type)))


def moderate(element_type: ElementType, count: int, words: Words) -> Array:
    """Return integers of at most half the type's bits, so that products do not overflow."""
    length = words.below(count, max(element_type.bits // 2 - element_type.is_signed, 1) + 1)
    return _draw_signs(_draw_with_length(length, words), element_type, words)


def wide(element_type: ElementType, count: int, words: Words) -> Array:
    """Return integers with a uniform number of significant bits."""
    length = words.below(count, element_type.bits + 1 - element_type.is_signed)
    return _draw_signs(_draw_with_length(length, words), element_type, words)


def bits(element_type: ElementType, count: int, words: Words) -> Array:
    """Return uniform bits; for at most 8 bits every code once per 2^bits elements."""
    return uniform_codes(element_type.bits, count, words)


def nonzero(element_type: ElementType, count: int, words: Words) -> Array:
    """Return non-zero integers with a uniform number of significant bits."""
    length = 1 + words.below(count, element_type.bits - element_type.is_signed)
    return _draw_signs(
        np.maximum(_draw_with_length(length, words), np.uint64(1)), element_type, words
    )


def lower(element_type: ElementType, count: int, words: Words) -> Array:
    """Return integers of the lower half of the range, half of them within 16 of its upper end."""
    middle = (element_type.min_integer + element_type.max_integer + 1) // 2
    near = _uniform(max(middle - 16, element_type.min_integer), middle, count, words)
    far = _uniform(element_type.min_integer, middle, count, words)
    return _mask_codes(np.where(words.chance(count, 2), near, far), element_type)


def upper(element_type: ElementType, count: int, words: Words) -> Array:
    """Return integers of the upper half of the range, half of them within 16 of its lower end."""
    middle = (element_type.min_integer + element_type.max_integer + 1) // 2
    near = _uniform(middle, min(middle + 16, element_type.max_integer), count, words)
    far = _uniform(middle, element_type.max_integer, count, words)
    return _mask_codes(np.where(words.chance(count, 2), near, far), element_type)


def shift_amounts(element_type: ElementType, count: int, words: Words) -> Array:
    """Return 0 to the width less 1, one in 16 a special value."""
    within = _uniform(0, min(element_type.bits - 1, element_type.max_integer), count, words)
    return np.where(words.chance(count, 16), special(element_type, count, words), within)


def small_exponents(element_type: ElementType, count: int, words: Words) -> Array:
    """Return integers from 0 to 7, limited to the type's range."""
    return _uniform(0, min(7, element_type.max_integer), count, words)


def convertible_to(to: ElementType) -> Callable[[ElementType, int, Words], Array]:
    """Return a filler of integers that `to` represents exactly."""

    def to_integer(element_type: ElementType, count: int, words: Words) -> Array:
        low, high = (
            max(element_type.min_integer, to.min_integer),
            min(element_type.max_integer, to.max_integer),
        )
        ends = np.array([end % (1 << 64) for end in (low, low + 1, high - 1, high)], np.uint64)
        uniform = _uniform(low, high, count, words)
        chosen = np.where(words.chance(count, 4), words.choice(count, ends), uniform)
        return _mask_codes(chosen, element_type)

    def to_float(element_type: ElementType, count: int, words: Words) -> Array:
        return _draw_long_integers(element_type, to, count, words, extra=False)

    return to_integer if to.is_integer else to_float


def midpoints_of(to: ElementType) -> Callable[[ElementType, int, Words], Array]:
    """Return a filler of integers halfway between neighbours of a float type, or 1 off."""

    def filler(element_type: ElementType, count: int, words: Words) -> Array:
        return _draw_long_integers(element_type, to, count, words, extra=True)

    return filler


def _draw_long_integers(
    element_type: ElementType, to: ElementType, count: int, words: Words, *, extra: bool
) -> Array:
    """Return integers with as many leading bits as `to` has precision, then zeros.

    With `extra` a 1 follows the leading bits: a tie; it is then moved by -1, 0 or 1, unless that 1
    is the last bit, where it could only become exact.
    """
    fmt = to.float_format
    most = min(element_type.bits - element_type.is_signed, fmt.max_exponent + 1)
    least = 0 if fmt.has_zero else 1
    length = least + words.below(count, max(most - least, 0) + 1)
    numbers = _draw_with_length(length, words)
    numbers |= np.where(length > 0, np.uint64(1) << np.maximum(length - 1, 0).astype(np.uint64), 0)
    drop = np.maximum(length - fmt.precision, 0).astype(np.uint64)
    numbers = numbers >> drop << drop
    if extra:
        tie = np.where(drop > 0, np.uint64(1) << np.maximum(drop, 1) - np.uint64(1), np.uint64(0))
        beside = words.choice(count, np.array([0, 0, 1, -1]))
        numbers = (numbers | tie) + np.where(drop > 1, beside, 0).astype(np.uint64)
    else:
        largest = int(min(fmt.max_finite, 2.0**63))
        numbers = np.minimum(numbers, np.uint64(largest))
    if element_type.is_signed and fmt.signed:
        return _draw_signs(numbers, element_type, words)
    return _mask_codes(numbers, element_type)

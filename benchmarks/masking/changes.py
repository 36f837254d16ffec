"""Corruptions of results, as an additional bug of a backend would produce.

A change of one element mostly chooses an element that equals the reference's, and one time in ten
any element. So most corruptions are next to a known divergence, not within it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from reference.ir.types import Array, element_type_of, from_bits, to_bits

ANYWHERE = 0.1
"""The share of corruptions whose element is chosen among all elements, wrong elements included."""

TRIED = 64
"""Number of positions that are tried before a change counts as inapplicable to an array."""

STEPS = 64
"""The distance of the smallest change of a number, in ulp."""

TILE = 4
"""The extent of a shifted tile in each dimension, where the array is as large."""

Random = np.random.Generator
Change = Callable[[Array, Array, Random], Array | None]
"""A function change(actual, expected, random): a corrupted copy of `actual`; None if it does not
apply.
"""


def _order(actual: Array, expected: Array, random: Random) -> Iterable[int]:
    """Return flat positions in the order in which to try them."""
    different = to_bits(actual) != to_bits(expected)
    if element_type_of(expected).is_complex:
        different = different.any(axis=-1)
    shuffled = random.permutation(actual.size)
    if random.random() >= ANYWHERE:
        shuffled = shuffled[np.argsort(different.reshape(-1)[shuffled], kind="stable")]
    return shuffled[:TRIED].tolist()


def _same_bits(left: Array, right: Array) -> bool:
    return bool(np.array_equal(to_bits(left), to_bits(right)))


@dataclass(frozen=True, slots=True)
class ElementChange:
    """A change of one element of an array, by a function of its value.

    In a complex number, one of the two parts is changed, chosen at random.
    """

    value: Callable[[Array], Array | None]

    def __call__(self, actual: Array, expected: Array, random: Random) -> Array | None:
        flat = actual.reshape(-1)
        for position in _order(actual, expected, random):
            old = flat[position : position + 1]
            new = self._change_element(old, random)
            if new is not None and not _same_bits(old, new):
                result = flat.copy()
                result[position] = new[0]
                return result.reshape(actual.shape)
        return None

    def _change_element(self, old: Array, random: Random) -> Array | None:
        element_type = element_type_of(old)
        if not element_type.is_complex:
            return self.value(old)
        parts = [np.real(old).copy(), np.imag(old).copy()]
        which = int(random.integers(2))
        new = self.value(parts[which])
        if new is None:
            return None
        parts[which] = new
        return from_bits(np.stack([to_bits(part) for part in parts], axis=-1), element_type)


def move_number(old: Array) -> Array | None:
    """Move a finite number by 64 ulp, away from zero where possible."""
    element_type = element_type_of(old)
    bits = int(to_bits(old)[0])
    if element_type.is_boolean:
        return None
    if element_type.is_integer:
        number = int(old[0])
        near = (number + STEPS, number - STEPS)
        kept = [n for n in near if element_type.min_integer <= n <= element_type.max_integer]
        return np.array(kept[:1], element_type.storage) if kept else None
    sign = 1 << (element_type.bits - 1) if element_type.float_format.signed else 0
    magnitude = bits & ~sign
    for other in (magnitude + STEPS, magnitude - STEPS):
        if 0 <= other < (sign or 1 << element_type.bits):
            new = from_bits(np.array([other | bits & sign]), element_type)
            if _is_finite(old) and _is_finite(new):
                return new
    return None


def negate_number(old: Array) -> Array | None:
    """Change the sign of a number, also of a zero if the type has both."""
    element_type = element_type_of(old)
    if element_type.is_signed:
        number = -int(old[0])
        return (
            np.array([number], element_type.storage) if number <= element_type.max_integer else None
        )
    if (
        not element_type.is_float
        or not element_type.float_format.signed
        or np.isnan(_to_float64(old)[0])
    ):
        return None
    if old[0] == 0 and not element_type.float_format.has_negative_zero:
        return None
    return from_bits(
        to_bits(old) ^ to_bits(old).dtype.type(1 << (element_type.bits - 1)), element_type
    )


def zero_number(old: Array) -> Array | None:
    """Return zero for a number other than zero, if the type has a zero."""
    element_type = element_type_of(old)
    if (element_type.is_float and not element_type.float_format.has_zero) or _to_float64(old)[
        0
    ] == 0:
        return None
    return np.zeros(1, element_type.storage)


def made_nan(old: Array) -> Array | None:
    """Return NaN for a number, if the type has NaN."""
    element_type = element_type_of(old)
    if (
        not element_type.is_float
        or not element_type.float_format.has_nan
        or np.isnan(_to_float64(old)[0])
    ):
        return None
    return np.array([np.nan], np.float64).astype(element_type.storage)


def made_infinite(old: Array) -> Array | None:
    """Return infinity of its sign for a finite number, if the type has infinity."""
    element_type = element_type_of(old)
    if (
        not element_type.is_float
        or not element_type.float_format.has_infinity
        or not _is_finite(old)
    ):
        return None
    return np.copysign(np.inf, _to_float64(old)).astype(element_type.storage)


def double_number(old: Array) -> Array | None:
    """Return twice a number, as an element that is added twice, if the type has that number."""
    element_type = element_type_of(old)
    if element_type.is_boolean or not _is_finite(old):
        return None
    if element_type.is_integer:
        number = 2 * int(old[0])
        within = element_type.min_integer <= number <= element_type.max_integer
        return np.array([number], element_type.storage) if within else None
    with np.errstate(over="ignore"):
        new = (2 * _to_float64(old)).astype(element_type.storage)
    return new if _to_float64(new)[0] == 2 * _to_float64(old)[0] else None


def last_bit_flipped(old: Array) -> Array | None:
    """Flip the last bit of an integer or of an i1 value."""
    element_type = element_type_of(old)
    if not (element_type.is_integer or element_type.is_boolean):
        return None
    return from_bits(to_bits(old) ^ to_bits(old).dtype.type(1), element_type)


def _to_float64(old: Array) -> Array:
    return old.astype(np.float64)


def _is_finite(number: Array) -> bool:
    return bool(np.isfinite(_to_float64(number)[0]))


def roll_elements(actual: Array, _expected: Array, _random: Random) -> Array | None:
    """Return the array with its elements shifted by one position, as a wrong offset does."""
    result = np.roll(actual.reshape(-1), 1).reshape(actual.shape)
    return _require_change(result, actual)


def narrow_numbers(actual: Array, _expected: Array, _random: Random) -> Array | None:
    """Return numbers with the first half of their digits, as a narrower type holds them."""
    element_type = element_type_of(actual)
    if element_type.is_boolean:
        return None
    bits = to_bits(actual)
    if element_type.is_integer:
        low = 1 << (element_type.bits // 2)
        kept = actual.astype(object) % low
        return _require_change(
            np.where(actual < 0, kept - low, kept).astype(element_type.storage), actual
        )
    lost = (1 << ((element_type.float_format.mantissa_bits + 1) // 2)) - 1
    finite = np.isfinite(actual.astype(np.complex128 if element_type.is_complex else np.float64))
    kept = bits & bits.dtype.type(~lost & ((1 << element_type.part.bits) - 1))
    where = finite[..., None] if element_type.is_complex else finite
    return _require_change(from_bits(np.where(where, kept, bits), element_type), actual)


def zero_tail(actual: Array, _expected: Array, _random: Random) -> Array | None:
    """Return the array with zeros in the last eighth of its memory, which is not written."""
    result = actual.reshape(-1).copy()
    result[-max(1, result.size // 8) :] = np.zeros((), actual.dtype)
    return _require_change(result.reshape(actual.shape), actual)


def _require_change(result: Array, actual: Array) -> Array | None:
    return None if _same_bits(result, actual) else result


def swap_neighbours(actual: Array, expected: Array, random: Random) -> Array | None:
    """Exchange one element with its neighbour in a slice along some dimension."""
    long = [axis for axis, size in enumerate(actual.shape) if size > 1]
    for position in _order(actual, expected, random) if long else ():
        here = list(np.unravel_index(position, actual.shape))
        axis = long[int(random.integers(len(long)))]
        there = [*here]
        there[axis] += 1 if here[axis] + 1 < actual.shape[axis] else -1
        result = actual.copy()
        result[tuple(here)], result[tuple(there)] = actual[tuple(there)], actual[tuple(here)]
        if not _same_bits(result, actual):
            return result
    return None


def shifted_tile(actual: Array, expected: Array, random: Random) -> Array | None:
    """Shift a whole tile by one along one of its dimensions, the last element becoming the first.

    The tile contains an element that is chosen as in other changes.
    """
    long = [axis for axis, size in enumerate(actual.shape) if size > 1]
    for position in _order(actual, expected, random) if long else ():
        inside = np.unravel_index(position, actual.shape)
        begins = [
            min(int(at), max(n - TILE, 0)) for at, n in zip(inside, actual.shape, strict=True)
        ]
        tile = tuple(slice(begin, begin + TILE) for begin in begins)
        axis = long[int(random.integers(len(long)))]
        result = actual.copy()
        result[tile] = np.roll(actual[tile], 1, axis)
        if not _same_bits(result, actual):
            return result
    return None


CHANGES: dict[str, Change] = {
    "64-ulp": ElementChange(move_number),
    "sign": ElementChange(negate_number),
    "zero": ElementChange(zero_number),
    "nan": ElementChange(made_nan),
    "infinity": ElementChange(made_infinite),
    "doubled": ElementChange(double_number),
    "rolled": roll_elements,
    "swapped": swap_neighbours,
    "last-bit": ElementChange(last_bit_flipped),
    "tile": shifted_tile,
    "narrowed": narrow_numbers,
    "unfinished": zero_tail,
}
"""Corruptions of results, by name."""

"""Random words, and floating-point numbers as (sign, magnitude code) pairs.

A magnitude code is a number's bits without the sign. The codes 0, 1, ... `top(format)` are the
non-negative finite values in increasing order, so that neighbours and midpoints are arithmetic on
codes, the same for every format. All randomness comes from Philox's raw words, whose stream numpy
guarantees, without transcendental functions: values do not vary between versions.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from generators.case.stream import philox
from reference.ir.types import Array, ElementType, NonFinite, bits_dtype, from_bits

_BLOCKS = (256, 2048, 16384)


class Words:
    """A stream of random 64-bit words, determined by a key of up to 128 bits.

    Words are taken from the stream in blocks of a few fixed sizes. So a shortened array mostly
    keeps its first elements, which helps shrinking.
    """

    __slots__ = ("_philox",)

    def __init__(self, key: int) -> None:
        """Start the stream of this key."""
        self._philox = philox(key)

    def words(self, count: int) -> Array:
        """Return `count` uniform uint64 words."""
        for block in _BLOCKS:
            if count <= block:
                return self._philox.random_raw(block)[:count]
        return self._philox.random_raw(count)

    def below(self, count: int, limit: int) -> Array:
        """Return `count` integers (int64), uniform in [0, limit), for a limit of at most 2^31."""
        high = self.words(count) >> np.uint64(32)
        return ((high * np.uint64(limit)) >> np.uint64(32)).astype(np.int64)

    def unit(self, count: int) -> Array:
        """Return `count` float64 numbers, uniform in [0, 1), multiples of 2^-53."""
        return (self.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def chance(self, count: int, one_in: int) -> Array:
        """Return `count` booleans, each true with probability 1 / one_in."""
        return self.below(count, one_in) == 0

    def choice(self, count: int, options: Array) -> Array:
        """Return `count` elements of a one-dimensional array."""
        return options[self.below(count, len(options))]

    def each(self, count: int, options: Array) -> Array:
        """Return `count` elements of a one-dimensional array: concatenated permutations of the
        array."""
        rounds = -(-count // len(options))
        order = np.argsort(self.words(rounds * len(options)).reshape(rounds, len(options)), axis=1)
        return options[order.reshape(-1)[:count]]


def top(element_type: ElementType) -> int:
    """Return the magnitude code of the largest finite value of a floating-point type."""
    fmt = element_type.float_format
    all_ones = (1 << (element_type.part.bits - fmt.signed)) - 1
    if fmt.non_finite is NonFinite.IEEE:
        return (((1 << fmt.exponent_bits) - 1) << fmt.mantissa_bits) - 1
    return all_ones - (fmt.non_finite is NonFinite.NAN_ALL_ONES)


def infinity(element_type: ElementType) -> int | None:
    """Return the magnitude code of infinity, None if the format has none."""
    return top(element_type) + 1 if element_type.float_format.has_infinity else None


def nan_codes(element_type: ElementType) -> tuple[int, ...]:
    """Return codes, sign included, of NaNs of both signs: quiet, signalling, several payloads."""
    fmt, width = element_type.float_format, element_type.part.bits
    if fmt.non_finite is NonFinite.NONE:
        return ()
    if fmt.non_finite is NonFinite.NAN_NEGATIVE_ZERO:
        return (1 << (width - 1),)
    if fmt.non_finite is NonFinite.NAN_ALL_ONES:
        nan = top(element_type) + 1
        return (nan, nan | 1 << (width - 1)) if fmt.signed else (nan,)
    base, quiet = top(element_type) + 1, 1 << (fmt.mantissa_bits - 1)
    payloads = dict.fromkeys((quiet, quiet | 1, 2 * quiet - 1, 1, quiet - 1))
    positive = [base | payload for payload in payloads]
    return (*positive, *(code | 1 << (width - 1) for code in positive))


def encode(sign: Array, magnitude: Array, element_type: ElementType) -> Array:
    """Return codes (uint64) of signs (true if negative) and magnitude codes.

    A sign that the format cannot encode (for f8E8M0FNU, or FNUZ zeros) is dropped.
    """
    fmt = element_type.float_format
    magnitude = magnitude.astype(np.uint64)
    if not fmt.signed:
        return magnitude
    if not fmt.has_negative_zero:
        sign = sign & (magnitude != 0)
    return magnitude | (sign.astype(np.uint64) << np.uint64(element_type.part.bits - 1))


def codes_to_array(codes: Array, element_type: ElementType) -> Array:
    """Return the array (of storage type, or of the parts' for a complex type) with these codes."""
    return from_bits(codes.astype(bits_dtype(element_type)), element_type.part)


def decode(magnitude: Array, element_type: ElementType) -> Array:
    """Return the float64 values of magnitude codes from 0 to `top(of)`."""
    return codes_to_array(magnitude.astype(np.uint64), element_type).astype(np.float64)


@cache
def _midpoints(element_type: ElementType) -> Array:
    values = decode(np.arange(top(element_type) + 1), element_type)
    return (values[1:] + values[:-1]) / 2


def nearest(x: Array, element_type: ElementType) -> tuple[Array, Array]:
    """Return signs and magnitude codes (int64) of the finite values nearest to float64 numbers.

    Numbers beyond the largest finite value are clamped to it; ties may round either way.
    """
    sign, size = np.signbit(x), np.minimum(np.abs(x), element_type.float_format.max_finite)
    if element_type.part.bits > 16 or element_type.name == "f16":
        codes = (
            size.astype(element_type.part.storage).view(bits_dtype(element_type)).astype(np.int64)
        )
        return sign, np.minimum(codes, top(element_type))
    return sign, np.searchsorted(_midpoints(element_type), size).astype(np.int64)


def step(magnitude: Array, by: Array | int, element_type: ElementType) -> Array:
    """Return magnitude codes moved by `by` ulp, clamped to finite values of the same sign."""
    return np.clip(magnitude + by, 0, top(element_type))

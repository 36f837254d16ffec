"""Exact arithmetic on dyadic numbers: roots, Gaussian powers, quotients and moduli.

A finite float is m * 2^e. The results are exact, or truncated by rounding to odd
(`reference.numerics.rounding`) to more bits than any type has, so that rounding to nearest even is
then correct.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from reference.ir.types import Array, ElementType
from reference.numerics.rounding import round_to

_LARGEST = math.nextafter(math.inf, 0.0)


def dyadic(x: float) -> tuple[int, int]:
    """Return a finite float as m * 2^e with m odd (or 0, 0)."""
    numerator, denominator = x.as_integer_ratio()
    if numerator == 0:
        return 0, 0
    low = (numerator & -numerator).bit_length() - 1
    return numerator >> low, low - (denominator.bit_length() - 1)


def common(*values: float) -> tuple[list[int], int]:
    """Return finite floats as integers over one power of two: values[i] = integers[i] * 2^e."""
    pairs = [dyadic(value) for value in values]
    least = min((e for m, e in pairs if m), default=0)
    return [m << (e - least) if m else 0 for m, e in pairs], least


def dyadic_root(m: int, e: int, times: int) -> tuple[int, int] | None:
    """Return the repeated square root of m * 2^e (m odd, positive) if it is exact, else None."""
    for _ in range(times):
        root = math.isqrt(m)
        if e % 2 or root * root != m:
            return None
        m, e = root, e // 2
    return m, e


def _gaussian_root(a: int, b: int, e: int) -> tuple[int, int, int] | None:
    """Return the principal square root of (a + ib) * 2^e if it is dyadic, else None."""
    if e % 2:
        a, b, e = 2 * a, 2 * b, e - 1
    a, b, e = 4 * a, 4 * b, e - 2
    size = math.isqrt(a * a + b * b)
    large = math.isqrt((size + abs(a)) // 2)
    small = abs(b) // (2 * large)
    real, imaginary = (large, small) if a >= 0 else (small, large)
    if real * real - imaginary * imaginary != a or 2 * real * imaginary != abs(b):
        return None
    return real, -imaginary if b < 0 else imaginary, e // 2


def gaussian_power(x: float, y: float, u: float) -> tuple[tuple[int, int, int], int] | None:
    """Return (x + iy)^u for u = k / 2^j, |k| <= 64, if the 2^j-th root is dyadic; z is not 0.

    Returns:
        ((real, imaginary, divisor), e): the value is (real + i imaginary) * 2^e / divisor.
    """
    k, halvings = u.as_integer_ratio()
    if abs(k) > 64:
        return None
    (a, b), e = common(x, y)
    if max(abs(a), abs(b)).bit_length() > 256:  # longer than a midpoint, whatever the power
        return None
    for _ in range(halvings.bit_length() - 1):
        root = _gaussian_root(a, b, e)
        if root is None or abs(root[2]) > 4000:
            return None
        a, b, e = root
    real, imaginary = 1, 0
    for _ in range(abs(k)):
        real, imaginary = real * a - imaginary * b, real * b + imaginary * a
    if k >= 0:
        return (real, imaginary, 1), e * k
    return (real, -imaginary, real * real + imaginary * imaginary), e * k


def odd_quotient(numerator: int, denominator: int) -> tuple[int, int]:
    """Return a quotient as m * 2^e with at least 64 bits, rounded to odd."""
    shift = max(0, 66 - abs(numerator).bit_length() + denominator.bit_length())
    quotient, rest = divmod(abs(numerator) << shift, denominator)
    quotient |= 1 if rest else 0
    return (-quotient if numerator < 0 else quotient), -shift


def odd_root(square: int, exponent: int) -> tuple[int, int]:
    """Return sqrt(square * 2^exponent) as m * 2^e with at least 64 bits, rounded to odd."""
    shift = max(0, 130 - square.bit_length())
    shift += (exponent - shift) % 2
    scaled = square << shift
    root = math.isqrt(scaled)
    return root | (1 if root * root != scaled else 0), (exponent - shift) // 2


def nearest_float(m: int, e: int) -> float:
    """Return m * 2^e as the nearest float, infinite beyond the largest."""
    if m == 0:
        return 0.0
    try:
        return m / (1 << -e) if e < 0 else float(m << e if m.bit_length() + e < 1100 else 1 << 1100)
    except OverflowError:
        return -math.inf if m < 0 else math.inf


def odd_float(m: int, e: int) -> float:
    """Return m * 2^e as a float rounded to odd; at most the largest float."""
    bits = abs(m)
    if m == 0:
        return 0.0
    if bits.bit_length() + e > 1024:
        return -_LARGEST if m < 0 else _LARGEST
    cut = max(bits.bit_length() - 53, -1074 - e)
    if cut > 0:
        lost = bits & ((1 << cut) - 1)
        bits, e = (bits >> cut) | (1 if lost else 0), e + cut
    value = math.ldexp(bits, e)
    return -value if m < 0 else value


def round_dyadic(values: Sequence[tuple[int, int]], to: ElementType) -> Array:
    """Return numbers m * 2^e of any size, rounded to nearest even in a type."""
    convert = nearest_float if to.bits == 64 else odd_float
    return round_to(np.array([convert(m, e) for m, e in values], np.float64), to)

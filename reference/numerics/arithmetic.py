"""Arithmetic on integers, floating-point and complex numbers, element by element.

Floating-point results are the exact results rounded once, to nearest with ties to even (IEEE 754).
f32 and f64 use the machine's arithmetic. Narrower types are computed in float64 and rounded by
`round_to`: for + - * / and the square root of numbers of at most 24 bits, rounding to 53 bits first
does not change the result.

Integers wrap modulo 2^bits, also under a byte. The specification calls overflow an error of
implementation-defined effect (chapter "Errors"), but defines `negate` of unsigned integers by it,
and its interpreter and every known backend wrap. Unspecified results have the values that XLA
documents; `unspecified` masks them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reference.ir.types import Array, ElementType, element_type_of, from_bits, to_bits
from reference.numerics.elementary import functions
from reference.numerics.rounding import round_to, to_float64

Binary = Callable[[Any, Any], Any]

quiet = np.errstate(all="ignore")
"""Suppresses floating-point exceptions and warnings of integer overflow. Exceptions give default
results and set no flag (the specification's chapter "Floating-point exceptions")."""


def widen_subbyte(array: Array) -> Array:
    """Return integers under a byte as si8 or ui8, and other arrays unchanged."""
    element_type = element_type_of(array)
    if element_type.bits >= 8:
        return array
    return array.astype(np.int8 if element_type.is_signed else np.uint8)


def wrap_integers(array: Array, to: ElementType) -> Array:
    """Return integers modulo 2^bits of the integer type `to` (the array's type is not narrower)."""
    if to.bits < 8:
        return from_bits(np.asarray(array).astype(np.uint8), to)
    return np.asarray(array).astype(to.storage)


@quiet
def _arithmetic(apply: Binary, lhs: Array, rhs: Array) -> Array:
    """Apply ring arithmetic or division that numpy rounds correctly in f32 and f64."""
    element_type = element_type_of(lhs)
    if element_type.is_float and element_type.bits < 32:
        return round_to(np.asarray(apply(to_float64(lhs), to_float64(rhs))), element_type)
    if element_type.is_integer and element_type.bits < 8:
        return wrap_integers(apply(widen_subbyte(lhs), widen_subbyte(rhs)), element_type)
    return np.asarray(apply(lhs, rhs))


def add(lhs: Array, rhs: Array) -> Array:
    """Return the sum; logical OR of booleans; part by part for complex numbers."""
    return _arithmetic(np.add, lhs, rhs)  # np.add of booleans is their OR


def subtract(lhs: Array, rhs: Array) -> Array:
    """Return the difference; part by part for complex numbers."""
    return _arithmetic(np.subtract, lhs, rhs)


def multiply(lhs: Array, rhs: Array) -> Array:
    """Return the product; logical AND of booleans; each part of complex numbers is rounded once."""
    if element_type_of(lhs).is_complex:
        return functions.multiply(lhs, rhs)
    return _arithmetic(np.multiply, lhs, rhs)  # np.multiply of booleans is their AND


def divide(lhs: Array, rhs: Array) -> Array:
    """Return the quotient; truncated for integers; rounded once for complex numbers."""
    element_type = element_type_of(lhs)
    if element_type.is_complex:
        return functions.divide(lhs, rhs)
    if element_type.is_float:
        return _arithmetic(np.divide, lhs, rhs)
    return _arithmetic(_quotient, lhs, rhs)


def remainder(lhs: Array, rhs: Array) -> Array:
    """Return the remainder of truncating division, with the dividend's sign (fmod); always exact.

    The same formula serves complex numbers, whose remainder the specification has not defined yet.
    """
    element_type = element_type_of(lhs)
    if element_type.is_complex:
        quotient = functions.divide(lhs, rhs)
        whole = np.trunc(np.real(quotient)) + 1j * np.trunc(np.imag(quotient))
        return subtract(lhs, functions.multiply(whole.astype(element_type.storage), rhs))
    return _arithmetic(np.fmod if element_type.is_float else _integer_remainder, lhs, rhs)


def _quotient(lhs: Array, rhs: Array) -> Array:
    divisor = np.where(rhs == 0, np.ones_like(rhs), rhs)
    quotient = np.floor_divide(lhs, divisor)
    inexact = lhs != quotient * divisor
    truncated = quotient + (inexact & ((lhs < 0) != (divisor < 0))).astype(lhs.dtype)
    return np.where(rhs == 0, ~np.zeros_like(lhs), truncated)  # x/0 has all bits set, as in XLA


def _integer_remainder(lhs: Array, rhs: Array) -> Array:
    divisor = np.where(rhs == 0, np.ones_like(rhs), rhs)
    return np.where(rhs == 0, lhs, lhs - _quotient(lhs, divisor) * divisor)


@quiet
def power(lhs: Array, rhs: Array) -> Array:
    """Return `lhs` to the power of `rhs`; for integers by wrapping repeated multiplication.

    An integer to a negative power is the exact result if that is an integer, otherwise 0.
    """
    element_type = element_type_of(lhs)
    if not element_type.is_integer:
        return functions.power(lhs, rhs)
    base, exponent = widen_subbyte(lhs), widen_subbyte(rhs)
    unit = np.where(exponent % 2 == 0, base * base, base)  # (-1)^n; 1^n
    power = np.ones_like(base)
    left = np.maximum(exponent, np.zeros_like(exponent))
    while np.any(left):
        power = np.where(left % 2 == 1, power * base, power)
        base, left = base * base, left // 2
    is_unit = (widen_subbyte(lhs) == 1) | (widen_subbyte(lhs) == ~np.zeros_like(base))
    inverse = np.where(is_unit, unit, np.zeros_like(unit))
    return wrap_integers(np.where(exponent < 0, inverse, power), element_type)


def _sign_mask(element_type: ElementType) -> int:
    return 1 << (element_type.part.bits - 1)


@quiet
def negate(operand: Array) -> Array:
    """Return the negation: two's complement of integers, sign bit of floats flipped, even of NaNs.

    Formats without negative zero keep their zero and their only NaN. f8E8M0FNU has no negative
    numbers, so the result is NaN.
    """
    element_type = element_type_of(operand)
    if element_type.is_integer:
        return wrap_integers(np.negative(widen_subbyte(operand)), element_type)
    fmt = element_type.float_format
    if not fmt.signed:
        return round_to(-to_float64(operand), element_type)
    bits = to_bits(operand)
    flipped = bits ^ bits.dtype.type(_sign_mask(element_type))
    if not fmt.has_negative_zero:
        flipped = np.where((bits & ~bits.dtype.type(_sign_mask(element_type))) == 0, bits, flipped)
    return from_bits(flipped, element_type)


@quiet
def abs(operand: Array) -> Array:  # noqa: A001 - the specification's name
    """Return the modulus; clears the sign bit of floats, even of NaNs; the smallest integer
    stays."""
    element_type = element_type_of(operand)
    if element_type.is_complex:
        return functions.absolute(operand)
    if element_type.is_integer:
        return wrap_integers(np.abs(widen_subbyte(operand)), element_type)
    fmt = element_type.float_format
    if not fmt.signed:
        return operand.copy()
    bits = to_bits(operand)
    cleared = bits & ~bits.dtype.type(_sign_mask(element_type))
    if not fmt.has_negative_zero:  # the code of -0 is NaN
        cleared = np.where(bits == bits.dtype.type(_sign_mask(element_type)), bits, cleared)
    return from_bits(cleared, element_type)


@quiet
def sign(operand: Array) -> Array:
    """Return -1, 0 or 1; zeros keep their sign, NaN stays NaN; x / abs(x) for complex x, 0 for
    0."""
    element_type = element_type_of(operand)
    if element_type.is_integer:
        return wrap_integers(np.sign(widen_subbyte(operand)), element_type)
    if element_type.is_complex:
        modulus = functions.absolute(operand).astype(element_type.storage)
        result = functions.divide(operand, modulus)
        nan = np.isnan(np.real(operand)) | np.isnan(np.imag(operand))
        result = np.where(nan, element_type.storage.type(complex(np.nan, np.nan)), result)
        return np.where(operand == 0, element_type.storage.type(0), result)
    value = to_float64(operand)
    kept = np.isnan(value) | (value == 0)
    return np.where(kept, operand, round_to(np.copysign(1.0, value), element_type))


def _parts(array: Array) -> tuple[Array, Array]:
    """Return the keys of a lexicographic order: real and imaginary parts, or values and zeros."""
    element_type = element_type_of(array)
    if element_type.is_complex:
        return np.real(array), np.imag(array)
    value = (
        to_float64(array)
        if element_type.is_float and element_type.bits < 32
        else widen_subbyte(array)
    )
    return value, np.zeros_like(value)


@quiet
def _extremum(lhs: Array, rhs: Array, after: Binary, zero_first: bool) -> Array:
    """Return the element that comes `after` the other; NaN if either is NaN."""
    element_type = element_type_of(lhs)
    (left, left_imag), (right, right_imag) = _parts(lhs), _parts(rhs)
    take = after(left, right)
    if element_type.is_complex:
        take = take | ((left == right) & after(left_imag, right_imag))
    elif element_type.is_float:  # IEEE 754-2019, 9.6: NaN propagates, and -0 precedes +0
        zero = (left == right) & (np.signbit(right) == zero_first)
        take = take | np.isnan(left) | zero
    return np.where(take, lhs, rhs)


def maximum(lhs: Array, rhs: Array) -> Array:
    """Return the larger: IEEE 754 `maximum` of floats, OR of booleans, lexicographic for
    complex."""
    return _extremum(lhs, rhs, np.greater, zero_first=True)


def minimum(lhs: Array, rhs: Array) -> Array:
    """Return the smaller: IEEE 754 `minimum` of floats, AND of booleans, lexicographic for
    complex."""
    return _extremum(lhs, rhs, np.less, zero_first=False)


def clamp(min: Array, operand: Array, max: Array) -> Array:  # noqa: A002 - the specification's names
    """Return `minimum(maximum(operand, min), max)`; scalar bounds apply to every element."""
    low, high = (np.broadcast_to(bound, operand.shape) for bound in (min, max))
    return minimum(maximum(operand, low), high)


@quiet
def sqrt(operand: Array) -> Array:
    """Return the correctly rounded square root; NaN for negative numbers, -0 for -0."""
    element_type = element_type_of(operand)
    if element_type.is_complex:
        return functions.sqrt(operand)
    if element_type.bits < 32:
        return round_to(np.sqrt(to_float64(operand)), element_type)
    return np.asarray(np.sqrt(operand))


@quiet
def _round_to_integral(operand: Array, apply: Callable[[Any], Any]) -> Array:
    """Round to an integral value; a zero result has the operand's sign."""
    element_type = element_type_of(operand)
    if element_type.bits >= 32:
        return np.asarray(apply(operand))
    return round_to(np.asarray(apply(to_float64(operand))), element_type)


def ceil(operand: Array) -> Array:
    """Return the smallest integral value that is not less: `roundToIntegralTowardPositive`."""
    return _round_to_integral(operand, np.ceil)


def floor(operand: Array) -> Array:
    """Return the largest integral value that is not greater: `roundToIntegralTowardNegative`."""
    return _round_to_integral(operand, np.floor)


def round_nearest_even(operand: Array) -> Array:
    """Return the nearest integral value, ties to even: `roundToIntegralTiesToEven`."""
    return _round_to_integral(operand, np.rint)


def round_nearest_afz(operand: Array) -> Array:
    """Return the nearest integral value, ties away from zero: `roundToIntegralTiesToAway`."""
    return _round_to_integral(operand, round_away_from_zero)


def round_away_from_zero(value: Array) -> Array:
    """Return float32 or float64 numbers rounded to integral values, ties away from zero."""
    whole = np.trunc(value)
    step = np.abs(value - whole) >= 0.5  # the difference is exact
    return np.copysign(np.abs(whole) + step.astype(whole.dtype), value)

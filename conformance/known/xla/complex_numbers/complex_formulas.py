"""Functions of complex numbers in real arithmetic, as MLIR lowers its complex dialect.

XLA's CPU compiler writes every function of complex numbers in that dialect. MLIR lowers it to
arithmetic of real numbers, and each step is rounded to their type.

Source: mlir/lib/Conversion/ComplexToStandard/ComplexToStandard.cpp of LLVM, and for quotients
mlir/lib/Conversion/ComplexCommon/DivisionConverter.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from conformance.known.numbers_with_error import Number, larger, select, smaller
from reference.ir.types import Array


class Complex(NamedTuple):
    """A complex number: its real and imaginary part as results of steps."""

    real: Number
    imag: Number


Formula = Callable[..., Complex]
"""A function formula(*operands) that returns the result, step by step."""


def _modulus(z: Complex) -> Number:
    """Return the larger part times the root of 1 + ratio^2."""
    most, least = parts_by_size(z)
    ratio = least / most
    value = most * (ratio * ratio + 1.0).root()
    return select(np.isnan(value.value), least, value)


def parts_by_size(z: Complex) -> tuple[Number, Number]:
    """Return the magnitudes of the larger and of the smaller part."""
    real, imag = abs(z.real), abs(z.imag)
    return larger(real, imag), smaller(real, imag)


def multiply(x: Complex, y: Complex) -> Complex:
    """Return the product: four products, a difference and a sum."""
    return Complex(
        x.real.times_and(y.real, -(x.imag * y.imag)),
        x.imag.times_and(y.real, x.real * y.imag),
    )


def divide(x: Complex, y: Complex) -> Complex:
    """Return Smith's quotient, which first divides the parts of the divisor by each other.

    Where both parts are NaN, return the result that Annex G of the C standard gives for infinities
    and zeros.
    """
    swapped = np.abs(y.real.value) < np.abs(y.imag.value)
    most, least = select(swapped, y.imag, y.real), select(swapped, y.real, y.imag)
    ratio = least / most
    divisor = most + ratio * least
    real = select(swapped, x.real * ratio + x.imag, x.real + x.imag * ratio) / divisor
    imag = select(swapped, x.imag * ratio - x.real, x.imag - x.real * ratio) / divisor
    undefined = np.isnan(real.value) & np.isnan(imag.value)
    for where, limit in _limits(x, y):
        real = select(undefined & where, limit.real, real)
        imag = select(undefined & where, limit.imag, imag)
    return Complex(real, imag)


def _limits(x: Complex, y: Complex) -> Iterator[tuple[Array, Complex]]:
    """Yield masks of elements whose quotient is a limit, and the limit: an operand is infinite, or
    the divisor zero. Later masks take precedence.
    """
    sides_x, sides_y = infinity_indicator(x), infinity_indicator(y)
    dot, cross = _multiply_by_conjugate(x, sides_y)
    yield _is_finite(x) & is_infinite(y), Complex(dot * 0.0, cross * 0.0)
    dot, cross = _multiply_by_conjugate(sides_x, y)
    yield is_infinite(x) & _is_finite(y), Complex(dot * np.inf, cross * np.inf)
    endless = _constant(np.inf, y.real)
    endless = select(np.signbit(y.real.value), -endless, endless)
    nothing = (y.real.value == 0) & (y.imag.value == 0)
    some = ~(np.isnan(x.real.value) & np.isnan(x.imag.value))
    yield nothing & some, Complex(endless * x.real, endless * x.imag)


def _multiply_by_conjugate(x: Complex, y: Complex) -> Complex:
    """Return the product of `x` with the conjugate of `y`."""
    return Complex(x.real * y.real + x.imag * y.imag, x.imag * y.real - x.real * y.imag)


def infinity_indicator(z: Complex) -> Complex:
    """Return signed 1 for infinite parts, and signed 0 for others."""
    parts = (np.copysign(np.where(np.isinf(p.value), 1.0, 0.0), p.value) for p in z)
    return Complex(*(z.real.arithmetic.exactly(part) for part in parts))


def _is_finite(z: Complex) -> Array:
    return np.isfinite(z.real.value) & np.isfinite(z.imag.value)


def is_infinite(z: Complex) -> Array:
    """Return a mask of the numbers with an infinite part."""
    return np.isinf(z.real.value) | np.isinf(z.imag.value)


def divide_by_reciprocal(x: Complex, y: Complex) -> Complex:
    """Return the product with the reciprocal of a constant divisor."""
    one, zero = _constant(1.0, y.real), _constant(0.0, y.real)
    return multiply(x, divide(Complex(one, zero), y))


def exponential(z: Complex) -> Complex:
    """Return the exponential of the real part, times cosine and sine of the imaginary."""
    size = z.real.exponential()
    return Complex(size * z.imag.cosine(), size * z.imag.sine())


_SMALL = 0.61685
"""Largest square of an angle for which the polynomial is used: (pi / 4)^2."""


def exponential_minus_one(z: Complex) -> Complex:
    """Return expm1(a) cos(b) + (cos(b) - 1), with a polynomial for the last term if b is small."""
    grown = z.real.exponential_minus_one()
    square = z.imag.value * z.imag.value
    below = select(square >= _SMALL, z.imag.cosine() - 1.0, z.imag.cosine_minus_one())
    real = grown * (below + 1.0) + below
    imag = select(z.imag.value == 0, 0.0, (grown + 1.0) * z.imag.sine())
    return Complex(real, imag)


def log(z: Complex, side: float = 0) -> Complex:
    """Return the logarithm of the modulus, and the angle."""
    return Complex(_modulus(z).logarithm(), z.imag.angle(z.real, side))


def log_plus_one(z: Complex) -> Complex:
    """Return log1p(z): log of the larger part of z + 1 plus half of log(1 + ratio^2), and the
    angle.
    """
    moved, height = z.real + 1.0, abs(z.imag)
    most, least = larger(abs(moved), height), smaller(abs(moved), height)
    beyond = select(moved.value > height.value, z.real, most - 1.0)
    ratio = least / most
    size = (ratio * ratio).logarithm_plus_one() * 0.5 + beyond.logarithm_plus_one()
    return Complex(select(np.isnan(size.value), least, size), z.imag.angle(moved))


def sign(z: Complex) -> Complex:
    """Return the number divided by the root of the sum of squares of its parts; 0 for 0."""
    size = (z.real * z.real + z.imag * z.imag).root()
    is_zero = size.value == 0
    return Complex(
        select(is_zero, z.real * 0.0, z.real / size), select(is_zero, z.imag * 0.0, z.imag / size)
    )


def sine(z: Complex) -> Complex:
    """Return the sine: half the sum and half the difference of exponentials, times sine and
    cosine.
    """
    half, inverse = _halves(z.imag)
    return Complex((half + inverse) * z.real.sine(), (half - inverse) * z.real.cosine())


def cosine(z: Complex) -> Complex:
    """Return the cosine: half the sum and half the difference of exponentials, times cosine and
    sine.
    """
    half, inverse = _halves(z.imag)
    return Complex((inverse + half) * z.real.cosine(), (inverse - half) * z.real.sine())


def _halves(x: Number) -> tuple[Number, Number]:
    """Return half the exponential of a number, and half the exponential of its negative."""
    grown = x.exponential()
    return grown * 0.5, _constant(0.5, grown) / grown


def _constant(value: float, like: Number) -> Number:
    return select(np.ones(like.value.shape, np.bool_), value, like)


def tanh(z: Complex) -> Complex:
    """Return tanh: a difference of exponentials, divided by their sum plus 2 cos(2 b)."""
    twice = z.real + z.real
    up, down = twice.exponential_minus_one(), (-twice).exponential_minus_one()
    cosine_, sine_ = z.imag.cosine(), z.imag.sine()
    total = up + down
    divisor = total + cosine_ * cosine_ * 4.0
    limit = _constant(1.0, z.real)
    limit = select(np.signbit(z.real.value), -limit, limit)
    real = select(np.isposinf(total.value), limit, (up - down) / divisor)
    imag = cosine_ * sine_ * 4.0 / divisor
    return Complex(real, select(z.imag.value == 0, 0.0, imag))


def tan(z: Complex) -> Complex:
    """Return -i tanh(i z)."""
    real, imag = tanh(Complex(-z.imag, z.real))
    return Complex(imag, -real)


def logistic(z: Complex) -> Complex:
    """Return 1 / (1 + exp(-z))."""
    grown = exponential(Complex(-z.real, -z.imag))
    one, zero = _constant(1.0, z.real), _constant(0.0, z.real)
    return divide(Complex(one, zero), Complex(grown.real + 1.0, grown.imag))


def sqrt(z: Complex, side: float = 0) -> Complex:
    """Return the root of the modulus, at half the angle; of infinite operands, the limit."""
    most, least = parts_by_size(z)
    ratio = least / most
    size = most.root() * (ratio * ratio + 1.0).to_power(_constant(0.25, most))
    size = select(np.isnan(size.value), least, size)
    turned = _from_polar(size, z.imag.angle(z.real, side) * 0.5)
    real, imag = z.real.value, z.imag.value
    endless, leftwards = _constant(np.inf, z.real), np.isneginf(real)
    wide = np.isinf(imag)
    along = select(leftwards & ~wide & ~np.isnan(imag), 0.0, turned.real)
    along = select(wide | np.isposinf(real), endless, along)
    above = select(np.isnan(size.value), np.nan, turned.imag)
    signed = select(np.signbit(imag), -endless, endless)
    return Complex(along, select(wide | leftwards, signed, above))


def rsqrt(z: Complex) -> Complex:
    """Return the inverse root of the modulus, at minus half the angle."""
    most, least = parts_by_size(z)
    ratio = least / most
    one = _constant(1.0, most)
    size = one / most.root() * (one / (ratio * ratio + 1.0).root().root())
    size = select(np.isnan(size.value), one / least.root(), size)
    return _from_polar(size, z.imag.angle(z.real) * -0.5)


def _from_polar(size: Number, angle: Number) -> Complex:
    """Return the number with a modulus and an angle; 0 if either is 0."""
    nothing = size.value == 0
    cosine_, sine_ = angle.cosine(), angle.sine()
    real = select(nothing, 0.0, size * cosine_)
    return Complex(real, select(nothing | (sine_.value == 0), 0.0, size * sine_))


def power(x: Complex, y: Complex) -> Complex:
    """Return a real power of the modulus times an exponential, at an angle with a logarithm."""
    modulus, angle = _modulus(x), x.imag.angle(x.real)
    size = modulus.to_power(y.real) * (-y.imag * angle).exponential()
    turn = y.real * angle + y.imag * modulus.logarithm()
    return Complex(size * turn.cosine(), size * turn.sine())


def power_of_constant(x: Complex, y: Complex) -> Complex:
    """Return a power of a constant base x: for real y, exp(y log x)."""
    modulus, angle = _modulus(x), x.imag.angle(x.real)
    logarithm = modulus.logarithm()
    size = (y.real * logarithm).exponential() * (-y.imag * angle).exponential()
    turn = y.real * angle + y.imag * logarithm
    return Complex(size * turn.cosine(), size * turn.sine())


Logarithm = Callable[[Complex, float], Complex]
"""A function log(z, side of the branch cut)."""
Call = Callable[..., Complex]
"""A function call(formula, *operands) that returns the formula's result."""
_Sides = tuple[float, float]
_SIDES: tuple[_Sides, ...] = ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))
"""Sides of the branch cuts of a square root and a logarithm; rounding decides between them."""


def _atan2(
    y: Complex, x: Complex, *, call: Call, log: Logarithm, product: Formula, sides: _Sides
) -> Complex:
    """Return -i log((x + i y) / sqrt(x^2 + y^2)), on some side of the branch cuts of both
    functions.
    """
    squares = _sum(product(x, x), product(y, y))
    one, zero = _constant(1.0, x.real), _constant(0.0, x.real)
    turned = _sum(x, product(Complex(zero, one), y))
    root = call(lambda z: sqrt(z, sides[0]), squares)
    result = call(lambda z: log(z, sides[1]), call(divide, turned, root))
    return product(Complex(zero, -one), result)


def _apply(function: Formula, *operands: Complex) -> Complex:
    return function(*operands)


def angles(
    log: Logarithm = log, call: Call = _apply, product: Formula = multiply
) -> tuple[Formula, ...]:
    """Return the formulas of `atan2`, on each side of the branch cuts.

    `call` computes a function that is no sum or product.
    """
    return tuple(
        partial(_atan2, call=call, log=log, product=product, sides=sides) for sides in _SIDES
    )


def _sum(x: Complex, y: Complex) -> Complex:
    return Complex(x.real + y.real, x.imag + y.imag)

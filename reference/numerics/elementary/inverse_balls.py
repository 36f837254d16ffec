"""Complex inverse trigonometric and hyperbolic functions, and a Bessel function, as real balls.

Each takes the parts of its finite operands as floats and returns balls for the real and imaginary
part, as `reference.numerics.elementary.complex_balls` does. The functions are odd, so they are
computed in the first quadrant, except for acos. On the axes they are real functions: a ball around
a part that is exactly 0 would never be small enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import flint

from reference.numerics.elementary.certified import Ball
from reference.numerics.elementary.special_functions import bessel_i1e_ball

Pair = tuple[Ball, Ball]


def _turn(part: Ball, sign: float) -> Ball:
    return -part if math.copysign(1.0, sign) < 0 else part


def asin(x: float, y: float) -> Pair:
    """Return the arc sine, with |real part| <= pi/2."""
    a, b = flint.arb(abs(x)), flint.arb(abs(y))
    if y == 0:
        inside = a <= 1
        pair = (a.asin(), flint.arb(0)) if inside else (flint.arb.pi() / 2, a.acosh())
    elif x == 0:
        pair = flint.arb(0), b.asinh()
    else:
        value = flint.acb(a, b).asin()
        pair = value.real, value.imag
    return _turn(pair[0], x), _turn(pair[1], y)


def acos(x: float, y: float) -> Pair:
    """Return the arc cosine, with a real part in [0, pi]."""
    _, imaginary = asin(x, y)
    a, b = flint.arb(x), flint.arb(abs(y))
    if y != 0 and x != 0:
        real = flint.acb(a, b).acos().real
    elif abs(x) <= 1:
        real = a.acos()
    else:
        real = flint.arb(0) if x > 0 else flint.arb.pi()
    return real, -imaginary


def acosh(x: float, y: float) -> Pair:
    """Return the hyperbolic arc cosine, with a real part that is not negative."""
    real, imaginary = acos(x, y)
    return abs(imaginary), _turn(real, y)


def asinh(x: float, y: float) -> Pair:
    """Return the hyperbolic arc sine: asin(y + ix) with its parts exchanged."""
    imaginary, real = asin(y, x)
    return real, imaginary


def atanh(x: float, y: float) -> Pair:
    """Return the hyperbolic arc tangent, with |imaginary part| <= pi/2."""
    a, b = flint.arb(abs(x)), flint.arb(abs(y))
    if y == 0:
        half = flint.arb.pi() / 2
        pair = (a.atanh(), flint.arb(0)) if a < 1 else ((1 / a).atanh(), half)
    elif x == 0:
        pair = flint.arb(0), b.atan()
    else:
        real = (4 * a / ((1 - a) ** 2 + b * b)).log1p() / 4
        pair = real, flint.arb.atan2(2 * b, (1 - a) * (1 + a) - b * b) / 2
    return _turn(pair[0], x), _turn(pair[1], y)


def atan(x: float, y: float) -> Pair:
    """Return the arc tangent: atanh(y + ix) with its parts exchanged."""
    imaginary, real = atanh(y, x)
    return real, imaginary


def bessel_i1e(x: float, y: float) -> Pair:
    """Return e^-|Re z| I1(z)."""
    if y == 0:
        return bessel_i1e_ball(x), flint.arb(0)
    if x == 0:
        return flint.arb(0), flint.arb(y).bessel_j(1)
    sine, cosine = flint.arb(y).sin_cos()
    turn = flint.acb(cosine, sine if x > 0 else -sine)
    z = flint.acb(x, y) if x > 0 else flint.acb(-x, -y)
    value = z.bessel_i(1, scaled=True) * turn
    return (value.real, value.imag) if x > 0 else (-value.real, -value.imag)


INVERSE_BALLS: dict[str, Callable[..., Pair]] = {
    row.__name__: row for row in (acos, acosh, asin, asinh, atan, atanh, bessel_i1e)
}
"""The functions by the names of their ops."""

"""Complex elementary functions as pairs of real balls, with small radii in both parts.

Each takes the parts of its finite operands as floats and returns balls for the real and imaginary
part. The formulas avoid cancellation in either part: tan(x + iy) = (sin x cos x + i sinh y cosh y)
/ (cos^2 x + sinh^2 y) and so on. Arguments are clamped where the rounded result cannot change any
more, so that exponents stay bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import flint

from reference.numerics.elementary.certified import Ball
from reference.numerics.elementary.exact import gaussian_power
from reference.numerics.elementary.inverse_balls import INVERSE_BALLS
from reference.numerics.elementary.real_balls import clamped_ball, power_ball

Pair = tuple[Ball, Ball]
_LIMIT = 4000.0  # e^4000 times the least part of any unit vector, 2^-2099, overflows f64


def exponential(x: float, y: float) -> Pair:
    """Return e^x cos y, e^x sin y."""
    size = clamped_ball(x, _LIMIT).exp()
    sine, cosine_ = flint.arb(y).sin_cos()
    return size * cosine_, size * sine


def exponential_minus_one(x: float, y: float) -> Pair:
    """Return (e^x - 1) cos y - 2 sin^2(y/2), e^x sin y."""
    x_ball = clamped_ball(x, _LIMIT)
    sine, cosine_ = flint.arb(y).sin_cos()
    half = (flint.arb(y) / 2).sin()
    return x_ball.expm1() * cosine_ - 2 * half * half, x_ball.exp() * sine


def _log_size(a: Ball, b: Ball) -> Ball:
    """Return log|a + ib| for exact balls."""
    a, b = abs(a), abs(b)
    if a < b:
        a, b = b, a
    if a > 2 or a < 0.5:
        return (a * a + b * b).log() / 2
    return ((a - 1) * (a + 1) + b * b).log1p() / 2


def _angle(a: Ball, y: float) -> Ball:
    """Return arg(a + iy), where y = -0 means the lower side of the cut."""
    angle = flint.arb.atan2(flint.arb(abs(y)), a)
    return -angle if math.copysign(1.0, y) < 0 else angle


def log(x: float, y: float) -> Pair:
    """Return log|z|, arg z."""
    a, b = flint.arb(x), flint.arb(y)
    return _log_size(a, b), _angle(a, y)


def log_plus_one(x: float, y: float) -> Pair:
    """Return log|1 + z|, arg(1 + z)."""
    a, b = flint.arb(x), flint.arb(y)
    shifted = a + 1  # exact if it is small
    size = _log_size(shifted, b) if abs(shifted) < 0.5 else (a * (2 + a) + b * b).log1p() / 2
    return size, _angle(shifted, y)


def logistic(x: float, y: float) -> Pair:
    """Return 1 / (1 + e^-z); |1 + e^-z|^2 = (e^-x - 1)^2 + 4 e^-x cos^2(y/2)."""
    minus = -clamped_ball(x, _LIMIT)
    size, less = minus.exp(), minus.expm1()
    half = (flint.arb(y) / 2).cos()
    bump = 2 * size * half * half
    norm = less * less + 2 * bump
    return (bump - less) / norm, size * flint.arb(y).sin() / norm


def sine(x: float, y: float) -> Pair:
    """Return sin x cosh y, cos x sinh y."""
    s, c = flint.arb(x).sin_cos()
    sh, ch = clamped_ball(y, _LIMIT).sinh_cosh()
    return s * ch, c * sh


def cosine(x: float, y: float) -> Pair:
    """Return cos x cosh y, -sin x sinh y."""
    s, c = flint.arb(x).sin_cos()
    sh, ch = clamped_ball(y, _LIMIT).sinh_cosh()
    return c * ch, -s * sh


def sinh(x: float, y: float) -> Pair:
    """Return sinh z = -i sin(iz)."""
    imaginary, real = sine(y, x)
    return real, imaginary


def cosh(x: float, y: float) -> Pair:
    """Return cosh z = cos(iz)."""
    return cosine(-y, x)


def tan(x: float, y: float) -> Pair:
    """Return (sin x cos x + i sinh y cosh y) / (cos^2 x + sinh^2 y)."""
    s, c = flint.arb(x).sin_cos()
    sh, ch = clamped_ball(y, _LIMIT).sinh_cosh()
    norm = c * c + sh * sh
    return s * c / norm, sh * ch / norm


def tanh(x: float, y: float) -> Pair:
    """Return tanh z = -i tan(iz)."""
    imaginary, real = tan(y, x)
    return real, imaginary


def _size(a: Ball, b: Ball) -> Ball:
    return (a * a + b * b).sqrt()


def sqrt(x: float, y: float) -> Pair:
    """Return the square root with a real part that is not negative."""
    a, b = flint.arb(x), flint.arb(y)
    large = ((_size(a, b) + abs(a)) / 2).sqrt()
    small = abs(b) / (2 * large)
    real, imaginary = (large, small) if x >= 0 else (small, large)
    return real, -imaginary if math.copysign(1.0, y) < 0 else imaginary


def rsqrt(x: float, y: float) -> Pair:
    """Return the conjugate of the square root, divided by |z|."""
    real, imaginary = sqrt(x, y)
    size = _size(flint.arb(x), flint.arb(y))
    return real / size, -imaginary / size


def cbrt(x: float, y: float) -> Pair:
    """Return the principal cube root, e^(log(z) / 3)."""
    a, b = flint.arb(x), flint.arb(y)
    size = _size(a, b).root(3)
    s, c = (_angle(a, y) / 3).sin_cos()
    return size * c, size * s


def power(x: float, y: float, u: float, v: float) -> Pair:
    """Return z^w = e^(w log z); parts that are zero or dyadic with few bits are exact."""
    if y == 0 and math.copysign(1.0, y) < 0:  # below the cut: the conjugate of the value above
        real, imaginary = power(x, 0.0, u, -v)
        return real, -imaginary
    if v == 0 and (found := gaussian_power(x, y, u)) is not None:
        (real, imaginary, over), exponent = found
        scale = flint.arb(2) ** exponent
        return flint.arb(real) * scale / over, flint.arb(imaginary) * scale / over
    eighth = _angle_in_eighths(x, y)
    if eighth is not None and (v == 0 or {abs(x), abs(y)} == {0.0, 1.0}):
        return _power_on_ray(x, y, u, v, eighth)
    size, angle = log(x, y)
    grown = u * size - v * angle
    s, c = (u * angle + v * size).sin_cos()
    return _grow(grown, c, s)


def _grow(exponent: Ball, c: Ball, s: Ball) -> Pair:
    if exponent > _LIMIT:
        exponent = flint.arb(_LIMIT)
    elif exponent < -_LIMIT:
        exponent = flint.arb(-_LIMIT)
    size = exponent.exp()
    return size * c, size * s


def _angle_in_eighths(x: float, y: float) -> int | None:
    """Return arg z in eighths of a turn if that is an integer, else None."""
    if y == 0:
        return 0 if x > 0 else 4
    if x == 0:
        return 2 if y > 0 else -2
    if abs(x) == abs(y):
        return (1 if x > 0 else 3) * (1 if y > 0 else -1)
    return None


def _power_on_ray(x: float, y: float, u: float, v: float, eighth: int) -> Pair:
    """Return z^w if arg z is k pi/4 and either w is real or |z| is 1: the angle is exact."""
    half_turns = (Fraction(u) * eighth / 4) % 2
    turn = flint.arb(half_turns.numerator) / half_turns.denominator
    c = flint.arb(0) if half_turns in (Fraction(1, 2), Fraction(3, 2)) else turn.cos_pi()
    s = flint.arb(0) if half_turns.denominator == 1 else turn.sin_pi()
    if x == 0 or y == 0:
        size = power_ball(abs(x) + abs(y), u)
        if v != 0:
            return _grow(flint.arb.pi() * -v * eighth / 4, c, s)
        return size * c, size * s
    return _grow(u * (flint.arb(x) ** 2 * 2).log() / 2, c, s)


def atan2(y1: float, y2: float, x1: float, x2: float) -> Pair:
    """Return -i log((x + iy) / sqrt(x^2 + y^2)) for complex y and x, x^2 + y^2 not zero.

    With P = x + iy, M = x - iy: the imaginary part is log|M/P| / 2, where |M|^2 - |P|^2 = 4 (x1 y2
    - x2 y1). The real part is half of arg(P/M), plus a half turn if the principal root of P M
    requires it; P conj(M) = |x|^2 - |y|^2 + 2i (x1 y1 + x2 y2).
    """
    a, b, c, d = flint.arb(y1), flint.arb(y2), flint.arb(x1), flint.arb(x2)
    plus, minus = (c - b, d + a), (c + b, d - a)
    cross = c * b - d * a
    norm = plus if cross >= 0 else minus
    spread = 4 * abs(cross) / (norm[0] ** 2 + norm[1] ** 2)
    imaginary = spread.log1p() / (4 if cross >= 0 else -4)
    half = flint.arb.atan2(2 * (c * a + d * b), c * c + d * d - a * a - b * b) / 2
    root = _principal_root(c * c - d * d + a * a - b * b, 2 * (c * d + a * b))
    s, k = half.sin_cos()
    # The sign of Re(P conj(root) conj(e^(i half))) tells whether half is the angle itself.
    real = plus[0] * root[0] + plus[1] * root[1]
    turned = plus[1] * root[0] - plus[0] * root[1]
    agreement = real * k + turned * s
    if agreement > 0:
        return half, imaginary
    if agreement < 0:
        return (half - flint.arb.pi() if half > 0 else half + flint.arb.pi()), imaginary
    return flint.arb.nan(), imaginary


def _principal_root(a: Ball, b: Ball) -> Pair:
    """Return the principal square root of a + ib; both parts have known signs or are exactly
    zero."""
    size = _size(a, b)
    if a > 0:
        real = ((size + a) / 2).sqrt()
        return real, b / (2 * real)
    imaginary = ((size - a) / 2).sqrt()
    if b < 0:
        imaginary = -imaginary
    return b / (2 * imaginary), imaginary


BALLS: dict[str, Callable[..., Pair]] = {
    row.__name__: row
    for row in (
        atan2,
        cbrt,
        cosh,
        cosine,
        exponential,
        exponential_minus_one,
        log,
        log_plus_one,
        logistic,
        power,
        rsqrt,
        sine,
        sinh,
        sqrt,
        tan,
        tanh,
    )
} | INVERSE_BALLS
"""The functions by the names of their ops."""

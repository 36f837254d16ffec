"""Complex functions of operands that are infinite or NaN, or at a pole or branch point.

The rules for cexp, clog, csqrt, cacos, ccosh, csinh, ctanh, casinh, cacosh and catanh come from C23
Annex G; the other circular functions follow from the hyperbolic functions, e.g. sine(z) = -i
sinh(iz). If Annex G does not specify a sign, it is the operand's, else +. Functions that Annex G
lacks are composed: rsqrt = 1 / sqrt, cbrt = exp(log / 3), power = exp(w log z), in which zero times
infinity is 0. Values are float64 and rounded again later; all are exact or constants such as 3
pi/4.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reference.ir.types import Array

Parts = tuple[Array, Array]


def _zero_like(x: Array) -> Array:
    """Return a zero with the sign of x; +0 for NaN."""
    return np.copysign(0.0, np.where(np.isnan(x), 1.0, x))


def _product(a: Array, b: Array, *, infinite: bool = False) -> Array:
    """Return a * b, where an exact zero wins over NaN and infinity; over NaN, too, with
    `infinite`."""
    result = a * b
    zero = (a == 0) | (b == 0)
    sign = np.copysign(1.0, np.where(np.isnan(a), 1.0, a)) * np.copysign(
        1.0, np.where(np.isnan(b), 1.0, b)
    )
    result = np.where(zero & np.isnan(result), 0.0 * sign, result)
    if infinite:
        wins = (np.isinf(a) | np.isinf(b)) & np.isnan(result)
        result = np.where(wins, np.inf * sign, result)
    return result


def _cis(size: Array, angle: Array) -> Parts:
    """Return size * (cos angle + i sin angle) by the rules of cexp."""
    real, imaginary = _product(size, np.cos(angle), infinite=True), size * np.sin(angle)
    imaginary = np.where(angle == 0, angle, imaginary)
    vanished = (size == 0) & ~np.isfinite(angle)
    return np.where(vanished, 0.0, real), np.where(vanished, _zero_like(angle), imaginary)


def exponential(x: Array, y: Array) -> Parts:
    """Return cexp(z) by Annex G."""
    return _cis(np.exp(x), y)


def exponential_minus_one(x: Array, y: Array) -> Parts:
    """Return cexp(z) - 1."""
    real, imaginary = exponential(x, y)
    return real - 1, imaginary


def log(x: Array, y: Array) -> Parts:
    """Return clog(z) by Annex G."""
    return np.log(np.hypot(x, y)), np.arctan2(y, x)


def log_plus_one(x: Array, y: Array) -> Parts:
    """Return clog(1 + z)."""
    return log(x + 1, y)


def logistic(x: Array, y: Array) -> Parts:
    """Return 0 or 1 at the ends of the real axis, with a zero imaginary part; else NaN."""
    up, down = x == np.inf, x == -np.inf
    real = np.where(up, 1.0, np.where(down, 0.0, np.nan))
    real = np.where(down & np.isfinite(y), np.copysign(0.0, np.cos(y)), real)
    imaginary = np.where(up | down, _zero_like(np.where(np.isfinite(y), np.sin(y), y)), np.nan)
    return real, np.where(y == 0, y, imaginary)


def sine(x: Array, y: Array) -> Parts:
    """Return -i csinh(iz): sin x cosh y, cos x sinh y."""
    real = _product(np.sin(x), np.cosh(y))
    return np.where(x == 0, x, real), _product(np.sinh(y), np.cos(x), infinite=True)


def cosine(x: Array, y: Array) -> Parts:
    """Return ccosh(iz): cos x cosh y, -sin x sinh y."""
    s = np.where(x == 0, x, np.sin(x))
    return _product(np.cosh(y), np.cos(x), infinite=True), -_product(s, np.sinh(y))


def tanh(x: Array, y: Array) -> Parts:
    """Return ctanh(z) by Annex G."""
    far = np.isinf(x)
    turn = np.where(np.isfinite(y), np.sin(2 * y), y)
    real = np.where(far, np.copysign(1.0, x), np.where(x == 0, x, np.nan))
    imaginary = np.where(far, _zero_like(turn), np.where(y == 0, y, np.nan))
    return real, imaginary


def tan(x: Array, y: Array) -> Parts:
    """Return -i ctanh(iz)."""
    imaginary, real = tanh(y, x)
    return real, imaginary


def sinh(x: Array, y: Array) -> Parts:
    """Return csinh(z) by Annex G."""
    imaginary, real = sine(y, x)
    return real, imaginary


def cosh(x: Array, y: Array) -> Parts:
    """Return ccosh(z) by Annex G."""
    return cosine(-y, x)


def asinh(x: Array, y: Array) -> Parts:
    """Return casinh(z) by Annex G."""
    far, tall = np.isinf(x), np.isinf(y)
    angle = np.where(np.isnan(x), np.nan, np.arctan2(y, np.abs(x)))
    real = np.where(far | tall, np.copysign(np.inf, x), np.nan)
    return real, np.where(far | tall, angle, np.where(y == 0, y, np.nan))


def asin(x: Array, y: Array) -> Parts:
    """Return casin(z) = -i casinh(iz)."""
    imaginary, real = asinh(y, x)
    return real, imaginary


def acos(x: Array, y: Array) -> Parts:
    """Return cacos(z) by Annex G."""
    far = np.isinf(x) | np.isinf(y)
    real = np.where(far, np.arctan2(np.abs(y), x), np.where(x == 0, np.pi / 2, np.nan))
    return real, np.where(far, np.copysign(np.inf, -y), np.nan)


def acosh(x: Array, y: Array) -> Parts:
    """Return cacosh(z): i cacos(z) or -i cacos(z), with a real part that is not negative."""
    real, imaginary = acos(x, y)
    return np.abs(imaginary), np.copysign(real, y)


def atanh(x: Array, y: Array) -> Parts:
    """Return catanh(z) by Annex G."""
    far, tall, finite = np.isinf(x), np.isinf(y), np.isfinite(x) & np.isfinite(y)
    real = np.where(far | tall, _zero_like(x), np.where(x == 0, x, np.nan))
    imaginary = np.where((far & ~np.isnan(y)) | tall, np.copysign(np.pi / 2, y), np.nan)
    return np.where(finite, np.copysign(np.inf, x), real), np.where(finite, y, imaginary)


def atan(x: Array, y: Array) -> Parts:
    """Return catan(z) = -i catanh(iz)."""
    imaginary, real = atanh(y, x)
    return real, imaginary


def bessel_i1e(x: Array, y: Array) -> Parts:
    """Return NaN: Annex G has no Bessel functions."""
    return np.full(x.shape, np.nan), np.full(y.shape, np.nan)


def sqrt(x: Array, y: Array) -> Parts:
    """Return csqrt(z) by Annex G."""
    tall, left, right = np.isinf(y), x == -np.inf, x == np.inf
    zero = (x == 0) & (y == 0)
    real = np.where(left, np.where(np.isnan(y), np.nan, 0.0), np.where(right, np.inf, np.nan))
    imaginary = np.where(right, np.where(np.isnan(y), np.nan, np.copysign(0.0, y)), np.nan)
    imaginary = np.where(left, np.copysign(np.inf, np.where(np.isnan(y), 1.0, y)), imaginary)
    real = np.where(tall, np.inf, np.where(zero, 0.0, real))
    return real, np.where(tall | zero, y, imaginary)


def rsqrt(x: Array, y: Array) -> Parts:
    """Return 1 / sqrt(z): infinite at 0, zero at infinity, imaginary part with the sign of -y."""
    sign = -np.copysign(0.0, np.where(np.isnan(y), 1.0, y))
    far, zero = np.isinf(x) | np.isinf(y), (x == 0) & (y == 0)
    real = np.where(far, 0.0, np.where(zero, np.inf, np.nan))
    return real, np.where(far | zero, sign, np.nan)


def cbrt(x: Array, y: Array) -> Parts:
    """Return exp(log(z) / 3)."""
    size, angle = log(x, y)
    return _cis(np.exp(size / 3), angle / 3)


def power(x: Array, y: Array, u: Array, v: Array) -> Parts:
    """Return exp(w log z); z^0 = 1 for every z, as for real numbers."""
    size, angle = log(x, y)
    grown = _product(u, size) - _product(v, angle)
    turn = _product(u, angle) + _product(v, size)
    real, imaginary = _cis(np.exp(grown), turn)
    none = (u == 0) & (v == 0)
    return np.where(none, 1.0, real), np.where(none, 0.0, imaginary)


def atan2(y1: Array, y2: Array, x1: Array, x2: Array) -> Parts:
    """Return real atan2 for real operands (imaginary part +0); -+inf for y = +-ix, not 0; else
    NaN."""
    is_real = (y2 == 0) & (x2 == 0)
    finite = np.isfinite(y1) & np.isfinite(y2) & np.isfinite(x1) & np.isfinite(x2)
    down = finite & (x1 == -y2) & (x2 == y1)
    pole = np.where(finite, np.where(down, -np.inf, np.inf), np.nan)
    return np.where(is_real, np.arctan2(y1, x1), np.nan), np.where(is_real, 0.0, pole)


def multiply(a: Array, b: Array, c: Array, d: Array) -> Parts:
    """Return ac - bd, ad + bc in IEEE arithmetic."""
    return a * c - b * d, a * d + b * c


def divide(a: Array, b: Array, c: Array, d: Array) -> Parts:
    """Return the infinities and zeros that Annex G's example recovers, else NaN."""
    zero = (c == 0) & (d == 0) & ~(np.isnan(a) & np.isnan(b))
    sign = np.copysign(np.inf, c)
    real, imaginary = np.where(zero, sign * a, np.nan), np.where(zero, sign * b, np.nan)
    far, near = np.isinf(a) | np.isinf(b), np.isfinite(c) & np.isfinite(d) & ~zero
    boxed = np.copysign(np.isinf(a), a), np.copysign(np.isinf(b), b)
    for chosen, (p, q), (r, s), scale in (
        (far & near, boxed, (c, d), np.inf),
        (
            np.isfinite(a) & np.isfinite(b) & (np.isinf(c) | np.isinf(d)),
            (a, b),
            (np.copysign(np.isinf(c), c), np.copysign(np.isinf(d), d)),
            0.0,
        ),
    ):
        real = np.where(chosen, scale * (p * r + q * s), real)
        imaginary = np.where(chosen, scale * (q * r - p * s), imaginary)
    return real, imaginary


SPECIALS: dict[str, Callable[..., Parts]] = {
    row.__name__: row
    for row in (
        acos,
        acosh,
        asin,
        asinh,
        atan,
        atan2,
        atanh,
        bessel_i1e,
        cbrt,
        cosh,
        cosine,
        divide,
        exponential,
        exponential_minus_one,
        log,
        log_plus_one,
        logistic,
        multiply,
        power,
        rsqrt,
        sine,
        sinh,
        sqrt,
        tan,
        tanh,
    )
}

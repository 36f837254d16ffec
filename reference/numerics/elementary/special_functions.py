"""Gamma, zeta, Bessel and error functions: special values, exact balls, and scipy's float64 values.

Special values follow the conventions of C23 Annex F for `lgamma`; a pole with limits of opposite
sign has the sign of a zero argument, and is NaN for other arguments. Outside of its domain a
function is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import flint
import numpy as np

from reference.ir.types import ELEMENT_TYPES, Array
from reference.numerics.elementary.certified import Ball, Exact, round_certified

Specials = Callable[..., tuple[Array, Array]]
"""A function specials(*operands): a mask of the elements that need no computation, and their
values (NaN for other elements)."""

_LIMIT = 5000
"""Results beyond 2^5000 overflow in any type, results below 2^-5000 underflow."""


def _scipy() -> Any:
    """Return scipy's special functions, which are untyped; loaded when one is first called."""
    from scipy import special

    return special


def _select(*cases: tuple[Array, Any]) -> tuple[Array, Array]:
    """Return a mask of the elements in any case, and the value of the first case of each."""
    masks = [mask for mask, _ in cases]
    return np.any(masks, axis=0), np.select(masks, [value for _, value in cases], np.nan)


def _is_whole(x: Array) -> Array:
    return np.isfinite(x) & (np.floor(x) == x)


def _is_odd(x: Array) -> Array:
    return np.isfinite(x) & (np.fmod(x, 2) != 0) & (np.floor(x) == x)


# --- Functions of one number ---------------------------------------------------------------------

_erf = np.frompyfunc(math.erf, 1, 1)
_erfc = np.frompyfunc(math.erfc, 1, 1)


def erf(x: Array) -> Array:
    """Return the error function in float64."""
    return np.asarray(_erf(x)).astype(np.float64)


def erfc(x: Array) -> Array:
    """Return 1 - erf(x) in float64."""
    return np.asarray(_erfc(x)).astype(np.float64)


def erf_inv(x: Array) -> Array:
    """Return the inverse of the error function in float64."""
    return _scipy().erfinv(x)


def erf_inv_specials(x: Array) -> tuple[Array, Array]:
    """Return erf_inv of 0, of +-1 (infinite) and beyond (NaN)."""
    size = np.abs(x)
    return _select((x == 0, x), (size == 1, np.copysign(np.inf, x)), (~(size < 1), np.nan))


def bessel_i1e(x: Array) -> Array:
    """Return e^-|x| I1(x) in float64."""
    return _scipy().i1e(x)


def bessel_i1e_specials(x: Array) -> tuple[Array, Array]:
    """Return bessel_i1e of 0, infinity and NaN."""
    return _select((x == 0, x), (np.isinf(x), np.copysign(0.0, x)), (np.isnan(x), np.nan))


def bessel_i1e_ball(x: float) -> Ball:
    """Return e^-|x| I1(x), which is odd."""
    size = flint.arb(abs(x)).bessel_i(1, scaled=True)
    return -size if x < 0 else size


def lgamma(x: Array) -> Array:
    """Return log|gamma(x)| in float64."""
    return _scipy().gammaln(x)


def lgamma_specials(x: Array) -> tuple[Array, Array]:
    """Return lgamma at its poles, at infinity and of NaN."""
    pole = np.isinf(x) | (_is_whole(x) & (x <= 0))
    return _select((pole, np.inf), (np.isnan(x), np.nan))


def is_lgamma_doubtful(y: Array, x: Array) -> Array:
    """Return a mask of values of lgamma near its zeros, and of negative arguments."""
    return (np.abs(y) < 1) | (x < 0)


def lgamma_ball(x: float) -> Ball:
    """Return log|gamma(x)|, for negative x by the reflection formula."""
    if x > 0:
        return flint.arb(x).lgamma()
    sine = abs(flint.arb(x).sin_pi())
    return (flint.arb.pi() / sine).log() - (1 - flint.arb(x)).lgamma()


def digamma(x: Array) -> Array:
    """Return the derivative of log gamma(x) in float64."""
    return _scipy().psi(x)


def digamma_specials(x: Array) -> tuple[Array, Array]:
    """Return digamma at its poles, at infinity and of NaN."""
    return _select(
        (x == 0, -np.copysign(np.inf, x)),
        (x == np.inf, np.inf),
        (np.isnan(x) | (x == -np.inf) | (_is_whole(x) & (x < 0)), np.nan),
    )


def is_digamma_doubtful(y: Array, x: Array) -> Array:
    """Return a mask of values of digamma near its zeros, and of negative arguments."""
    return (np.abs(y) < 0.0625) | (x < 0)


# --- Functions of two numbers --------------------------------------------------------------------


def certified_values(exact: Exact, specials: Specials) -> Callable[..., Array]:
    """Return a function that computes float64 values by ball arithmetic."""

    def values(*operands: Array) -> Array:
        flat = [np.asarray(operand, np.float64) for operand in operands]
        mask, result = specials(*flat)
        computed = round_certified(exact, [one[~mask] for one in flat], ELEMENT_TYPES["f64"])
        result[~mask] = computed
        return result

    return values


def zeta_specials(s: Array, q: Array) -> tuple[Array, Array]:
    """Return zeta(s, q) at poles, at infinities, of NaN and outside of the domain.

    The definition is the sum of (q + n)^-s over all n >= 0, with powers as in IEEE 754. So it
    diverges if s is at most 1, it has a pole at each q that is 0 or a negative integer, and terms
    with a negative base are real only if s is an integer.
    """
    odd, whole = _is_odd(s), _is_whole(s)
    nan = np.isnan(s) | np.isnan(q) | (s < 1) | (q == -np.inf)
    at_one = np.where(q > 1, 0.0, np.where(q == 1, 1.0, np.inf))
    return _select(
        (nan, np.nan),
        (s == 1, np.inf),
        (q == np.inf, 0.0),
        (np.isinf(s), at_one),
        (q == 0, np.where(odd, np.copysign(np.inf, q), np.inf)),
        ((q < 0) & (~whole | (_is_whole(q) & odd)), np.nan),
        ((q < 0) & _is_whole(q), np.inf),
    )


def zeta_ball(s: float, q: float) -> Ball:
    """Return the sum of (q + n)^-s over all n >= 0."""
    return _scaled_zeta(s, q, bool(math.fmod(s, 2)), 0.0, lambda: flint.arb(1))


def polygamma_specials(n: Array, x: Array) -> tuple[Array, Array]:
    """Return polygamma(n, x) at poles, at infinities, of NaN and outside of the domain.

    The order is a natural number. At 0 an even order has a pole whose sign depends on the side, at
    negative integers it is NaN; an odd order is infinite on both sides.
    """
    odd, pole = _is_odd(n), _is_whole(x) & (x <= 0)
    of_zero = np.where(odd, np.inf, -np.copysign(np.inf, x))
    far = np.where(n == 0, np.inf, np.where(odd, 0.0, -0.0))
    nan = np.isnan(x) | ~_is_whole(n) | (n < 0) | (x == -np.inf)
    return _select(
        (nan, np.nan), (x == np.inf, far), (x == 0, of_zero), (pole & odd, np.inf), (pole, np.nan)
    )


def polygamma_ball(n: float, x: float) -> Ball:
    """Return the derivative of order n of digamma: (-1)^(n + 1) n! zeta(n + 1, x)."""
    if n == 0:
        return flint.arb(x).digamma()
    log2 = math.lgamma(n + 1) / math.log(2) if n < 1e300 else math.inf
    even = math.fmod(n, 2) == 0
    size = _scaled_zeta(n + 1, x, even, log2, lambda: (flint.arb(n) + 1).gamma())
    return -size if even else size


def _scaled_zeta(
    s: float, q: float, odd: bool, log2_scale: float, scale: Callable[[], Ball]
) -> Ball:
    """Return zeta(s, q) times a positive number, clamped to 2^-5000 and 2^5000.

    A negative q = f - k with f in (0, 1), where s is a whole number, is brought to positive
    arguments: up to their signs, the first k terms are zeta(s, 1 - f) without its later terms.
    """
    if q > 0:
        clamped = _clamp(s, q, log2_scale)
        return scale() * flint.arb(s).zeta(flint.arb(q)) if clamped is None else clamped
    whole = -math.floor(q)
    after, before = flint.arb(q) + whole, -flint.arb(q) - (whole - 1)
    if odd and after == before:  # all but the later terms cancel
        return _scaled_zeta(s, whole + 0.5, odd, log2_scale, scale)
    clamped = _clamp(s, min(float(after.mid()), float(before.mid())), log2_scale)
    if clamped is not None:
        return -clamped if odd and after > before else clamped
    exponent, sign = flint.arb(s), -1 if odd else 1
    first = sign * (exponent.zeta(before) - exponent.zeta(before + whole))
    return scale() * (exponent.zeta(after) + first)


def _clamp(s: float, q: float, log2_scale: float) -> Ball | None:
    """Return 2^5000 or 2^-5000 if a scaled zeta(s, q) is certainly beyond, else None.

    It lies between q^-s and q^-s (1 + q / (s - 1)), where the quotient may overflow.
    """
    if log2_scale == math.inf:  # the order is so large that the factorial exceeds any power
        return flint.arb(2) ** _LIMIT
    power = -s * math.log2(q)
    size = power + max(0.0, math.log2(q) - math.log2(s - 1)) + log2_scale
    if abs(size) < 2 * _LIMIT + 1e-12 * (abs(power) + log2_scale):
        return None
    return flint.arb(2) ** (_LIMIT if size > 0 else -_LIMIT)

"""Real elementary functions of finite floats as balls that hold the exact value."""

from __future__ import annotations

import math

import flint

from reference.numerics.elementary.certified import Ball
from reference.numerics.elementary.exact import dyadic, dyadic_root


def clamped_ball(x: float, limit: float) -> Ball:
    """Return the argument as a ball, clamped where the rounded result no longer changes in any
    type."""
    return flint.arb(min(max(x, -limit), limit))


def logistic_ball(x: float) -> Ball:
    """Return 1 / (1 + e^-x)."""
    return 1 / (1 + (-clamped_ball(x, 2000.0)).exp())


def power_ball(x: float, y: float) -> Ball:
    """Return x^y, exact if it is a dyadic number of few bits, since that may be a tie."""
    negative = x < 0 and math.fmod(y, 2.0) != 0
    x = abs(x)
    if x == 1:
        result = flint.arb(1)
    elif abs(estimate := y * math.log2(x)) > 5000:
        result = flint.arb(1) * flint.arb(2) ** (5000 if estimate > 0 else -5000)
    else:
        result = _dyadic_power(x, y)
        if result is None:
            result = (flint.arb(x).log() * y).exp()
    return -result if negative else result


def _dyadic_power(x: float, y: float) -> Ball | None:
    """Return x^y for y = k / 2^j if the 2^j-th root of x is dyadic, else None.

    For an odd m > 1 and k > 64, m^k is longer than any midpoint of any type and need not be exact.
    """
    k, halvings = y.as_integer_ratio()
    root = dyadic_root(*dyadic(x), halvings.bit_length() - 1)
    if root is None or (root[0] > 1 and abs(k) > 64):
        return None
    m, e = root
    power = flint.arb(m) ** abs(k)
    return (power if k > 0 else 1 / power) * flint.arb(2) ** (e * k)

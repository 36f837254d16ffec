"""Arguments at which correct rounding needs the most digits."""

from __future__ import annotations

import math

import mpmath
import pytest

from conformance.sweep.hard_cases import HARD_CASES

DIGITS = 53


def extra_bits(function, x: float) -> float:
    """Return the equal bits behind the last bit, and the bit after, of a result: all 0 or all 1."""
    with mpmath.workprec(400):
        exact = function(mpmath.mpf(x))
        mantissa, _ = mpmath.frexp(abs(exact))
        scaled = mantissa * mpmath.mpf(2) ** (DIGITS + 1)
        distance = abs(scaled - mpmath.nint(scaled))
        return float(-mpmath.log(distance, 2)) if distance else math.inf


@pytest.mark.parametrize("text", HARD_CASES)
def test_result_is_nearly_halfway_or_nearly_a_number(text: str) -> None:
    x = float.fromhex(text)
    hardest = max(extra_bits(mpmath.exp, x) if x < 700 else 0.0, extra_bits(mpmath.log, x))
    assert hardest > 40

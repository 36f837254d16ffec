"""Rounding that is certain: ball arithmetic (Arb) at growing precision until a ball rounds one way.

A function is given as Python floats in, ball out; the ball holds the exact value. When both ends of
the ball round to the same code, that code is the correctly rounded value (Ziv's strategy, with a
proved bound in place of an estimated one). Where the exact value is itself a midpoint of two values
of the type, no radius but zero decides: functions must be exact there.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence

import flint
import numpy as np

from reference.rounding import round_to
from reference.types import Array, ElementType, to_bits

Ball = flint.arb
Exact = Callable[..., Ball]

_START, _LIMIT = 128, 1 << 18
_lock = threading.Lock()  # python-flint's precision is one setting for the process


def certified(function: Exact, operands: Sequence[Array], to: ElementType) -> Array:
    """Values of `function`, correctly rounded to a type.

    Args:
        function: takes one Python float per operand, returns a ball that holds the exact value.
        operands: float64 arrays of rank 1 and equal size.
        to: the floating-point type to round to.

    Returns:
        An array of `to.storage` of the operands' shape.

    Raises:
        ArithmeticError: the value is not decided at 2^18 bits: a tie that `function` left inexact.
    """
    rows = list(zip(*(operand.tolist() for operand in operands), strict=True))
    result = np.empty(len(rows), to.storage)
    pending, bits = np.arange(len(rows)), _START
    while pending.size:
        if bits > _LIMIT:
            raise ArithmeticError(f"cannot round {function} at {rows[int(pending[0])]}")
        low, high = _enclosures(function, [rows[i] for i in pending.tolist()], bits, to)
        rounded = round_to(low, to)
        decided = to_bits(rounded) == to_bits(round_to(high, to))
        result[pending[decided]] = rounded[decided]
        pending, bits = pending[~decided], 2 * bits
    return result


def _enclosures(
    function: Exact, rows: list[tuple[float, ...]], bits: int, to: ElementType
) -> tuple[Array, Array]:
    """Both ends of each ball as float64: rounded to nearest for f64 and to odd for the rest."""
    ends = float if to.bits == 64 else odd_float
    low, high = np.empty(len(rows)), np.empty(len(rows))
    with _lock:
        before, flint.ctx.prec = flint.ctx.prec, bits
        try:
            for index, row in enumerate(rows):
                ball = function(*row)
                if ball.is_finite():
                    low[index], high[index] = ends(ball.lower()), ends(ball.upper())
                else:
                    low[index], high[index] = -math.inf, math.inf
        finally:
            flint.ctx.prec = before
    return low, high


def odd_float(end: Ball) -> float:
    """An exact ball as a float, rounded to odd; beyond float64 the nearest odd finite value."""
    if end.is_zero():
        return 0.0
    mantissa, exponent = end.man_exp()
    bits, scale = abs(int(mantissa)), int(exponent)
    sign = -1.0 if mantissa < 0 else 1.0
    if bits.bit_length() + scale > 1024:
        return math.copysign(math.nextafter(math.inf, 0.0), sign)
    cut = max(bits.bit_length() - 53, -1074 - scale)
    if cut > 0:
        lost = bits & ((1 << cut) - 1)
        bits, scale = (bits >> cut) | (1 if lost else 0), scale + cut
    return math.copysign(math.ldexp(bits, scale), sign)

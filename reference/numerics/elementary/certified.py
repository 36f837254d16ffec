"""Certified rounding: ball arithmetic (Arb) at increasing precision until a ball rounds uniquely.

A function maps Python floats to a ball that holds the exact value. If both ends of the ball round
to the same code, that code is the correctly rounded value (Ziv's strategy, with a proved bound
instead of an estimate). If the exact value is a midpoint of two values of the type, only a radius
of zero decides: functions must be exact there.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

import flint
import numpy as np

from reference.ir.types import Array, ElementType, to_bits
from reference.numerics.elementary.exact import nearest_float, odd_float
from reference.numerics.rounding import round_to

Ball = flint.arb
Exact = Callable[..., Ball]

_START, _LIMIT = 128, 1 << 14
_lock = threading.Lock()  # python-flint's precision is one setting per process


def round_certified(function: Exact, operands: Sequence[Array], to: ElementType) -> Array:
    """Return values of `function`, correctly rounded to a type.

    Args:
        function: takes one Python float per operand, returns a ball that holds the exact value.
        operands: float64 arrays of rank 1 and equal size.
        to: the floating-point type to round to.

    Returns:
        An array of `to.storage` of the operands' shape.

    A value still undecided at 2^14 bits must be a tie, and is rounded as a tie.
    """
    rows = list(zip(*(operand.tolist() for operand in operands), strict=True))
    result = np.empty(len(rows), to.storage)
    pending, bits = np.arange(len(rows)), _START
    while pending.size:
        low, high = _enclosures(function, [rows[i] for i in pending.tolist()], bits, to)
        rounded = round_to(low, to)
        decided = to_bits(rounded) == to_bits(round_to(high, to))
        if bits >= _LIMIT:
            middle = _middles(function, [rows[i] for i in pending.tolist()], to)
            rounded, decided = round_to(middle, to), np.ones_like(decided)
        result[pending[decided]] = rounded[decided]
        pending, bits = pending[~decided], 2 * bits
    return result


@contextmanager
def _precision(bits: int) -> Generator[None]:
    with _lock:
        before, flint.ctx.prec = flint.ctx.prec, bits
        try:
            yield
        finally:
            flint.ctx.prec = before


def _enclosures(
    function: Exact, rows: list[tuple[float, ...]], bits: int, to: ElementType
) -> tuple[Array, Array]:
    """Return both ends of each ball as float64: rounded to nearest for f64, to odd otherwise."""
    ends = float if to.bits == 64 else _odd_end
    low, high = np.empty(len(rows)), np.empty(len(rows))
    with _precision(bits):
        for index, row in enumerate(rows):
            ball = function(*row)
            if ball.is_finite():
                low[index], high[index] = ends(ball.lower()), ends(ball.upper())
            else:
                low[index], high[index] = -math.inf, math.inf
    return low, high


def _middles(function: Exact, rows: list[tuple[float, ...]], to: ElementType) -> Array:
    """Return the middles of balls so small that the nearest number of 256 bits is the exact value.

    Arb itself rounds a middle towards zero, which misses an exact value just above it.
    """
    with _precision(_LIMIT):
        middles = [function(*row).mid().man_exp() for row in rows]
    convert = nearest_float if to.bits == 64 else odd_float
    return np.array([convert(*_round_to_256_bits(int(m), int(e))) for m, e in middles])


def _round_to_256_bits(mantissa: int, exponent: int) -> tuple[int, int]:
    """Return the nearest m * 2^e whose m has about 256 bits."""
    excess = max(0, abs(mantissa).bit_length() - 256)
    half = 1 << excess >> 1
    return (mantissa + half) >> excess, exponent + excess


def _odd_end(end: Ball) -> float:
    mantissa, exponent = end.man_exp()
    return odd_float(int(mantissa), int(exponent))

"""What a function is on many arguments: correctly rounded, and as nearly exact numbers.

Elementary functions of f32 are evaluated in float64 by numpy, whose tests hold them to a few ulp of
float64 (numpy/numpy#31333). `_DOUBTED` allows 64. Only where a value is that near to a rounding
boundary of f32, or in the range of subnormal numbers, the reference settles it
(`reference.numerics.elementary.functions`: longdouble, then ball arithmetic).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from conformance.sweep.function import Function
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array, ElementType
from reference.numerics.elementary.functions import Real, evaluate_real, wide
from reference.numerics.rounding import HAS_EXTENDED, to_float64

_CHUNK = 1 << 15
"""Elements that are evaluated at a time, so that they stay in a core's cache."""

_BOUNDARY, _CUT = 0x10000000, 0x1FFFFFFF
"""The last 29 bits of a float64 half way between two numbers of f32; all of these bits."""

_DOUBTED = 64
"""Units in the last place of float64 that a value of numpy may be off, and that is generous."""

_TINY = 0x01000000
"""The code of f32's 2^-125: below it there are subnormal numbers, with other boundaries."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Expected results, and exact values at chosen positions.

    `exact(where)` returns values as float64 or longdouble, far nearer to the exact ones than half
    an ulp of the result; it is None where such values are not available.
    """

    expected: Array
    exact: Callable[[Array], Array] | None


def reference_of(function: Function, operands: tuple[Array, ...]) -> Reference:
    """Evaluate a function on vectors of arguments."""
    real = function.real
    if real is not None and function.operand == "f32" and function.arity == 1:
        return _elementary_f32(real, operands[0], function.operand_type)
    (expected,) = evaluate(function.program(len(operands[0])), operands)
    return Reference(np.asarray(expected), _exact_values(function, operands))


def _exact_values(
    function: Function, operands: tuple[Array, ...]
) -> Callable[[Array], Array] | None:
    """Return what gives exact values of a real function; None where nothing is near enough."""
    of, record = function.result_type, function.record
    if not of.is_float or not function.operand_type.is_float:
        return None
    if function.real is not None:
        is_wide = of.bits < 64 or (HAS_EXTENDED and function.real.extended)
        return (lambda where: wide(function.op, *(o[where] for o in operands))) if is_wide else None
    unrounded = record.unrounded
    if unrounded is None or of.bits == 64:
        return None

    def exact(where: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(unrounded(*(to_float64(o[where]) for o in operands)))

    return exact


def _elementary_f32(real: Real, x: Array, of: ElementType) -> Reference:
    expected, values = np.empty(len(x), np.float32), np.empty(len(x), np.float64)
    with np.errstate(all="ignore"):
        for start in range(0, len(x), _CHUNK):
            part = slice(start, start + _CHUNK)
            argument = x[part].astype(np.float64)
            y = values[part]
            y[:] = real.fast(argument)
            doubted = _is_doubted(y, expected[part])
            if real.doubtful is not None:
                doubted |= real.doubtful(y, argument)
            index = np.flatnonzero(doubted)
            if index.size:
                expected[start + index] = evaluate_real(real, (x[start + index],), of)

    def exact(where: Array) -> Array:
        doubtful = real.doubtful is not None
        return wide(real.name, x[where]) if doubtful else values[where]

    return Reference(expected, exact)


def _is_doubted(y: Array, rounded: Array) -> Array:
    """Round float64 to f32, and say where a value so near might round otherwise."""
    rounded[:] = y
    low = y.view(np.int64) + (_DOUBTED - _BOUNDARY)
    low &= _CUT
    doubted = low <= 2 * _DOUBTED
    code = rounded.view(np.uint32) & np.uint32(0x7FFFFFFF)
    tiny = code < np.uint32(_TINY)
    if tiny.any():
        doubted |= tiny & (y != 0)
    return np.asarray(doubted)

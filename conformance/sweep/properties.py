"""Monotonicity and symmetry of functions, read off the reference's table of all f16 arguments.

Correct rounding keeps both: a rounded monotonic function is monotonic, a rounded odd or even
function is odd or even. So the properties of a function are the same in any type, and no list of
functions is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from conformance.sweep.function import Function
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of, from_bits, to_bits
from reference.numerics.rounding import to_float64

_HALF = 1 << 15
_SOURCE = "f16"


@dataclass(frozen=True, slots=True)
class Properties:
    """Monotonicity and parity of a unary function of floating-point numbers.

    `positive` and `negative` say for each side of zero, in order of growing magnitude, whether
    values never fall (1), never rise (-1), or do both (0). `parity` is 1 where the function is
    even, -1 where it is odd, else 0.
    """

    positive: int = 0
    negative: int = 0
    parity: int = 0


def properties_of(function: Function) -> Properties:
    """Return the properties of a function; no properties unless it takes one floating-point
    number.
    """
    if function.arity != 1 or not function.operand_type.is_float or function.result_type.is_complex:
        return Properties()
    result = _SOURCE if function.result == function.operand else function.result
    return _read_off(replace(function, operand=_SOURCE, result=result))


@cache
def _read_off(function: Function) -> Properties:
    codes = np.arange(_HALF, dtype=np.uint16)
    codes = codes[codes <= 0x7C00]  # infinity
    sides: list[Array] = []
    for sign in (0, _HALF):
        operand = from_bits(codes | np.uint16(sign), ELEMENT_TYPES[_SOURCE])
        sides += [np.asarray(evaluate(function.program(len(codes)), (operand,))[0])]
    positive, negative = sides
    return Properties(_direction(positive), _direction(negative), parity_of(positive, negative))


def _direction(results: Array) -> int:
    if not falls(results):
        return 1
    return -1 if not rises(results) else 0


def parity_of(positive: Array, negative: Array) -> int:
    """Return 1 for results of an even function on both sides of zero, -1 for an odd function."""
    if is_like(positive, negative, 1).all():
        return 1
    return -1 if is_like(positive, negative, -1).all() else 0


def is_like(positive: Array, negative: Array, parity: int) -> Array:
    """Return the mask of positive results that equal the negative result times the parity."""
    element_type = element_type_of(positive)
    if element_type.is_float:
        nan = np.isnan(positive) & np.isnan(negative)
        if parity > 0:
            return nan | (to_bits(positive) == to_bits(negative))
        if not element_type.float_format.has_negative_zero:
            return nan | (to_float64(positive) == -to_float64(negative))
        sign = to_bits(positive).dtype.type(1 << (element_type.bits - 1))
        return nan | (to_bits(positive) == (to_bits(negative) ^ sign))
    if parity > 0 or element_type.is_boolean:
        return np.asarray(positive == negative)
    return (
        np.asarray(positive == -negative)
        if element_type.is_signed
        else np.zeros(len(positive), np.bool_)
    )


def falls(results: Array) -> int:
    """Count the results that are less than the result before."""
    values = _to_comparable(results)
    return int(np.count_nonzero(values[1:] < values[:-1]))


def rises(results: Array) -> int:
    """Count the results that are greater than the result before."""
    values = _to_comparable(results)
    return int(np.count_nonzero(values[1:] > values[:-1]))


def _to_comparable(results: Array) -> Array:
    element_type = element_type_of(results)
    if element_type.is_float:
        return results if element_type.bits >= 32 else to_float64(results)
    if element_type.is_boolean:
        return results.astype(np.int8)
    return results.astype(np.int64) if element_type.bits < 64 else results

"""Results that are not correctly rounded, and their errors.

The reference of every result is correctly rounded, but most results need no certified rounding.
Where the function has a value in float64, results that are certain to be its rounding are skipped:

- Elementary functions of f32 are evaluated in float64 by numpy, whose tests require a few ulp of
  float64 (numpy/numpy#31333). `_DOUBTED` allows 64. Only where a value is that near to a rounding
  boundary of f32, or in the range of subnormal numbers, the reference decides
  (`reference.numerics.elementary.functions`: longdouble, then ball arithmetic).
- If a monotonic function has the same correctly rounded result at both ends of an interval, it has
  that result in the whole interval.
- Results of at most 16 bits are looked up in a table of the numbers that round to them
  (`rounding`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from conformance.sweep.function import Function
from conformance.sweep.rounding import WIDEST, Preimages, preimages
from reference.ir.types import (
    ELEMENT_TYPES,
    Array,
    ElementType,
    element_type_of,
    from_bits,
    to_bits,
)
from reference.numerics.alike import different_bits
from reference.numerics.elementary.functions import Real, evaluate_real, wide_values
from reference.numerics.rounding import HAS_EXTENDED, to_float64

_CHUNK = 1 << 15
"""Number of elements evaluated at a time, which fit in a core's cache."""

_BOUNDARY, _CUT = 0x10000000, 0x1FFFFFFF
"""The low 29 bits of a float64 half way between two f32 numbers; the mask of the low 29 bits."""

_DOUBTED = 64
"""Largest assumed error of numpy's float64 values in ulp, a generous figure."""

_TINY = np.uint32(0x01000000)
"""The code of f32's 2^-125: below it there are subnormal numbers, with other boundaries."""

_MAGNITUDE = np.uint32(0x7FFFFFFF)
"""The bits of an f32 without its sign."""

Exact = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Differences:
    """The results whose bits differ from the correctly rounded results.

    `where` has their positions, ascending, and `expected` the correctly rounded results there. NaN
    in place of another NaN may be left out. `exact(index)` returns exact values of some of them, by
    their index in `where`: float64 or longdouble, far nearer to the exact values than half an ulp
    of the result. It is None where such values are not available.
    """

    where: Array
    expected: Array
    exact: Exact | None


def differences_of(
    function: Function, operands: tuple[Array, ...], actual: Array, *, is_ordered: bool = False
) -> Differences:
    """Compare the results of a function on vectors of arguments with the correctly rounded results.

    Args:
        function: the function.
        operands: the arguments.
        actual: the results, of the type and shape that the function has.
        is_ordered: whether arguments are in the order of a domain: for a unary function
            magnitudes ascend, with one sign in each half.
    """
    real = function.real
    if real is not None and function.operand == "f32" and function.arity == 1:
        return _elementary_f32(real, operands[0], actual, is_ordered=is_ordered)
    if _has_table(function):
        where = _uncertain_positions(function, operands, actual)
        expected = function.evaluate(tuple(operand[where] for operand in operands))
        differs = different_bits(expected, actual[where])
        where, expected = where[differs], expected[differs]
    else:
        expected = function.evaluate(operands)
        where = np.flatnonzero(different_bits(expected, actual))
        expected = expected[where]
    return Differences(where, expected, _exact_values(function, operands, where))


def _exact_values(function: Function, operands: tuple[Array, ...], where: Array) -> Exact | None:
    """Return a function that computes exact values of a real function, or None."""
    of, record = function.result_type, function.record
    if not of.is_float or not function.operand_type.is_float:
        return None
    if function.real is not None:
        is_wide = of.bits < 64 or (HAS_EXTENDED and function.real.extended)
        if not is_wide:
            return None
        return lambda index: wide_values(function.op, *(o[where[index]] for o in operands))
    unrounded = record.unrounded
    if unrounded is None or of.bits == 64:
        return None

    def exact_values(index: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(unrounded(*(to_float64(o[where[index]]) for o in operands)))

    return exact_values


def _has_table(function: Function) -> bool:
    """Return whether results are of a small type and round float64 values of the function.

    For such a unary function of small numbers the reference itself has a table.
    """
    of, record = function.operand_type, function.record
    if not (function.result_type.is_float and function.result_type.bits <= WIDEST):
        return False
    if of.bits > 32 or of.is_complex or of.bits * function.arity <= WIDEST:
        return False
    if function.rule.nan_bits:
        return False
    return function.real is not None or (record.unrounded is not None and not record.attributes)


def _uncertain_positions(function: Function, operands: tuple[Array, ...], actual: Array) -> Array:
    """Return the positions of results that are not certain to be right, by a table."""
    real = function.real
    apply = function.record.unrounded if real is None else real.values
    assert apply is not None, function.name
    table = preimages(function.result_type, 0 if real is None else _DOUBTED)
    codes = to_bits(actual)
    found = [_uncertain_in(part, apply, operands, codes, table) for part in _parts(len(codes))]
    return np.concatenate(found) if found else np.empty(0, np.intp)


def _uncertain_in(
    part: slice, apply: Callable[..., Array], operands: tuple[Array, ...], codes: Array,
    table: Preimages,
) -> Array:  # fmt: skip
    with np.errstate(all="ignore"):
        values = np.asarray(apply(*(_values(operand[part]) for operand in operands)))
    codes, values = codes[part], np.ascontiguousarray(values)
    index = np.flatnonzero(table.excludes(codes, values))
    if index.size and len(values) == len(codes):
        is_nan = table.is_nan.take(codes[index]) & np.isnan(values[index])
        index = index[~is_nan]
    return index + part.start


def _values(operand: Array) -> Array:
    """Return numbers of at most 32 bits as float64; a single number if all are the same."""
    element_type = element_type_of(operand)
    if not (element_type.is_float and element_type.bits == WIDEST):
        return operand.astype(np.float64)
    codes = to_bits(operand)
    if codes[0] == codes[-1] and (codes == codes[0]).all():
        codes = codes[:1]
    return np.asarray(_values_by_code(element_type).take(codes))


@cache
def _values_by_code(element_type: ElementType) -> Array:
    return to_float64(from_bits(np.arange(1 << element_type.bits, dtype=np.uint32), element_type))


def _parts(count: int) -> Iterator[slice]:
    for start in range(0, count, _CHUNK):
        yield slice(start, min(start + _CHUNK, count))


def _elementary_f32(real: Real, x: Array, actual: Array, *, is_ordered: bool) -> Differences:
    found: list[tuple[Array, Array, Array]] = []
    half = len(x) // 2 if is_ordered and real.monotonic else 0
    for side in (slice(0, half), slice(half, 2 * half), slice(2 * half, len(x))):
        constant = _constant(real, x[side]) if side.stop <= 2 * half else None
        if constant is not None:
            found.append(_differences_from_constant(constant, actual[side], side.start))
            continue
        for part in _parts(side.stop - side.start):
            chunk = slice(side.start + part.start, side.start + part.stop)
            found.append(_differences_in(real, x[chunk], actual[chunk], chunk.start))
    where, expected, values = (np.concatenate(parts) for parts in zip(*found, strict=True))

    def exact_values(index: Array) -> Array:
        if real.doubtful is not None:
            return wide_values(real.name, x[where[index]])
        return values[index]

    return Differences(where, expected, exact_values)


def _constant(real: Real, x: Array) -> tuple[np.float32, np.float64] | None:
    """Return the result of a monotonic function, rounded and as float64, if it is the same for all
    arguments `x`; else None. `x` are consecutive arguments of one sign, by magnitude.
    """
    ends = x[[0, -1]] if len(x) else x
    if not len(x) or np.isnan(ends[-1]):
        return None
    with np.errstate(all="ignore"):
        first, last = evaluate_real(real, (ends,), _F32)
        value = real.values(ends[:1].astype(np.float64))[0]
    same = to_bits(first) == to_bits(last) or (np.isnan(first) and np.isnan(last))
    return (first, value) if same else None


def _differences_from_constant(
    constant: tuple[np.float32, np.float64], actual: Array, start: int
) -> tuple[Array, Array, Array]:
    """Return positions, expected results and values of results that differ from a constant."""
    expected, value = constant
    is_wrong = (
        ~np.isnan(actual)
        if np.isnan(expected)
        else to_bits(actual) != to_bits(np.asarray(expected))
    )
    index = np.flatnonzero(is_wrong)
    return index + start, np.full(len(index), expected), np.full(len(index), value)


def _differences_in(real: Real, x: Array, actual: Array, start: int) -> tuple[Array, Array, Array]:
    """Return positions, expected results and values of wrong results."""
    with np.errstate(all="ignore"):
        argument = x.astype(np.float64)
        y = real.values(argument)
        expected = y.astype(np.float32)
        suspect = expected.view(np.uint32) != actual.view(np.uint32)
        doubted = _is_doubted(y, expected)
        if real.doubtful is not None:
            doubtful = real.doubtful(y, argument)
            doubted = doubtful if doubted is None else doubted | doubtful
        if doubted is not None:
            suspect |= doubted
            index = np.flatnonzero(doubted)
            expected[index] = evaluate_real(real, (x[index],), _F32)
        index = np.flatnonzero(suspect)
        want, got = expected[index], actual[index]
        differs = (want.view(np.uint32) != got.view(np.uint32)) & ~(np.isnan(want) & np.isnan(got))
    index = index[differs]
    return index + start, want[differs], y[index]


def _is_doubted(y: Array, rounded: Array) -> Array | None:
    """Return a mask of float64 values that may round differently, because they are near a boundary;
    None if there are none.
    """
    low = y.view(np.int64) + (_DOUBTED - _BOUNDARY)
    low &= _CUT
    is_near = low <= 2 * _DOUBTED if low.min() <= 2 * _DOUBTED else None
    code = rounded.view(np.uint32) & _MAGNITUDE
    if code.min() >= _TINY:
        return is_near
    tiny = (code < _TINY) & (y != 0)
    return tiny if is_near is None else np.asarray(tiny | is_near)


_F32 = ELEMENT_TYPES["f32"]

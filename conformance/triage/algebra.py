"""Identities of sums, products and quotients of real numbers that compilers take for identities of
rounded ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from conformance.triage.prediction import Predicted, Shown, flushed
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, Program, Value
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import alike, without_subnormals
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import to_float64
from reference.ops.table import OPS

REGROUPED = "constants multiplied first"
MERGED = "quotients made one"
ADDED = "constants added first"
FACTOR = "common factor taken out of a sum"
UNDONE = "difference undone"
ZEROS = "zeros taken for equal"


@quiet
def _product(x: Array, y: Array) -> Array:
    return OPS["multiply"].evaluate(x, y)


@quiet
def _quotient(x: Array, y: Array) -> Array:
    return OPS["divide"].evaluate(x, y)


def _reciprocal(x: Array) -> Array:
    return _quotient(np.ones_like(x), x)


def of_product(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """(x c) d as x (c d), (x / c) d as x (d / c), and (x c) (y d) as (x y) (c d), or quotients in
    the place of those products, of constants c and d."""
    shown = Shown(program, values)
    lhs, rhs = operation.operands
    for inner, constant in ((lhs, rhs), (rhs, lhs)):
        for x, c, d, divided in _constants(shown, inner, constant):
            yield from _times(x, _quotient(d, c) if divided else _product(c, d))
            if divided:
                yield from _times(x, _product(_reciprocal(c), d))
    for (x, c, x_divided), (y, d, y_divided) in product(_scaled(shown, lhs), _scaled(shown, rhs)):
        one, other = (_reciprocal(c) if x_divided else c), (_reciprocal(d) if y_divided else d)
        yield from _times(_product(x, y), _product(one, other))


def of_quotient(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """(x c) / d as x (c / d), and (x / c) / d as x / (c d), of constants c and d."""
    for x, c, d, divided in _constants(Shown(program, values), *operation.operands):
        if divided:
            yield from _times(x, _product(_reciprocal(c), _reciprocal(d)))
            yield Predicted(_quotient(x, _product(c, d)))
        else:
            yield from _times(x, _quotient(c, d))
            yield from _times(x, _product(c, _reciprocal(d)))


def of_quotients(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """(a / b) / (c / d) as (a d) / (b c), (a / b) / c as a / (b c), and a / (b / c) as (a c) / b:
    products overflow, or come to nothing, where the quotients do not, and the other way round."""
    shown = Shown(program, values)
    lhs, rhs = (_fraction(shown, value) for value in operation.operands)
    for (a, b), (c, d) in product(lhs, rhs):
        if b is None and d is None:
            continue
        for keeps in (np.asarray, without_subnormals):
            above = a if d is None else keeps(_product(keeps(a), keeps(d)))
            below = c if b is None else keeps(_product(keeps(b), keeps(c)))
            yield Predicted(keeps(_quotient(above, below)))


def _fraction(shown: Shown, value: Value) -> Iterator[tuple[Array, Array | None]]:
    """A value as a numerator and a denominator: itself and none, and those of a quotient."""
    itself = shown.values.get(value.name)
    if itself is None or not element_type_of(itself).is_float:
        return
    yield itself, None
    maker = shown.maker(value)
    if maker is not None and maker.name == "divide":
        above, below = (shown.values.get(operand.name) for operand in maker.operands)
        if above is not None and below is not None:
            yield above, below


def _constants(
    shown: Shown, inner: Value, constant: Value
) -> Iterator[tuple[Array, Array, Array, bool]]:
    """x, c and d where the inner value is x c or x / c (the last is true), c and d constants."""
    d = shown.values.get(constant.name)
    if d is not None and shown.is_folded(constant):
        for x, c, divided in _scaled(shown, inner):
            yield x, c, d, divided


def _scaled(shown: Shown, value: Value) -> Iterator[tuple[Array, Array, bool]]:
    """x and c where a value is x c or x / c (the last is true), c a constant, or the product of
    several that come one after the other."""
    maker = shown.maker(value)
    if maker is None or maker.name not in _FACTORS:
        return
    one, other = maker.operands
    divides = _FACTORS[maker.name]
    pairs = [(one, other)] if divides else [(one, other), (other, one)]
    for operand, constant in pairs:
        x, d = (shown.values.get(each.name) for each in (operand, constant))
        if x is None or d is None or not shown.is_folded(constant):
            continue
        if element_type_of(x).is_float:
            yield x, d, divides
            for inner, c, divided in _scaled(shown, operand):
                yield inner, *_joined(c, divided, d, divides)


def _joined(c: Array, divided: bool, d: Array, divides: bool) -> tuple[Array, bool]:
    """What multiplying or dividing by c, then by d, comes to as one such step."""
    if divided == divides:
        return _product(c, d), divides
    return (_quotient(d, c) if divided else _quotient(c, d)), False


_FACTORS = {"multiply": False, "divide": True}
"""What has a constant factor, and whether it divides by it."""


def _times(x: Array, factor: Array) -> Iterator[Predicted]:
    """x times a factor, subnormal numbers kept or flushed."""
    yield Predicted(_product(x, factor))
    kept = without_subnormals(factor)
    yield flushed(Predicted(_product(without_subnormals(x), kept)))


def of_added(
    program: Program, operation: Operation, values: Mapping[str, Array], *, sign: int = 1
) -> Iterator[Predicted]:
    """(x + c) + d as x + (c + d), and the like with differences, of constants c and d: x itself,
    where they come to 0. With the sign -1 it is the difference of both."""
    shown = Shown(program, values)
    lhs, rhs = operation.operands
    for inner, constant, of_inner, of_constant in ((lhs, rhs, 1, sign), (rhs, lhs, sign, 1)):
        d = values.get(constant.name)
        if d is None or not shown.is_folded(constant):
            continue
        for x, c, way in _shifted(shown, inner):
            first = _signed(way * of_inner, x)
            total = _sum(_signed(of_inner, c), _signed(of_constant, d))
            predicted = Predicted(_sum(first, total) if total.any() else first)
            yield predicted
            yield flushed(predicted)


def _shifted(shown: Shown, value: Value) -> Iterator[tuple[Array, Array, int]]:
    """x, c and the sign of x where a value is x + c, x - c or c - x, c a constant."""
    maker = shown.maker(value)
    if maker is None or maker.name not in _SIGNS:
        return
    (one, other), sign = maker.operands, _SIGNS[maker.name]
    for operand, constant, way, turned in ((one, other, 1, sign), (other, one, sign, 1)):
        x, c = (shown.values.get(each.name) for each in (operand, constant))
        if x is None or c is None or not shown.is_folded(constant):
            continue
        of = element_type_of(x)
        if of.is_float or of.is_complex:
            yield x, _signed(turned, c), way


_SIGNS = {"add": 1, "subtract": -1}
"""What adds up, and the sign of its second operand."""


def _signed(sign: int, x: Array) -> Array:
    return x if sign > 0 else np.negative(x)


@quiet
def _sum(x: Array, y: Array) -> Array:
    return OPS["add"].evaluate(x, y)


def of_common_factor(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """x c + y c as (x + y) c, of a constant c; x / c is such a product where c is a power of 2."""
    shown = Shown(program, values)
    lhs, rhs = (_scaled(shown, value) for value in operation.operands)
    for (x, c, x_divided), (y, d, y_divided) in product(lhs, rhs):
        factor, other = _factor(c, x_divided), _factor(d, y_divided)
        if factor is not None and other is not None and alike(factor, other).all():
            yield from _times(_sum(x, y), factor)


def _factor(constant: Array, is_divided: bool) -> Array | None:
    """What multiplies: the constant, or its reciprocal if that is exact; None if it is not."""
    if not is_divided:
        return constant
    mantissa, _ = np.frexp(to_float64(constant))
    return (1 / constant).astype(constant.dtype) if (np.abs(mantissa) == 0.5).all() else None


def of_difference_undone(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """(x - y) + y and (x + y) - y as x, of complex numbers."""
    shown = Shown(program, values)
    lhs, rhs = operation.operands
    for inner, y in ((lhs, rhs), (rhs, lhs)):
        maker = shown.maker(inner)
        if maker is None or {maker.name, operation.name} != _SIGNS.keys():
            continue
        one, other = maker.operands
        x = values.get(one.name)
        if other.name == y.name and x is not None and element_type_of(x).is_complex:
            yield Predicted(x, np.zeros(x.shape))


def of_folded_extremum(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """An extremum of what is made of constants alone, its zeros of the other sign."""
    operands = [values.get(value.name) for value in operation.operands]
    given = [one for one in operands if one is not None]
    if len(given) < len(operands) or not element_type_of(given[0]).is_float:
        return
    if Shown(program, values).is_folded(operation.results[0]):
        (result,) = apply(operation, given)
        other = np.where(result == 0, np.negative(result), result).astype(result.dtype)
        yield Predicted(other, np.zeros(result.shape))

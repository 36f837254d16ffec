"""Identities of real numbers that compilers take for identities of rounded ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from conformance.catalog import rule_of
from conformance.tolerance.hardware import Hardware
from conformance.triage.prediction import Predicted, Shown, flushed
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, Program, Value
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of
from reference.numerics.alike import without_subnormals
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import to_float64, ulp_size
from reference.ops.table import OPS

REGROUPED = "constants multiplied first"
LOGARITHM = "logarithm of a power as a product"
EXPONENTIAL = "quotient by an exponential as a product"
ZEROS = "zeros taken for equal"
UNROUNDED = "exponential taken into a sum unrounded"

LARGEST_ARGUMENT = float(np.float32(88.8))
"""What larger arguments are cut to before the exponential of f32 is computed (jaxlib 0.10.2, 0.12,
measured): its exponential is over the largest number, and infinite only when it is rounded."""


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


def _constants(
    shown: Shown, inner: Value, constant: Value
) -> Iterator[tuple[Array, Array, Array, bool]]:
    """x, c and d where the inner value is x c or x / c (the last is true), c and d constants."""
    d = shown.values.get(constant.name)
    if d is not None and shown.is_folded(constant):
        for x, c, divided in _scaled(shown, inner):
            yield x, c, d, divided


def _scaled(shown: Shown, value: Value) -> Iterator[tuple[Array, Array, bool]]:
    """x and c where a value is x c or x / c (the last is true), c a constant."""
    maker = shown.maker(value)
    if maker is None or maker.name not in _FACTORS:
        return
    one, other = maker.operands
    pairs = [(one, other)] if _FACTORS[maker.name] else [(one, other), (other, one)]
    for operand, constant in pairs:
        x, c = (shown.values.get(each.name) for each in (operand, constant))
        if x is None or c is None or not shown.is_folded(constant):
            continue
        if element_type_of(x).is_float:
            yield x, c, _FACTORS[maker.name]


_FACTORS = {"multiply": False, "divide": True}
"""What has a constant factor, and whether it divides by it."""


def _times(x: Array, factor: Array) -> Iterator[Predicted]:
    """x times a factor, subnormal numbers kept or flushed."""
    yield Predicted(_product(x, factor))
    kept = without_subnormals(factor)
    yield flushed(Predicted(_product(without_subnormals(x), kept)))


def of_logarithm(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """log(x^y) as y log(x), or as y log|x|."""
    shown = Shown(program, values)
    maker = shown.maker(operation.operands[0])
    if maker is None or maker.name != "power":
        return
    x, y = (values.get(value.name) for value in maker.operands)
    if x is None or y is None or not element_type_of(x).is_float:
        return
    with np.errstate(all="ignore"):
        for base in (x, np.abs(x)):
            yield Predicted(_product(y, OPS["log"].evaluate(base)))


def of_exponential(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """a / exp(x) as a exp(-x), the exponential within its own budget."""
    dividend, divisor = operation.operands
    maker = Shown(program, values).maker(divisor)
    if maker is None or maker.name != "exponential":
        return
    a, x = (values.get(value.name) for value in (dividend, maker.operands[0]))
    rule, of = rule_of(maker), None if x is None else element_type_of(x)
    if a is None or x is None or rule is None or of is None or not of.is_float:
        return
    with np.errstate(all="ignore"):
        factor = OPS["exponential"].evaluate(np.negative(x))
        result = _product(a, factor)
        budget = rule.budget(of, Hardware.CPU) or 0.0
        error = budget * ulp_size(to_float64(factor), of) * np.abs(to_float64(a))
        predicted = Predicted(result, error + ulp_size(to_float64(result), of))
    yield predicted
    yield flushed(predicted)


def of_sum(
    program: Program, operation: Operation, values: Mapping[str, Array], *, sign: int = 1
) -> Iterator[Predicted]:
    """exp(x) + y, or with the sign exp(x) - y and y - exp(x), the exponential unrounded."""
    shown = Shown(program, values)
    lhs, rhs = operation.operands
    for taken, other, signs in ((lhs, rhs, (1, sign)), (rhs, lhs, (sign, 1))):
        maker, y = shown.maker(taken), values.get(other.name)
        if maker is None or maker.name != "exponential" or y is None:
            continue
        x = values.get(maker.operands[0].name)
        if x is None or element_type_of(x) is not ELEMENT_TYPES["f32"]:
            continue
        with np.errstate(all="ignore"):
            wide = np.exp(np.minimum(to_float64(x), LARGEST_ARGUMENT))
            total = signs[0] * wide + signs[1] * to_float64(y)
            few = np.abs(wide) * (np.finfo(np.float32).eps * EXPONENTIAL_ERROR)
            yield Predicted(total.astype(np.float32), few)


EXPONENTIAL_ERROR = 8.0
"""Roundoffs of an exponential of f32 that is cut to the largest argument, and not rounded."""


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

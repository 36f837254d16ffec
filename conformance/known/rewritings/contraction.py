"""Contraction: products and quotients that compilers add without rounding them first.

A product and the sum that uses it become one operation with one rounding (contraction). The
specification rounds the product. If the product is exact or overflows, perturbed evaluation does
not cover the difference, so these cases are modelled here, on the values that the backend has:

- a product; a quotient by a constant or by a broadcast value, computed as a product with the
  rounded reciprocal of the divisor, and so not exact where the quotient is; a quotient by a
  quotient 1 / d, computed as a product with d;
- used by an addition, a subtraction, or a sum of many elements in sequence;
- also after a conversion to a wider type: narrow types are computed in f32, and a value that is
  rounded to one only to be widened again may stay unrounded;
- also after operations that a compiler removes: factors and divisors of 1, magnitudes of squares,
  real parts of real numbers;
- with subnormal numbers flushed before and after, or kept.

In a sum of many elements a sum of two products is decomposed as well: s + (a b + c d) is computed
as (s + a b) + c d, in which a b and c d no longer cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from conformance.known.rewritings.signs import is_not_negative
from conformance.known.rewritings.values import (
    ObservedProgram,
    ValuePrediction,
    flush_prediction,
    given_to,
)
from conformance.tolerance.bounds.underflow import has_flushing_modes
from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.monoid import ADD
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type_of
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.alike import flush_subnormals
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import round_to, to_float64
from reference.numerics.unrounded import (
    UnroundedNumbers,
    rounded_sum,
    unrounded_number,
    unrounded_product,
)
from reference.ops.table import OPS
from reference.unspecified.reduction import Reduction, decompose_reduction

CONTRACTED = "product taken into a sum unrounded"
QUOTIENT = "quotient taken into a sum unrounded"
TAKEN_APART = "sum of products taken apart"

FEW = 64
"""Largest number of elements that are added sequentially; longer sums have another order."""

_INDEX = ELEMENT_TYPES["si64"]


@dataclass(frozen=True)
class _Unrounded:
    """An unrounded value; an unrounded quotient is not exact."""

    value: UnroundedNumbers
    is_quotient: bool = False


@dataclass(frozen=True)
class _Model(ObservedProgram):
    """Values of a program, some unrounded; with or without flushing."""

    flushes: bool

    def given(self, value: Value) -> Array | None:
        """Return the backend's value of floating-point numbers; None if not available."""
        array = self.values.get(value.name)
        if array is None or not element_type_of(array).is_float:
            return None
        return flush_subnormals(array) if self.flushes else array

    def unrounded(self, value: Value) -> Iterator[_Unrounded]:
        """Yield the values of an operation whose result is not rounded."""
        maker = self.maker(value)
        if maker is None or len(maker.results) != 1:
            return
        if maker.name in _UNROUNDED:
            yield from _UNROUNDED[maker.name](self, *maker.operands)
        elif maker.name == "convert" and _widens(maker):  # back to where it was computed
            yield from self.unrounded(maker.operands[0])
        elif OPS[maker.name].rearranges and (places := _places(maker)) is not None:
            for wide in self.unrounded(maker.operands[0]):
                yield replace(wide, value=wide.value.take(places))

    def taken(self, value: Value, quotients: bool) -> Iterator[_Unrounded]:
        """Yield the unrounded forms of a value; with `quotients`, also unrounded quotients."""
        return (wide for wide in self.unrounded(value) if quotients or not wide.is_quotient)

    def products(self, value: Value) -> Iterator[tuple[UnroundedNumbers, UnroundedNumbers]]:
        """Yield the pairs of products whose sum is a value."""
        maker = self.maker(value)
        if maker is None:
            return
        if OPS[maker.name] is OPS["add"]:
            lhs, rhs = (list(self.unrounded(one)) for one in maker.operands)
            yield from ((one.value, other.value) for one in lhs for other in rhs)
        elif OPS[maker.name].rearranges and (places := _places(maker)) is not None:
            for one, other in self.products(maker.operands[0]):
                yield one.take(places), other.take(places)

    def complex_factors(self, value: Value) -> tuple[Array, Array] | None:
        """Return the two factors of a complex product."""
        maker = self.maker(value)
        if maker is None or OPS[maker.name] is not OPS["multiply"]:
            return None
        found = [self.values.get(one.name) for one in maker.operands]
        if found[0] is None or found[1] is None or not element_type_of(found[0]).is_complex:
            return None
        return found[0], found[1]

    def round_prediction(self, result: Array) -> ValuePrediction:
        """Return a prediction, rounded to the type of a result."""
        found = ValuePrediction(result, np.zeros(result.shape))
        return flush_prediction(found) if self.flushes else found


def _product(model: _Model, x: Value, y: Value) -> Iterator[_Unrounded]:
    for one, other in ((x, y), (y, x)):
        if model.is_all(other, 1):
            yield from model.unrounded(one)
    factors = model.given(x), model.given(y)
    if factors[0] is not None and factors[1] is not None:
        yield _Unrounded(unrounded_product(factors[0], factors[1]))


def _square(model: _Model, x: Value, y: Value) -> Iterator[_Unrounded]:
    """Return x^2, which is computed as a product."""
    if model.is_all(y, 2):
        yield from _product(model, x, x)


def _quotient(model: _Model, x: Value, y: Value) -> Iterator[_Unrounded]:
    if model.is_all(y, 1):
        yield from model.unrounded(x)
    dividend, divisor = model.given(x), model.given(y)
    if dividend is None or divisor is None:
        return
    maker = model.maker(y)
    if model.is_folded(y) or (maker is not None and _is_repeated(maker)):
        for reciprocal in _reciprocals(divisor):
            kept = flush_subnormals(reciprocal) if model.flushes else reciprocal
            yield _Unrounded(unrounded_product(dividend, kept), is_quotient=True)
    if maker is not None and OPS[maker.name] is OPS["divide"]:
        one, other = map(model.given, maker.operands)
        if one is not None and other is not None and bool((to_float64(one) == 1).all()):
            yield _Unrounded(unrounded_product(dividend, other), is_quotient=True)


def _widens(maker: Operation) -> bool:
    """Return whether an operation converts floating-point numbers to a wider type."""
    of, to = maker.operands[0].type, maker.results[0].type
    if not (isinstance(of, TensorType) and isinstance(to, TensorType)):
        return False
    if not (isinstance(of.element_type, ElementType) and isinstance(to.element_type, ElementType)):
        return False
    floats = of.element_type.is_float and to.element_type.is_float
    return floats and of.element_type.bits < to.element_type.bits


def _is_repeated(maker: Operation) -> bool:
    """Return whether a broadcast repeats elements: reciprocals are computed before it."""
    if OPS[maker.name] is not OPS["broadcast_in_dim"]:
        return False
    before, after = maker.operands[0].type, maker.results[0].type
    if not (isinstance(before, TensorType) and isinstance(after, TensorType)):
        return False
    return (
        before.is_static
        and after.is_static
        and prod(before.static_shape) < prod(after.static_shape)
    )


def _negate_unrounded(model: _Model, x: Value) -> Iterator[_Unrounded]:
    for wide in model.unrounded(x):
        yield replace(wide, value=-wide.value)


def _magnitude(model: _Model, x: Value) -> Iterator[_Unrounded]:
    """Yield the operand of a magnitude that is omitted, because the operand is assumed
    nonnegative.
    """
    if is_not_negative(model, x):
        yield from model.unrounded(x)


_UNROUNDED: dict[str, Callable[..., Iterator[_Unrounded]]] = {
    "multiply": _product,
    "power": _square,
    "divide": _quotient,
    "negate": _negate_unrounded,
    "abs": _magnitude,
    "real": _Model.unrounded,  # of real numbers: others are given as no array
}
"""Functions that yield the unrounded values of an operation, by its name."""


def _reciprocals(divisor: Array) -> Iterator[Array]:
    """Yield 1 / divisor rounded to its type, and to f32, in which narrower types are computed."""
    of = element_type_of(divisor)
    with np.errstate(all="ignore"):
        exact = 1 / to_float64(divisor)
    yield round_to(exact, of)
    if of.bits < 32:
        yield exact.astype(np.float32)


def _places(operation: Operation) -> Array | None:
    """Return the flat source position of each element of a rearranging operation."""
    (operand,), (result,) = operation.operands, operation.results
    of, to = operand.type, result.type
    if not (isinstance(of, TensorType) and isinstance(to, TensorType)):
        return None
    if not (of.is_static and to.is_static):
        return None
    retyped = replace(
        operation,
        operands=(Value(operand.name, replace(of, element_type=_INDEX)),),
        results=(Value(result.name, replace(to, element_type=_INDEX)),),
    )
    shape = of.static_shape
    try:
        (found,) = apply(retyped, (np.arange(np.prod(shape), dtype=np.int64).reshape(shape),))
    except EvaluationError:
        return None
    return found


def contracted_sums(
    program: Program, operation: Operation, values: Mapping[str, Array], *, quotients: bool = False
) -> Iterator[ValuePrediction]:
    """Yield sums of two numbers with an unrounded product (or quotient) among them."""
    yield from _predict_two_terms(program, operation, values, quotients, lambda rhs: rhs)


def contracted_differences(
    program: Program, operation: Operation, values: Mapping[str, Array], *, quotients: bool = False
) -> Iterator[ValuePrediction]:
    """Yield differences of two numbers of which at least one is a product that is not rounded."""
    yield from _predict_two_terms(program, operation, values, quotients, lambda rhs: -rhs)


def _predict_two_terms(
    program: Program,
    operation: Operation,
    values: Mapping[str, Array],
    quotients: bool,
    signed: Callable[[UnroundedNumbers], UnroundedNumbers],
) -> Iterator[ValuePrediction]:
    lhs, rhs = operation.operands
    for flushes in (False, True):
        model = _Model(program, values, flushes)
        given = model.given(lhs), model.given(rhs)
        if given[0] is None or given[1] is None:
            return
        of = element_type_of(given[0])
        one, other = unrounded_number(given[0]), unrounded_number(given[1])
        found = [(wide.value, other) for wide in model.taken(lhs, quotients)]
        found += [(one, wide.value) for wide in model.taken(rhs, quotients)]
        for a, b in found:
            yield model.round_prediction(rounded_sum(a, signed(b), of))


def of_many(
    program: Program, operation: Operation, values: Mapping[str, Array], *, quotients: bool = False
) -> Iterator[ValuePrediction]:
    """Yield sums of many elements that are unrounded products (or quotients)."""
    parts = _sums(operation, values)
    if parts is None or not element_type_of(parts.values[0]).is_float:
        return
    value = operation.operands[0]
    for flushes in (False, True):
        model = _Model(program, values, flushes)
        for wide in model.taken(value, quotients):
            yield from _one_by_one(model, parts, wide.value)
            if wide.is_quotient:
                yield _sum_in_any_order(parts, parts.inits[0], (wide.value,))


def decomposed_sums(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[ValuePrediction]:
    """Yield sums of many elements that are sums of two products, all added separately."""
    parts = _sums(operation, values)
    if parts is None:
        return
    value, init = operation.operands[0], parts.inits[0]
    for flushes in (False, True):
        model = _Model(program, values, flushes)
        for terms in model.products(value):
            yield _sum_in_any_order(parts, init, terms)
        if (factors := model.complex_factors(value)) is not None:
            yield _sum_complex_in_any_order(parts, init, *factors)


def _sums(operation: Operation, values: Mapping[str, Array]) -> Reduction | None:
    """Return a decomposed sum; None if it is no sum, or a sum in another type."""
    given = given_to(operation, values)
    if given is None or len(given) != 2:
        return None
    parts = decompose_reduction(operation, given)
    same = parts.values[0].dtype == given[0].dtype
    return parts if same and parts.monoid(0) is ADD else None


def _one_by_one(
    model: _Model, parts: Reduction, wide: UnroundedNumbers
) -> Iterator[ValuePrediction]:
    """Yield the sequential sums, rounded after each element."""
    of, (init,) = element_type_of(parts.values[0]), parts.inits
    padding = unrounded_number(init)
    groups = parts.leaves.groups((wide.high, wide.low), (padding.high, padding.low))
    result = np.full(parts.leaves.shape, init, init.dtype).reshape(-1)
    for places, (high, low) in groups:
        if len(high) > FEW:
            return
        total = np.full(len(places), init, init.dtype)
        for step in zip(high, low, strict=True):
            total = model.round_prediction(
                rounded_sum(UnroundedNumbers(*step), unrounded_number(total), of)
            ).result
        result[places] = total
    yield model.round_prediction(result.reshape(parts.leaves.shape))


@quiet
def _sum_in_any_order(
    parts: Reduction, init: Array, terms: Sequence[UnroundedNumbers]
) -> ValuePrediction:
    """Return the sums of all terms of all elements, with their rounding error in any order."""
    of, leaves = element_type_of(init), parts.leaves
    start = to_float64(init).astype(np.longdouble)
    total, size = start, np.abs(start)
    for term in terms:
        total = (
            total + leaves.fold(np.add, term.high, start, 0) + leaves.fold(np.add, term.low, 0, 0)
        )
        size = size + leaves.fold(np.add, np.abs(term.high), np.abs(start), 0)
    count = len(terms) * leaves.counts
    error = unit_roundoff(of) * (count * size + np.abs(total))
    if has_flushing_modes(of):
        error = error + np.minimum(count * of.float_format.smallest_normal, size)
    shape = leaves.shape
    result = round_to(np.broadcast_to(total, shape), of)
    return ValuePrediction(result, np.broadcast_to(error, shape).astype(np.float64))


def _sum_complex_in_any_order(parts: Reduction, init: Array, x: Array, y: Array) -> ValuePrediction:
    """Return the sums of complex products: each part is the sum of two products."""
    a, b, c, d = (part(one) for one in (x, y) for part in (np.real, np.imag))
    real = _sum_in_any_order(
        parts, np.real(init), (unrounded_product(a, c), -unrounded_product(b, d))
    )
    imag = _sum_in_any_order(
        parts, np.imag(init), (unrounded_product(a, d), unrounded_product(b, c))
    )
    result = np.empty(real.result.shape, init.dtype)
    result.real, result.imag = real.result, imag.result
    assert real.error is not None
    assert imag.error is not None
    return ValuePrediction(result, np.maximum(real.error, imag.error))

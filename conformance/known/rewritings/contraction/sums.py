"""Contraction: products and quotients that compilers add without rounding them first.

A product and the sum that uses it become one operation with one rounding (contraction). The
specification rounds the product. If the product is exact or overflows, perturbed evaluation does
not cover the difference, so these cases are modelled here, on the values that the backend has:

- a product; a quotient by a constant or by a broadcast value, computed as a product with the
  rounded reciprocal of the divisor, and so not exact where the quotient is; a quotient by a
  quotient 1 / d, computed as a product with d;
- used by an addition, a subtraction, or a sum of many elements in sequence;
- also after a conversion to a wider type: narrow types are computed in f32, and a value that is
  rounded to a narrow type, only to be widened again, may stay unrounded;
- also after operations that a compiler removes: factors and divisors of 1, added zeros, extrema
  and clamps by infinities, extrema of a number and itself, folds of a single element with a neutral
  init value, magnitudes of squares, real parts of real numbers, selections that always return the
  same operand, a reduced precision that is the type's own;
- also after operations that move elements without storing them, such as concatenations;
- also the product that another rewriting computes: a quotient by a root is a product with the
  reciprocal root, and that is contracted like a product of the program;
- also within a sum that another rewriting computes, such as one with its constants added first;
- with subnormal numbers flushed before and after, or kept.

In a sum of many elements a sum of two products is decomposed as well: s + (a b + c d) is computed
as (s + a b) + c d, in which a b and c d no longer cancel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from conformance.known.rewritings.contraction.unrounded_terms import (
    CONTRACTED,
    SIGNS,
    UnroundedTerm,
    UnroundedTerms,
    is_sum_of_two,
)
from conformance.known.rewritings.terms import Term, as_term
from conformance.known.rewritings.values import ObservedProgram, Predictions, ValuePrediction
from conformance.tolerance.bounds.underflow import has_flushing_modes
from reference.ir.monoid import ADD
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import round_to, to_float64
from reference.numerics.unrounded import (
    UnroundedNumbers,
    rounded_sum,
    unrounded_number,
    unrounded_product,
)
from reference.unspecified.reduction import Reduction, decompose_reduction

TAKEN_APART = "sum of products taken apart"

FEW = 64
"""Largest number of elements that are added sequentially; longer sums have another order."""


def contracted_sums(
    shown: ObservedProgram, operation: Operation, *, label: str = CONTRACTED
) -> Predictions:
    """Yield sums and differences of two numbers, one of them an unrounded value of a class."""
    for flushes in (False, True):
        model = UnroundedTerms(shown.program, shown.values, flushes, label)
        yield from _predict_two_terms(model, as_term(operation))
        for other in model.rewritten_terms(operation, is_sum_of_two):
            # the sum is of the class already, and its products may be the program's
            contracting = replace(model, label=CONTRACTED)
            yield from _predict_two_terms(contracting, other)


def _predict_two_terms(model: UnroundedTerms, term: Term) -> Predictions:
    terms = term.operands
    given = [model.number_of(one) for one in terms]
    if given[0] is None or given[1] is None:
        return
    of = element_type_of(given[0][0])
    exact = [UnroundedTerm(unrounded_number(array), error) for array, error in filter(None, given)]
    for number, wide in model.unrounded_operands(*terms):
        one, other = (wide, exact[1]) if number == 0 else (exact[0], wide)
        if SIGNS[term.op] < 0:
            other = replace(other, value=-other.value)
        yield model.rounded_sum(one, other, of)


def unrounded_element_sums(
    shown: ObservedProgram, operation: Operation, *, label: str = CONTRACTED
) -> Predictions:
    """Yield sums of many elements, where a compiler adds the elements before they are rounded."""
    parts = _sums(shown, operation)
    if parts is None or not element_type_of(parts.values[0]).is_float:
        return
    for flushes in (False, True):
        model = UnroundedTerms(shown.program, shown.values, flushes, label)
        for _, wide in model.unrounded_operands(operation.operands[0]):
            yield from _one_by_one(model, parts, wide.value)
            if wide.label != CONTRACTED:
                yield _sum_in_any_order(parts, parts.inits[0], (wide.value,), wide.error)


def decomposed_sums(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield sums of many elements that are sums of two products, all added separately."""
    parts = _sums(shown, operation)
    if parts is None:
        return
    value, init = operation.operands[0], parts.inits[0]
    for flushes in (False, True):
        model = UnroundedTerms(shown.program, shown.values, flushes)
        for terms in model.products(value):
            yield _sum_in_any_order(parts, init, terms)
        if (factors := model.complex_factors(value)) is not None:
            yield _sum_complex_in_any_order(parts, init, *factors)


def _sums(shown: ObservedProgram, operation: Operation) -> Reduction | None:
    """Return the parts of a reduction that adds in its operand's type; None for any other
    operation.
    """
    given = shown.known_values(operation.operands)
    if given is None or len(given) != 2:
        return None
    parts = decompose_reduction(operation, given)
    same = parts.values[0].dtype == given[0].dtype
    return parts if same and parts.monoid(0) is ADD else None


def _one_by_one(model: UnroundedTerms, parts: Reduction, wide: UnroundedNumbers) -> Predictions:
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
    parts: Reduction,
    init: Array,
    terms: Sequence[UnroundedNumbers],
    uncertainty: Array | float = 0.0,
) -> ValuePrediction:
    """Return the sums of all terms of all elements, with their rounding error in any order.

    `uncertainty` is the possible error of the terms themselves.
    """
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
    if np.any(uncertainty):
        each = np.broadcast_to(uncertainty, terms[0].high.shape).astype(np.longdouble)
        error = error + leaves.fold(np.add, each, np.zeros_like(start), 0)
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

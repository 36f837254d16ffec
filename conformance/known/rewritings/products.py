"""Sums of products that XLA computes by other operations.

XLA computes a product with a vector as products and their sum, and the product with a converted i1
value as a selection between the other factor and 0. So 0 * inf and 0 * NaN are 0.

Its algebraic simplifier splits a product that contracts a concatenated dimension, if the other
operand is a constant, and adds the products with the parts. Each is rounded to the result's type,
and so is each sum: a part may overflow where the whole sum does not. A library for GPUs adds a
product to the sum before it, and rounds once.

Source: jaxlib 0.12.0.1, measured for an A100; pass `algsimp` of jaxlib 0.10.2 and 0.12.0.1 and of
libtpu 0.0.42 and 0.0.50, measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import accumulate, islice, permutations

import numpy as np

from conformance.known.rewritings.values import (
    ObservedProgram,
    Predictions,
    ValuePrediction,
    is_truth_value,
)
from conformance.tolerance.bounds.contraction import CONTRACTED, dimensions_of
from conformance.transforms.retype import element_of, retype
from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.program import Operation
from reference.ir.types import Array, element_type, element_type_of
from reference.numerics import arithmetic
from reference.numerics.rounding import round_to, to_float64

IN_PARTS = "products with parts added"

_MOST_ORDERS = 24
"""Number of orders of the parts that are tried: all of four parts."""


def masked_sums(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield a sum of products with one operand as a mask that selects elements of the other."""
    operands = shown.known_values(operation.operands)
    if operands is None:
        return
    for masked, number in ((0, 1), (1, 0)):
        if is_truth_value(shown, operation.operands[masked]):
            found = _masked_sum(operation, operands, number)
            if found is not None:
                yield found


def _masked_sum(
    operation: Operation, operands: tuple[Array, ...], number: int
) -> ValuePrediction | None:
    """Return the sums, with operand `number` selected by the other; None if it is finite.

    Their error is what the rule of contractions permits for the finite numbers.
    """
    (result,) = operation.results
    of, to = element_of(operation.operands[number]), element_of(result)
    numbers = to_float64(operands[number]) if of is not None and of.is_float else None
    if of is None or to is None or numbers is None or not to.is_float or np.isfinite(numbers).all():
        return None

    def with_other(other: Array) -> tuple[Array, ...]:
        return tuple(other if n == number else one for n, one in enumerate(operands))

    def contract(other: Array) -> Array:
        return to_float64(apply(operation, with_other(other))[0])

    finite = round_to(np.where(np.isfinite(numbers), numbers, 0.0), of)
    try:
        total = contract(finite)
        nan, low, high = (
            contract(round_to(mask.astype(np.float64), of)) > 0
            for mask in (np.isnan(numbers), numbers == -np.inf, numbers == np.inf)
        )
    except EvaluationError:
        return None
    assert CONTRACTED.bound is not None
    (error,) = CONTRACTED.bound(operation, with_other(finite), (round_to(total, to),))
    total = np.where(low, -np.inf, np.where(high, np.inf, total))
    predicted = round_to(np.where(nan | (low & high), np.nan, total), to)
    return ValuePrediction(predicted, np.zeros(predicted.shape) if error is None else error)


def split_contractions(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield the sum of the products with each part of a concatenated operand.

    First all products are rounded, then only the first of each order.
    """
    for side in (0, 1):
        found = _parts(shown, operation, side)
        if found is None:
            continue
        try:
            products = [apply(operation, one)[0] for one in found]
            wide = [*_unrounded_products(operation, found)]
        except EvaluationError:
            continue
        yield ValuePrediction(reduce(arithmetic.add, products))
        for first, *rest in islice(permutations(range(len(wide))), _MOST_ORDERS if wide else 0):
            yield ValuePrediction(_accumulated(products[first], [wide[n] for n in rest]))


def _unrounded_products(
    operation: Operation, pairs: Sequence[tuple[Array, Array]]
) -> Iterator[Array]:
    """Yield the products in f64, none if they are complex or integers."""
    types = {element_of(one) for one in (*operation.operands, *operation.results)}
    if not all(one is not None and one.is_float for one in types):
        return
    wide = retype(operation, {one: element_type("f64") for one in types if one is not None})
    for pair in pairs:
        yield apply(wide, list(map(to_float64, pair)))[0]


def _accumulated(total: Array, products: Sequence[Array]) -> Array:
    """Return a number with products added one by one, each sum rounded once."""
    of = element_type_of(total)
    with np.errstate(all="ignore"):
        for one in products:
            total = round_to(to_float64(total) + one, of)
    return total


def _parts(
    shown: ObservedProgram, operation: Operation, side: int
) -> list[tuple[Array, Array]] | None:
    """Return the operands of each product, with operand `side` taken apart.

    None if it is no concatenation along a contracting dimension, or the other is no constant.
    """
    maker = shown.maker(operation.operands[side])
    other = shown.constant(operation.operands[1 - side])
    if maker is None or maker.name != "concatenate" or other is None:
        return None
    pieces = shown.known_values(maker.operands)
    if pieces is None:
        return None
    of = dimensions_of(operation, pieces[0] if side == 0 else other)
    mine, others = of.lhs_contracting, of.rhs_contracting
    if side == 1:
        mine, others = others, mine
    dimension = maker.attribute("dimension")
    if not isinstance(dimension, int) or dimension not in mine:
        return None
    ends = list(accumulate(one.shape[dimension] for one in pieces))[:-1]
    along = others[mine.index(dimension)]
    rest = np.split(other, ends, axis=along)
    pairs = zip(pieces, rest, strict=True)
    return [(one, two) if side == 0 else (two, one) for one, two in pairs]

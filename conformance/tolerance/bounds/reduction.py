"""Tolerance rules of the ops of reference/ops/folds/reduction.py.

Extrema, bits, integers and booleans are the same in any order. Sums and products may be folded in
any order, so only their rounding errors are bounded; exact data has none. The result of any other
body is unspecified where two orders differ; if they differ only by rounding, what lies beyond them
is wrong. Where no tried orders differ, another order may still round differently, so the bound is
one rounding for each rounding operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from conformance.tolerance.bounds.underflow import flush_loss
from conformance.tolerance.rule import Bound, Rule
from conformance.transforms.values import nested_operations
from reference.ir.errors import EvaluationError
from reference.ir.monoid import ADD, MULTIPLY, Monoid
from reference.ir.notation import is_promotable
from reference.ir.op import Rounding
from reference.ir.program import Operation, Region, TensorType
from reference.ir.types import Array, element_type_of
from reference.numerics import accumulation
from reference.numerics.monoids import all_negative_zeros
from reference.numerics.rounding import to_float64
from reference.numerics.zeros import is_negative_zero, is_zero
from reference.ops.table import OPS
from reference.unspecified.reduction import (
    ORDER,
    Reduction,
    decompose_reduction,
    range_of_trees,
)
from reference.unspecified.table import unspecified_mask

NO_ORDER = "no possible order"
"""The class of results that no permitted order gives."""

OF_A_FUNCTION = 32
"""Error of a function, in units of u, that counts as its rounding: the largest budget, 16 ulp."""

SAME_UP_TO_ROUNDING = 4
"""Width of the range of the trees tried, in rounding errors of all applications of a body, up to
which the body counts as associative."""

_REAL: dict[Monoid, Callable[..., Array]] = {
    ADD: accumulation.sum_bound,
    MULTIPLY: accumulation.product_bound,
}
_COMPLEX: dict[Monoid, Callable[..., Array]] = {
    ADD: accumulation.complex_sum_bound,
    MULTIPLY: accumulation.complex_product_bound,
}


def reduction_bound(
    operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
) -> tuple[Array | None, ...]:
    """Return the largest permitted errors of each result of a reduction; None if it is data."""
    parts = decompose_reduction(operation, operands)
    return tuple(_bound(parts, index, result) for index, result in enumerate(expected))


def _bound(parts: Reduction, number: int, expected: Array) -> Array | None:
    element_type = element_type_of(expected)
    if not (element_type.is_float or element_type.is_complex):
        return None
    monoid = parts.monoid(number)
    known = None if monoid is None else (_COMPLEX if element_type.is_complex else _REAL).get(monoid)
    if known is not None:
        return known(parts.values[number], parts.inits[number], parts.leaves, expected)
    if monoid is not None:
        return None
    roundings = count_rounding_operations(parts.body.region)[number]
    if not roundings:
        return None
    magnitude = np.abs(
        expected.astype(np.complex128) if element_type.is_complex else to_float64(expected)
    )
    u = accumulation.unit_roundoff(element_type)
    return roundings * (parts.leaves.counts + 1) * u * magnitude


def exclude_beyond_orders(
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    actual: tuple[Array, ...],
) -> tuple[Sequence[tuple[str, Array]], ...]:
    """Mark elements of folds with other bodies that no order gives, where orders differ only by
    rounding (see `permitted_ranges`).
    """
    ranges = permitted_ranges(operation, operands)
    found: list[Sequence[tuple[str, Array]]] = []
    for index, (ends, want, got) in enumerate(zip(ranges, expected, actual, strict=True)):
        if ends is None:
            found.append(())
            continue
        wide = to_float64(got)
        beyond = ~((wide >= ends[0]) & (wide <= ends[1])) & (ends[0] > -np.inf)
        if beyond.any():
            beyond &= ~unspecified_mask(operation, operands, want, index, apart_from=ORDER)
        found.append(((NO_ORDER, beyond),))
    return tuple(found)


def permitted_ranges(
    operation: Operation, operands: tuple[Array, ...]
) -> tuple[tuple[Array, Array] | None, ...]:
    """Return the range of each result of a fold whose body is no monoid: float64.

    Where the trees tried differ by no more than `SAME_UP_TO_ROUNDING` rounding errors of all
    applications of the body, the body counts as associative up to rounding: results are in their
    range, widened by its width and by these errors. Elsewhere the range is infinite. None for
    results that are no real numbers or not rounded.
    """
    parts = decompose_reduction(operation, operands)
    found: list[tuple[Array, Array] | None] = []
    for index, roundings in enumerate(weigh_rounding_operations(parts.body.region)):
        element_type = element_type_of(parts.values[index])
        if parts.monoid(index) is not None or not roundings or not element_type.is_float:
            found.append(None)
            continue
        try:
            low, high, size = range_of_trees(parts, index)
        except EvaluationError:
            found.append(None)
            continue
        error = (
            roundings * (parts.leaves.counts + 1) * accumulation.unit_roundoff(element_type) * size
        )
        found.append(_widen(low, high, error))
    return tuple(found)


def _widen(low: Array, high: Array, error: Array) -> tuple[Array, Array]:
    with np.errstate(all="ignore"):
        width = high - low
        is_associative = np.isfinite(width) & (width <= SAME_UP_TO_ROUNDING * error)
        reach = np.where(is_associative, width + error, np.inf)
    return np.nan_to_num(low) - reach, np.nan_to_num(high) + reach


def reduction_flush_loss(
    operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
) -> tuple[Array | None, ...]:
    """Return the largest errors of sums if subnormal elements and partial sums are flushed.

    None for other results, and for types whose subnormal numbers no hardware flushes.
    """
    parts = decompose_reduction(operation, operands)
    return tuple(
        flush_loss(parts.values[index], parts.inits[index], parts.leaves)
        if parts.monoid(index) is ADD
        else None
        for index, _ in enumerate(expected)
    )


def count_rounding_operations(region: Region) -> tuple[int, ...]:
    """Count, for each result of a body, the rounding operations that it depends on."""
    return tuple(map(len, _rounding_operations(region)))


def weigh_rounding_operations(region: Region) -> tuple[int, ...]:
    """Return, for each result of a body, a bound on the error of one application in units of u: one
    for each correct rounding, `OF_A_FUNCTION` for each function.
    """
    return tuple(sum(map(_weight, operation)) for operation in _rounding_operations(region))


def _weight(operation: Operation) -> int:
    record = OPS.get(operation.name)
    is_function = record is not None and record.rounding is Rounding.APPROXIMATES
    return OF_A_FUNCTION if is_function else 1


@lru_cache(maxsize=1024)
def _rounding_operations(region: Region) -> tuple[tuple[Operation, ...], ...]:
    """Return, for each result of a body, the rounding operations that it depends on.

    A result is an argument of the body in the next iteration. So all results that depend on it
    share its dependencies.
    """
    made = {value.name: o for o in region.operations for value in o.results}
    results = region.operations[-1].operands
    places = {value.name: n % len(results) for n, value in enumerate(region.arguments)}
    found: list[tuple[Operation, ...]] = []
    for result in results:
        seen: set[str] = set()
        left = [result.name]
        while left:
            name = left.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in places:
                left.append(results[places[name]].name)
            elif name in made:
                left += [value.name for value in made[name].operands]
                left += [
                    value.name
                    for operation in nested_operations(made[name])
                    for value in operation.operands
                ]
        reached = {id(made[name]): made[name] for name in seen if name in made}
        every = (each for one in reached.values() for each in (one, *nested_operations(one)))
        found.append(tuple(filter(may_round, every)))
    return tuple(found)


def may_round(operation: Operation) -> bool:
    """Return whether the operation may have rounding errors."""
    types = [v.type for v in operation.results if isinstance(v.type, TensorType)]
    if operation.name == "convert":
        of = operation.operands[0].type
        return not (isinstance(of, TensorType) and all(
            is_promotable(of.element_type, to.element_type) for to in types
        ))  # fmt: skip
    inexact = any(not (of.stored.is_integer or of.stored.is_boolean) for of in types)
    record = OPS.get(operation.name)
    exact = record is not None and record.rounding in (Rounding.MOVES, Rounding.EXACT)
    return inexact and not exact


def permit_reduction_parts(
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    actual: tuple[Array, ...],
) -> tuple[Array | None, ...]:
    """Mark complex elements with one infinite or NaN part whose other part is in bounds."""
    return permit_parts_in_bounds(reduction_bound, operation, operands, expected, actual)


def permit_parts_in_bounds(
    bound: Bound,
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    actual: tuple[Array, ...],
) -> tuple[Array | None, ...]:
    """Mark, in each result, complex elements with one part in bounds and the other not finite.

    None for real results, whose bound is not evaluated, and for data.
    """
    if not any(element_type_of(x).is_complex for x in expected):
        return (None,) * len(expected)
    bounds = bound(operation, operands, expected)
    return tuple(
        None
        if most is None or not element_type_of(want).is_complex
        else _finite_part_in_bounds(want, got, most)
        for most, want, got in zip(bounds, expected, actual, strict=True)
    )


def _finite_part_in_bounds(expected: Array, actual: Array, bound: Array) -> Array:
    right = np.ones(expected.shape, np.bool_)
    for part in (np.real, np.imag):
        want, got = part(expected).astype(np.float64), part(actual).astype(np.float64)
        alike = (want == got) | (np.isnan(want) & np.isnan(got))
        right &= alike | (np.abs(want - got) <= np.nan_to_num(bound, nan=0.0))
    return right & ~np.isfinite(expected)


def either_zero(
    operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
) -> tuple[Array | None, ...]:
    """Mark the zeros of the results that may have either sign.

    A sum whose elements are all -0 (reference/numerics/zeros.py) may have either sign, as the init
    value +0 may be omitted. A sum of no elements is the init value. Padding of windows is not
    omitted: it consists of init values, but among the elements. The sign of a product of real
    numbers is determined. The signs of zero parts of products of complex numbers are unspecified,
    and the signs for other bodies that round.
    """
    if not any(is_zero(result).any() for result in expected):
        return (None,) * len(expected)
    parts = decompose_reduction(operation, operands)
    return tuple(_either_zero(parts, index, result) for index, result in enumerate(expected))


def _either_zero(parts: Reduction, number: int, expected: Array) -> Array | None:
    element_type, monoid = element_type_of(expected), parts.monoid(number)
    if not (element_type.is_float or element_type.is_complex):
        return None
    some = parts.leaves.counts > 0
    zero = is_zero(expected) & (some[..., None] if element_type.is_complex else some)
    if monoid is ADD:
        init = parts.inits[number]
        negative = all_negative_zeros(parts.values[number], init, parts.leaves)
        return zero & negative & is_zero(init) & ~is_negative_zero(init)
    rounds = element_type.is_complex if monoid is MULTIPLY else monoid is None
    return zero if rounds and count_rounding_operations(parts.body.region)[number] else None


_TEXT = (
    "in any order: sums within (n - 1) u sum|x|, or what rounding errors of many elements are "
    "likely to add up to, and the reference's own rounding, products within |product| "
    "((1 + u)^n - 1), u of the body's type, complex numbers by the modulus; no error for "
    "exact data; extrema, bits and integers bit for bit; other bodies within one rounding per "
    "operation and element where all orders tried agree, within the range of these orders, widened "
    "by its width and all rounding errors, where they differ by no more than rounding"
)
_SOURCE = (
    "Higham 4.2; Jeannerod and Rump 2013; Higham and Mary 2019; Brent, Percival and Zimmermann "
    "2007; TOSA REDUCE"
)

_RULE_PARTS: dict[str, Any] = {
    "bound": reduction_bound,
    "permits": permit_reduction_parts,
    "excludes": exclude_beyond_orders,
    "either_zero": either_zero,
    "flush_loss": reduction_flush_loss,
}

REDUCED = Rule("reduction", _TEXT, _SOURCE, **_RULE_PARTS)
WINDOWED = Rule("windowed reduction", "each window: " + _TEXT, _SOURCE, **_RULE_PARTS)
SCATTERED = Rule("scatter", "each place: " + _TEXT, _SOURCE, **_RULE_PARTS)

"""Sets of sums: folds that increase with each element, and sums of products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from conformance.catalog import rule_of
from conformance.judging.sets.facts import (
    Context,
    Sets,
    anything,
    ends_of,
    everything_like,
    may_overflow,
    step,
    stored,
)
from conformance.judging.sets.value_set import ValueSet, is_nan
from conformance.tolerance.bounds.products import default_precision
from conformance.transforms.retype import retype
from reference.interpreter.evaluate import apply
from reference.ir.monoid import ADD, Monoid
from reference.ir.op import Rounding
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of
from reference.numerics.rounding import round_to, to_float64
from reference.numerics.schedules import LIKELY, growth_of_sum
from reference.ops.folds.reduction import FOLDS
from reference.ops.table import OPS
from reference.unspecified.table import unspecified_mask

_F64 = ELEMENT_TYPES["f64"]


def sets_at_both_ends(
    context: Context, operation: Operation, operands: Sets
) -> tuple[ValueSet, ...]:
    """Return the results of an operation that increases with each element of its operands.

    Its indices must be points. Rounding keeps the order of numbers, so that sums in one order
    increase, too: none is less than the least sum of the least elements.
    """
    joined = [operand.hull() for operand in operands]
    if any(not one.is_point and not _is_number(one) for one in joined):
        return anything(operation)
    corners = [[one.intervals[0][end] for one in joined] for end in (0, 1)]
    made = [ends_of(context, operation, corner) for corner in corners]
    may_be_nan = any(bool(operand.nan.any()) for operand in operands) or _may_cancel_infinities(
        joined
    )
    found: list[ValueSet] = []
    for number in range(len(operation.results)):
        low, high = (results[number] for results, _ in made)
        least, most = made[0][1][number][0], made[1][1][number][1]
        nan = is_nan(low)
        open_ = (is_nan(high) != nan) | may_overflow(least, most, nan)
        open_ = open_ | unspecified_mask(operation, corners[0], low, number)
        one = ValueSet(((least, most),), nan | may_be_nan)
        found.append(one.where(open_, everything_like(operation, number, one.shape)))
    return tuple(found)


def _may_cancel_infinities(operands: Sets) -> bool:
    """Return whether elements may be infinities of both signs."""
    ends = [
        end for operand in operands if operand.element_type.is_float for end in operand.intervals[0]
    ]
    return all(any(bool((to_float64(end) == sign * np.inf).any()) for end in ends)
               for sign in (-1, 1))  # fmt: skip


def set_of_products(context: Context, operation: Operation, operands: Sets) -> ValueSet:
    """Return sums of products: by the middles and the half widths of the factors."""
    element_type = operands[0].element_type
    if not all(operand.element_type.is_float for operand in operands):
        return anything(operation)[0]
    wide = retype(operation, {operand.element_type: _F64 for operand in operands})
    wide = retype(wide, {stored(operation): _F64})
    ends = [tuple(map(to_float64, operand.hull().intervals[0])) for operand in operands]
    middles = [(low + high) / 2 for low, high in ends]
    radii = [
        np.maximum(high - middle, middle - low)
        for (low, high), middle in zip(ends, middles, strict=True)
    ]
    sizes = [np.maximum(np.abs(low), np.abs(high)) for low, high in ends]
    (middle,) = apply(wide, middles)
    (first,) = apply(wide, [radii[0], sizes[1]])
    (second,) = apply(wide, [np.abs(middles[0]), radii[1]])
    rule = rule_of(operation)
    bound_of = None if rule is None else rule.hardware_rule(context.platform).bound
    if bound_of is None:
        return anything(operation)[0]
    largest = tuple(round_to(size, element_type) for size in sizes)
    expected = apply(operation, largest)
    (bound,) = bound_of(operation, largest, expected)
    result = stored(operation)
    (total,) = apply(wide, sizes)
    has_windows = operation.attribute("feature_group_count") is not None
    count = sizes[1].size if has_windows else _contracted(sizes, total)
    factor = LIKELY if default_precision(context.platform).rounds_to_nearest else np.inf
    own = growth_of_sum(count + 1, 2.0**-result.float_format.precision, factor) * total
    error = first + second + np.maximum(own, 0.0 if bound is None else bound)
    low, high = (
        step(round_to(np.asarray(middle + way * error), result), way) for way in (-1.0, 1.0)
    )
    nan = is_nan(low) | is_nan(high) | any(bool(operand.nan.any()) for operand in operands)
    made = ValueSet(((low, high),), np.broadcast_to(nan, low.shape))
    return made.where(is_nan(low) | is_nan(high), everything_like(operation, 0, made.shape))


def body_increases(operation: Operation) -> bool:
    """Return whether a fold's body is one op that increases with each argument, or returns one."""
    if len(operation.regions) != 1 or len(operation.results) != 1:
        return False
    *body, end = operation.regions[0].operations
    arguments = operation.regions[0].arguments
    if not body:
        return all(value in arguments for value in end.operands)
    (first, *more) = body
    return (
        not more
        and _grows(monoid_of(first))
        and {value.name for value in first.operands} == {value.name for value in arguments}
        and end.operands == first.results
        and not stored(operation).is_integer
    )


def chosen_operands(operation: Operation) -> list[list[int]] | None:
    """Return, for each result of a sort or a fold, the operands whose elements it has; None for
    other operations, and for folds that compute numbers.
    """
    count = len(operation.results)
    if operation.name == "sort":
        return [[number] for number in range(count)]
    if operation.name not in FOLDS or len(operation.regions) != 1:
        return None
    (region,) = operation.regions
    if len(region.arguments) != 2 * count or len(operation.operands) != 2 * count:
        return None
    sources = {argument.name: {index} for index, argument in enumerate(region.arguments)}
    for each in region.operations[:-1]:
        record = OPS.get(each.name)
        if record is None or len(each.results) != 1:
            return None
        every = record.carries is None or record.monotonic  # as a maximum has an operand's elements
        carries = range(len(each.operands)) if every else record.carries or ()
        if record.rounding is Rounding.MOVES and record.lifts and carries:
            found = set[int]().union(*(sources.get(each.operands[n].name, {-1}) for n in carries))
            sources[each.results[0].name] = found
    ends = region.operations[-1].operands
    chosen = [sorted(sources.get(end.name, {-1})) for end in ends]
    return chosen if all(-1 not in one for one in chosen) else None


def sorts_by_value(operation: Operation) -> bool:
    """Return whether a sort of one operand compares its elements, by LT or GT."""
    *body, end = operation.regions[0].operations
    if len(body) != 1 or end.operands != body[0].results:
        return False
    is_total = body[0].attribute("compare_type") == "TOTALORDER"
    return not is_total and body[0].attribute("comparison_direction") in ("LT", "GT")


def _is_number(one: ValueSet) -> bool:
    return one.element_type.is_float or one.element_type.is_complex


def magnitude(one: ValueSet) -> Array:
    """Return the largest magnitudes of the numbers of a set with one interval, as float64."""
    low, high = one.intervals[0]
    if one.element_type.is_complex:
        return np.abs(_larger(low, high)).astype(np.float64)
    return np.maximum(np.abs(to_float64(low)), np.abs(to_float64(high)))


def _contracted(factors: Sequence[Array], result: Array) -> float:
    """Return the number of products in each element of a `dot_general`, or a larger number."""
    lhs, rhs = (max(factor.size, 1) for factor in factors)
    return min(lhs, rhs, (lhs * rhs / max(result.size, 1)))


def _larger(low: Array, high: Array) -> Array:
    """Return the end of larger magnitude of each interval, or of each part of it."""
    if element_type_of(low).is_complex:
        found = np.empty_like(low)
        found.real, found.imag = (_larger(part(low), part(high)) for part in (np.real, np.imag))
        return found
    is_high = np.abs(to_float64(high)) > np.abs(to_float64(low))
    return np.where(is_high, high, low).astype(low.dtype)


def monoid_of(operation: Operation) -> Monoid | None:
    """Return the monoid that an op's record states, or None."""
    record = OPS.get(operation.name)
    return None if record is None else record.monoid


def _grows(monoid: Monoid | None) -> bool:
    """Return whether folds with a monoid grow with each element."""
    return monoid is not None and (monoid is ADD or monoid.idempotent)

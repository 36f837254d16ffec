"""Sets of unspecified values: results of any order of updates or elements, bits of any NaN."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from conformance.judging.sets.facts import (
    Context,
    Sets,
    anything,
    everything_like,
    step,
    stored,
)
from conformance.judging.sets.value_set import Interval, ValueSet, is_nan, union
from conformance.tolerance.bounds.reduction import permitted_ranges
from reference.interpreter.evaluate import body_of
from reference.ir.program import Operation
from reference.ir.types import Array, to_bits
from reference.numerics.rounding import round_to, to_float64
from reference.ops.indexed.scatter import overwriting_updates
from reference.ops.indexed.update_orders import (
    MAX_ORDERED_UPDATES,
    Scattering,
    decompose_scatter,
)
from reference.unspecified.reduction import ORDER
from reference.unspecified.table import unspecified_elements

_ORDER = "order of the updates"

_MOST_UPDATES = 16
"""Largest number of updates of an element for which each outcome is an alternative."""


def sets_of_update_orders(
    operation: Operation, operands: Sequence[Array], results: Sequence[Array]
) -> list[ValueSet] | None:
    """Return the results of a scatter in any order of the updates.

    None if other elements are unspecified. Sums and products are rounded, and have bounds.
    """
    open_ = {
        label
        for index, result in enumerate(results)
        for label, _ in unspecified_elements(operation, operands, result, index)
    }
    if open_ != {_ORDER}:
        return None
    parts = decompose_scatter(operation, operands, body_of(operation.regions[0]))
    outcomes = _outcomes(parts)
    if parts.is_sum_or_product or not outcomes:
        return None
    found: list[ValueSet] = []
    for number in range(len(results)):
        arrays = [outcome[number].reshape(parts.shape) for outcome in outcomes]
        nan = np.any([is_nan(array) for array in arrays], axis=0)
        found.append(union([(array, array) for array in arrays], nan))
    return found


def sets_of_trees(
    operation: Operation, operands: Sequence[Array], results: Sequence[Array]
) -> list[ValueSet] | None:
    """Return the results of a fold in any order, where orders differ only by rounding.

    None if other elements are unspecified, and for folds that have no ranges.
    """
    found: list[ValueSet] = []
    for index, ends in enumerate(permitted_ranges(operation, tuple(operands))):
        open_ = unspecified_elements(operation, operands, results[index], index)
        if ends is None or {label for label, _ in open_} != {ORDER}:
            return None
        element_type, is_known = stored(operation), np.isfinite(ends[0])
        low, high = (
            step(round_to(np.where(is_known, end, 0.0), element_type), way)
            for end, way in zip(ends, (-1.0, 1.0), strict=True)
        )
        made = ValueSet(((low, high),), np.zeros(low.shape, np.bool_))
        found.append(made.where(~is_known, everything_like(operation, index, low.shape)))
    return found


def _outcomes(parts: Scattering) -> list[tuple[Array, ...]]:
    """Return flat results that contain each outcome of each element; none if there are too many."""
    usual, groups = parts.results(), parts.groups
    chosen = overwriting_updates(parts.body.region)
    if groups.max_updates > (MAX_ORDERED_UPDATES if chosen is None else _MOST_UPDATES):
        return []
    outcomes = [usual]
    for targets, values in _changed_elements(parts, chosen):
        changed = tuple(result.copy() for result in usual)
        for result, replacement in zip(changed, values, strict=True):
            result[targets] = replacement
        outcomes.append(changed)
    return outcomes


def _changed_elements(
    parts: Scattering, overwriting: tuple[int, ...] | None
) -> Iterator[tuple[Array, tuple[Array, ...]]]:
    """Yield some elements and their results in one order of their updates."""
    groups = parts.groups
    if overwriting is None:
        for count in range(2, groups.max_updates + 1):
            yield from parts.outcomes(count)
        return
    for rank in range(groups.max_updates):
        last = groups.rank == rank
        order = groups.order[last]
        yield groups.targets[last], tuple(parts.updates[number][order] for number in overwriting)


def set_of_bits(_: Context, operation: Operation, operands: Sets) -> ValueSet:
    """Return the integers with the bits of numbers: of both signs of zero, of any NaN."""
    (operand,) = operands
    element_type, to = operand.element_type, stored(operation)
    has_usual_bits = element_type.is_float and element_type.float_format.has_infinity
    if not has_usual_bits or not to.is_integer or to.bits != element_type.bits:
        return anything(operation)[0]
    infinity = to_bits(np.full((), np.inf).astype(element_type.storage))
    sign = np.left_shift(infinity.dtype.type(1), infinity.dtype.type(element_type.bits - 1))
    found: list[tuple[Array, Interval]] = []
    for low, high in operand.intervals:
        a, b, least, most = to_float64(low), to_float64(high), to_bits(low), to_bits(high)
        positive = np.where(a > 0, least, 0), np.where(b > 0, most, 0)
        negative = np.where(b < 0, most, sign), np.where(a < 0, least, sign)
        found += [(b >= 0, positive), (a <= 0, negative)]
    for part in (infinity.dtype.type(0), sign):
        ends = (part | (infinity + 1), part | (sign - 1))
        found.append((operand.nan, ends))
    return _join_valid(found, to.storage, operand.shape)


def _join_valid(
    given: Sequence[tuple[Array, Interval]], of: np.dtype, shape: tuple[int, ...]
) -> ValueSet:
    """Return the set of intervals of bits where their masks are true."""
    low, high = np.zeros(shape, of), np.zeros(shape, of)
    typed = [
        (mask, [np.asarray(end).astype(f"u{of.itemsize}").view(of) for end in ends])
        for mask, ends in given
    ]
    for mask, ends in reversed(typed):  # any valid interval in place of those that are not
        low, high = np.where(mask, ends[0], low), np.where(mask, ends[1], high)
    intervals = [
        (np.where(mask, ends[0], low), np.where(mask, ends[1], high)) for mask, ends in typed
    ]
    return union(intervals, np.zeros(shape, np.bool_))

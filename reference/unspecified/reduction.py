"""Unspecified results of reductions.

Spec, "reduce": the body is applied along a binary tree. Its leaves are the elements, in order, with
any number of init values among them. A result is determined if all such trees agree; this file
finds the results on which they do not. For an op that is a monoid the answer is exact. For any
other body several trees are evaluated, and a result is unspecified if two trees differ.

Because init values may occur in any number, a sum with an init value of 1 is unspecified, though
all known backends add it once. So is an extremum with an init value larger than all elements: the
schedule may have no init value at all (only empty slices require it).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference.interpreter.evaluate import EvaluationError, body_of
from reference.ir.monoid import ADD, Monoid
from reference.ir.program import Operation
from reference.ir.regions import Body, components
from reference.ir.types import Array, element_type_of
from reference.numerics import accumulation, monoids
from reference.numerics.alike import equal_elements
from reference.numerics.contributions import Leaves, Slices, Windows
from reference.numerics.rounding import to_float64
from reference.ops.folds import folding
from reference.ops.folds.folding import Lanes, Rows, Schedule, init_row, tree
from reference.ops.folds.windows import (
    NOWHERE,
    Tree,
    leaves_of_scatter,
    leaves_of_windows,
    selected_index,
)
from reference.unspecified.bodies import unspecified_in_lanes
from reference.unspecified.reasons import Reason, Unspecified

_MAX_SEQUENTIAL_LEAVES = 4096
"""Maximum number of leaves folded sequentially, which calls the body once per leaf."""

ORDER = "order of the reduction, or init values"
"""The label of results for which two permitted trees differ."""

_MAX_LEAVES = 1 << 20
"""Maximum number of leaves of all results for which every position of an init value is
evaluated."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """The parts of a reduction: inputs and init values have the types of the body's arguments."""

    body: Body
    leaves: Leaves
    values: tuple[Array, ...]
    inits: tuple[Array, ...]

    def monoid(self, number: int) -> Monoid | None:
        """Return the monoid that computes this result, if `monoids.fold` supports it."""
        found = components(self.body.region)[number]
        return found if monoids.can_fold(found, element_type_of(self.values[number])) else None


def decompose_reduction(
    operation: Operation, operands: Sequence[Array], selection: Tree = tree
) -> Reduction:
    """Return the parts of a `reduce`, a `reduce_window` or a `select_and_scatter`.

    For `select_and_scatter`, `selection` is the tree that selects each window's element.
    """
    given: dict[str, Any] = dict(operation.attributes)
    body = body_of(operation.regions[-1])
    inputs, inits = operands[: len(operands) // 2], operands[len(operands) // 2 :]
    leaves: Leaves
    if operation.name == "select_and_scatter":
        operand, source, init = operands
        inputs, inits = (source,), (init,)
        windows = leaves_of_windows(operand.shape, **given)
        leaves = leaves_of_scatter(operand, body_of(operation.regions[0]), windows, selection)
    elif operation.name == "reduce_window":
        leaves = leaves_of_windows(inputs[0].shape, **given)
    else:
        leaves = Slices(inputs[0].shape, tuple(given["dimensions"]))
    types = folding.argument_elements(body.region)[: len(inputs)]
    return Reduction(
        body, leaves, folding.convert_arrays(inputs, types), folding.convert_arrays(inits, types)
    )


def differing_elements(array: Array, other: Array) -> Array:
    """Return a mask of the elements of two arrays of one type that differ; all NaNs are equal."""
    return ~equal_elements(array, other)


def _reduction(
    operation: Operation, operands: Sequence[Array], _: Array, number: int
) -> list[Unspecified]:
    """Return the unspecified elements of a reduction: see the module's docstring."""
    parts = decompose_reduction(operation, operands)
    monoid = parts.monoid(number)
    if monoid is None:
        return _tree_dependent(parts, number) + _complex_order(parts, number)
    values, init = parts.values[number], parts.inits[number]
    found = [("init value that is no identity", _init_matters(monoid, values, init, parts.leaves))]
    return found + _arithmetic(monoid, values, init, parts.leaves)


def _init_matters(monoid: Monoid, values: Array, init: Array, leaves: Leaves) -> Array:
    """Return a mask of results that depend on the number of init values; an empty slice has one.

    A sum of -0 that an init value of +0 turns into +0 is excluded: only its sign is unspecified.
    """
    none, once, twice = (monoids.fold(monoid, values, init, leaves, n) for n in range(3))
    apart = [differing_elements(one, other) for one, other in ((once, twice), (none, once))]
    if monoid is ADD:
        apart = [apart[0] & (once != twice), apart[1] & (none != once)]
    return np.where(leaves.counts == 0, *apart)


def _arithmetic(monoid: Monoid, values: Array, init: Array, leaves: Leaves) -> list[Unspecified]:
    """Return sums and products for which the order decides about overflow."""
    element_type = element_type_of(values)
    if not monoid.rounds or not (element_type.is_float or element_type.is_complex):
        return []
    if element_type.is_complex:
        open_ = (
            accumulation.is_complex_sum_unspecified
            if monoid is ADD
            else accumulation.is_complex_product_unspecified
        )
        return [("exception in complex arithmetic", open_(values, init, leaves))]
    if not element_type.float_format.has_zero and monoid is ADD:
        return [("sum in f8E8M0FNU", np.ones(leaves.shape, np.bool_))]
    open_ = accumulation.sum_may_overflow if monoid is ADD else accumulation.product_may_leave_range
    return [("overflow or underflow in some orders", open_(values, init, leaves))]


def _complex_order(parts: Reduction, number: int) -> list[Unspecified]:
    """Return extrema of complex numbers: see `_complex_extremum` of the elementwise ops."""
    values, init = parts.values[number], parts.inits[number]
    monoid = components(parts.body.region)[number]
    if monoid is None or not monoid.extremum or not element_type_of(values).is_complex:
        return []

    def is_unclear(x: Array) -> Array:
        zero = [(part(x) == 0) & np.signbit(part(x)) for part in (np.real, np.imag)]
        return np.isnan(x) | zero[0] | zero[1]

    found = parts.leaves.fold(np.logical_or, is_unclear(values), is_unclear(init), False)
    return [("order of complex numbers", found | is_unclear(init))]


# --- Other bodies --------------------------------------------------------------------------------


def _tree_dependent(parts: Reduction, number: int) -> list[Unspecified]:
    """Return masks of elements for which two permitted trees give different results."""
    try:
        first, *others = _results_by_tree(parts)
    except EvaluationError:  # the body uses outer values, which are unknown here
        return [("body that is not known", np.ones(parts.leaves.shape, np.bool_))]
    open_ = np.zeros(parts.leaves.shape, np.bool_)
    for other in others:
        open_ |= differing_elements(first[number], other[number])
    flat = open_.reshape(-1)
    for where, other in _results_by_init_position(parts, number):
        mine = np.broadcast_to(first[number].reshape(-1)[where], other.shape)
        flat[where] |= differing_elements(mine, other).any(axis=0)
    return [(ORDER, flat.reshape(open_.shape))]


def range_of_trees(parts: Reduction, number: int) -> tuple[Array, Array, Array]:
    """Return the least and the greatest real result of the trees that are tried, and the largest
    finite magnitude among the partial results of one tree: float64. Results are NaN where that of
    any tree is.

    Raises:
        EvaluationError: when the body uses values of other regions.
    """
    first, *others = (to_float64(one[number]) for one in _results_by_tree(parts))
    low, high = first.reshape(-1).copy(), first.reshape(-1).copy()
    for other in others:
        low, high = np.minimum(low, other.reshape(-1)), np.maximum(high, other.reshape(-1))
    for where, other in _results_by_init_position(parts, number):
        wide = to_float64(other)
        low[where] = np.minimum(low[where], wide.min(axis=0))
        high[where] = np.maximum(high[where], wide.max(axis=0))
    size = _largest_partial_result(parts, number)
    return low.reshape(first.shape), high.reshape(first.shape), size


def _largest_partial_result(parts: Reduction, number: int) -> Array:
    """Return the largest finite magnitude of a partial result of elements, in one tree. Those of
    init values alone do not count: they may be as large as -1e30.
    """
    count = len(parts.values)

    def lanes(*arguments: Array) -> Rows:
        left, right = arguments[: count + 2], arguments[count + 2 :]
        both = parts.body.lanes(*left[:-2], *right[:-2])
        has_element, size = left[-2] | right[-2], np.abs(to_float64(both[number]))
        mine = np.where(has_element & np.isfinite(size), size, 0.0)
        return (*both, has_element, np.maximum.reduce((left[-1], right[-1], mine)))

    given, zero = parts.values[number].shape, np.zeros(())
    values = (*parts.values, np.ones(given, np.bool_), np.zeros(given))
    inits = (*parts.inits, np.zeros((), np.bool_), zero)
    return folding.fold_by_schedule(lanes, values, inits, parts.leaves, folding.init_then_tree)[-1]


def _results_by_tree(parts: Reduction) -> Iterator[tuple[Array, ...]]:
    for schedule in SCHEDULES:
        yield folding.fold_by_schedule(
            parts.body.lanes, parts.values, parts.inits, parts.leaves, schedule
        )
    yield from results_without_padding(parts)


def _results_by_init_position(parts: Reduction, number: int) -> Iterator[tuple[Array, Array]]:
    """Yield flat indices of results, and their results with a single init value between each two
    neighbouring leaves: [leaves - 1, results].

    The leaves before and after it are folded by separate trees.
    """
    lanes = parts.body.lanes
    for where, rows in parts.leaves.groups(parts.values, parts.inits):
        if len(rows[0]) < 2 or rows[0].size > _MAX_LEAVES:
            continue
        before, behind = _prefix_folds(lanes, rows), _prefix_folds(lanes, rows, backwards=True)
        start = (np.broadcast_to(init, x[1:].shape) for init, x in
                 zip(init_row(rows, parts.inits), rows, strict=True))  # fmt: skip
        folded = lanes(*(x[:-1] for x in before), *start)
        yield where, lanes(*folded, *(x[1:] for x in behind))[number]


def _prefix_folds(lanes: Lanes, rows: Rows, *, backwards: bool = False) -> Rows:
    """Return for each leaf a fold of the leaves up to it, or, if `backwards`, from it on."""
    step = 1
    while step < len(rows[0]):
        pairs = lanes(*(x[:-step] for x in rows), *(x[step:] for x in rows))
        rows = tuple(
            np.concatenate((both, x[-step:]) if backwards else (x[:step], both))
            for x, both in zip(rows, pairs, strict=True)
        )
        step *= 2
    return rows


def results_without_padding(parts: Reduction) -> Iterator[tuple[Array, ...]]:
    """Yield the results of windows without their padding, which consists of init values.

    They agree if the body and its init values are a monoid; otherwise nothing is guaranteed.
    """
    leaves = parts.leaves
    if not isinstance(leaves, Windows):
        return
    count = len(parts.values)

    def lanes(*arguments: Array) -> Rows:
        left, right = arguments[: count + 1], arguments[count + 1 :]
        both = parts.body.lanes(*left[:-1], *right[:-1])
        alone = [np.where(left[-1], x, y) for x, y in zip(left, right, strict=True)]
        inside = left[-1] & right[-1]
        results = (np.where(inside, x, y) for x, y in zip(both, alone, strict=False))
        return (*results, left[-1] | right[-1])

    def schedule(_: Lanes, rows: Rows, inits: tuple[Array, ...]) -> Rows:
        start = init_row(rows, inits)
        *folded, valid = tree(lanes, rows)
        whole = parts.body.lanes(*start[:-1], *folded)
        return (
            *(np.where(valid, x, y) for x, y in zip(whole, start, strict=False)),
            valid,
        )

    values = (*parts.values, np.ones(leaves.given, np.bool_))
    inits = (*parts.inits, np.zeros((), np.bool_))
    yield folding.fold_by_schedule(lanes, values, inits, leaves, schedule)


def _tree_or_init(lanes: Lanes, rows: Rows, inits: tuple[Array, ...]) -> Rows:
    return tree(lanes, rows) if len(rows[0]) else init_row(rows, inits)


def _tree_then_init(lanes: Lanes, rows: Rows, inits: tuple[Array, ...]) -> Rows:
    start = init_row(rows, inits)
    return lanes(*_tree_or_init(lanes, rows, inits), *start)


def _shifted_tree(lanes: Lanes, rows: Rows, _: tuple[Array, ...]) -> Rows:
    return tree(lanes, rows, offset=1) if len(rows[0]) else init_row(rows, _)


def _interleaved_inits(lanes: Lanes, rows: Rows, inits: tuple[Array, ...]) -> Rows:
    start = init_row(rows, inits)
    if not len(rows[0]):
        return lanes(*start, *start)
    spread = tuple(np.broadcast_to(init, x.shape) for init, x in zip(inits, rows, strict=True))
    return tree(lanes, lanes(*spread, *rows))


def tiled_inits(count: int) -> Schedule:
    """Return the schedule with an init value before every `count` leaves, as tiled code may have
    it."""

    def schedule(lanes: Lanes, rows: Rows, inits: tuple[Array, ...]) -> Rows:
        start = [row[None] for row in init_row(rows, inits)]
        if not len(rows[0]):
            return init_row(rows, inits)
        starts = range(0, len(rows[0]), count)
        spread = (
            np.concatenate([part for at in starts for part in (init, x[at : at + count])])
            for init, x in zip(start, rows, strict=True)
        )
        return tree(lanes, tuple(spread))

    return schedule


def sequential_fold(lanes: Lanes, rows: Rows, inits: tuple[Array, ...]) -> Rows:
    """Fold element after element, as loops do."""
    folded = init_row(rows, inits)
    if len(rows[0]) > _MAX_SEQUENTIAL_LEAVES:
        return lanes(*folded, *tree(lanes, rows, offset=1))
    for position in range(len(rows[0])):
        folded = lanes(*folded, *(x[position] for x in rows))
    return folded


def _reverse_fold(lanes: Lanes, rows: Rows, inits: tuple[Array, ...]) -> Rows:
    folded = init_row(rows, inits)
    if len(rows[0]) > _MAX_SEQUENTIAL_LEAVES:
        return lanes(*tree(lanes, rows, offset=1), *folded)
    for position in reversed(range(len(rows[0]))):
        folded = lanes(*(x[position] for x in rows), *folded)
    return folded


SCHEDULES: tuple[Schedule, ...] = (
    folding.init_then_tree,
    _tree_or_init,
    _tree_then_init,
    _shifted_tree,
    _interleaved_inits,
    tiled_inits(4),
    tiled_inits(16),
    tiled_inits(64),
    sequential_fold,
    _reverse_fold,
)
"""Trees that are evaluated for bodies that are no monoids."""


# --- select_and_scatter --------------------------------------------------------------------------


def _selections(
    operation: Operation, operands: Sequence[Array], _: Array, __: int
) -> list[Unspecified]:
    """Return masks of windows that are empty, or whose selection depends on the tree.

    Spec, "select_and_scatter", does not specify a source element whose window has no values
    (stablehlo#731). The element that a predicate without a total order selects depends on the
    schedule, as in a reduction.
    """
    operand = operands[0]
    given: dict[str, Any] = dict(operation.attributes)
    windows = leaves_of_windows(operand.shape, **given)
    select = body_of(operation.regions[0])
    try:
        first, *others = (selected_index(operand, select, windows, one) for one in _TREES)
    except EvaluationError:
        return [("selection that is not known", np.ones(operand.shape, np.bool_))]
    open_ = np.zeros(operand.size, np.bool_)
    for other in others:
        apart = first != other
        open_[first[apart]] = open_[other[apart]] = True
    nothing = np.full(operand.shape, (first == NOWHERE).any())
    return [
        ("window of padding alone", nothing),
        ("order of the selection", open_.reshape(operand.shape)),
    ]


def _shifted_selection(lanes: Lanes, rows: Rows) -> Rows:
    return tree(lanes, rows, offset=1)


def sequential_selection(lanes: Lanes, rows: Rows) -> Rows:
    """Select among the leaves one after the other, as a loop does."""
    folded = tuple(x[0] for x in rows)
    for position in range(1, len(rows[0])):
        folded = lanes(*folded, *(x[position] for x in rows))
    return folded


def _reverse_selection(lanes: Lanes, rows: Rows) -> Rows:
    folded = tuple(x[-1] for x in rows)
    for position in reversed(range(len(rows[0]) - 1)):
        folded = lanes(*(x[position] for x in rows), *folded)
    return folded


_TREES = (tree, _shifted_selection, sequential_selection, _reverse_selection)

# --- map -----------------------------------------------------------------------------------------


def _map_computation(
    operation: Operation, operands: Sequence[Array], _: Array, __: int
) -> list[Unspecified]:
    """Return the unspecified results of the computation's operations."""
    return unspecified_in_lanes(body_of(operation.regions[0]), operands)


REASONS: dict[str, tuple[Reason, ...]] = {
    "map": (_map_computation,),
    "reduce": (_reduction,),
    "reduce_window": (_reduction,),
    "select_and_scatter": (_selections, _reduction),
}
"""The reasons by op."""

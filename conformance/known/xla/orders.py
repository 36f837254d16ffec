"""Reductions of their elements in another order than the specification's.

The leaves of a reduction's tree are in the lexicographic order of their indices. A backend that
takes the dimensions in another order gives other results where the body is not commutative, or
where a selection has ties. It may also see ties between subnormal numbers. Such results form a
class. Results of a running fold by tiles form another (tiles.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    predict_nothing,
    predict_where,
)
from conformance.known.xla.subnormals import subnormal_order
from conformance.known.xla.windows import no_source
from conformance.known.xla.windows.tiles import tiled_results
from conformance.tolerance.bounds.reduction import reduction_bound
from conformance.tolerance.ulp import bound_distances
from reference.interpreter.evaluate import EvaluationError
from reference.ir.program import Dense, Operation
from reference.ir.types import Array
from reference.numerics import monoids
from reference.ops.folds import folding
from reference.ops.folds.folding import Lanes, Rows, Schedule
from reference.ops.folds.windows import Tree
from reference.unspecified.reduction import (
    Reduction,
    decompose_reduction,
    differing_elements,
    sequential_fold,
    sequential_selection,
)
from reference.unspecified.table import unspecified_mask

LABEL = "order of the elements"
TILES = "order of the tiles"
UNPADDED = "padding left out"

_MOST = 4
"""Largest number of dimensions whose orders are all tried: 24 orders."""
_PER_DIMENSION = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")

Outcomes = Callable[[Operation, Operands], Iterator[Results]]
"""A function outcomes(operation, operands) that yields the results of each order."""


def _order_class(label: str, outcomes: Outcomes) -> Hypothesis:
    """Return the class of elements that are right for another order of a fold, where that matters.

    It does where the body is no monoid, or selects.
    """

    def errors(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        selects = operation.name == "select_and_scatter"
        if selects and not operands[1].size:
            return predict_nothing(expected)
        try:
            parts = decompose_reduction(operation, operands)
            numbers = range(len(expected))
            if not selects and all(parts.monoid(number) is not None for number in numbers):
                return predict_nothing(expected)  # the usual case, before anything is bounded
            bounds = reduction_bound(operation, operands, expected)
            wrong = [
                _wrong_elements(
                    operation, operands, number, expected[number], actual[number], bound
                )
                if selects or parts.monoid(number) is None
                else np.zeros(actual[number].shape, np.bool_)
                for number, bound in enumerate(bounds)
            ]
            if not any(mask.any() for mask in wrong):
                return predict_nothing(expected)
            return predict_where(
                *_explained_masks(wrong, outcomes(operation, operands), actual, bounds)
            )
        except EvaluationError:
            return predict_nothing(expected)

    return Hypothesis(label, errors, signs=True, refutes=True)


def _explained_masks(
    wrong: Sequence[Array],
    outcomes: Iterator[Results],
    actual: Results,
    bounds: tuple[Array | None, ...],
) -> Iterator[Array]:
    """Yield for each result the wrong elements that an order explains."""
    found = [np.zeros_like(mask) for mask in wrong]
    for results in outcomes:
        for number, (mine, got) in enumerate(zip(results, actual, strict=True)):
            found[number] |= ~_mask_of_differences(mine, got, bounds[number])
    yield from (mask & one for mask, one in zip(wrong, found, strict=True))


def _predict_any_order(operation: Operation, operands: Operands) -> Iterator[Results]:
    """Yield the results in other orders of the elements, with and without flushed comparisons.

    Comparisons are as specified, or with subnormal numbers flushed.
    """
    for one in (operation, *subnormal_order.operations(operation, operands)):
        for outcomes in (_predict_other_orders, _predict_swapped_halves):
            yield from outcomes(one, operands)


def _predict_tiles(operation: Operation, operands: Operands) -> Iterator[Results]:
    yield from tiled_results(decompose_reduction(operation, operands))


def _without_padding(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for wrong windows that are right without padding.

    The specification pads with init values, which count as elements. This shows if an init value is
    no identity. Such a window has a single init value, or the init values of a running fold by
    tiles. Or no window has an init value: then all windows are as without.
    """
    parts = decompose_reduction(operation, operands)
    bounds = reduction_bound(operation, operands, expected)
    found: list[Array] = []
    for number, (want, got, bound) in enumerate(zip(expected, actual, bounds, strict=True)):
        monoid, explained = parts.monoid(number), np.zeros(want.shape, np.bool_)
        if monoid is not None and _mask_of_differences(want, got, bound).any():
            values, init = parts.values[number], parts.inits[number]
            for inits in (0, 1):
                other = monoids.fold(monoid, values, init, parts.leaves, inits, padded=False)
                right = ~_mask_of_differences(other, got, bound)
                if inits or right[_mask_of_differences(want, other, bound)].all():
                    explained |= right
            for results in tiled_results(parts):
                explained |= ~_mask_of_differences(results[number], got, bound)
            explained &= _wrong_elements(operation, operands, number, want, got, bound)
        found.append(explained)
    return predict_where(*found)


def fold_without_padding(operation: Operation, operands: Operands) -> Results:
    """Return windows folded one element after the other, without padding and holes of dilation.

    A loop does so that applies the body to an init value and then to each element in bounds.
    """
    parts = decompose_reduction(operation, operands)
    elements = np.ones(operands[0].shape, np.bool_)
    groups = list(parts.leaves.groups((elements,), (np.zeros((), np.bool_),)))

    def fold_elements(lanes: Lanes, rows: Rows, inits: Rows) -> Rows:
        ((_, (are_elements,)),) = groups
        folded = folding.init_row(rows, inits)
        for position, mask in enumerate(are_elements):
            more = lanes(*folded, *(x[position] for x in rows))
            folded = tuple(np.where(mask, one, old) for one, old in zip(more, folded, strict=True))
        return folded

    return folding.fold_by_schedule(
        parts.body.lanes, parts.values, parts.inits, parts.leaves, fold_elements
    )


_OF_ANY_FOLD = (_order_class(LABEL, _predict_any_order), _order_class(TILES, _predict_tiles))
REDUCED = _OF_ANY_FOLD
WINDOWED = (*_OF_ANY_FOLD, Hypothesis(UNPADDED, _without_padding, signs=True, refutes=True))
SCATTERED = (no_source.SCATTERED, *_OF_ANY_FOLD)


def _wrong_elements(
    operation: Operation,
    operands: tuple[Array, ...],
    number: int,
    want: Array,
    got: Array,
    bound: Array | None,
) -> Array:
    """Return the elements of result `number` that no order permits."""
    found = _mask_of_differences(want, got, bound)
    if found.any():
        found &= ~unspecified_mask(operation, operands, want, number)
    return found


def _mask_of_differences(want: Array, got: Array, bound: Array | None) -> Array:
    """Return a mask of elements that differ by more than the bound; by anything without a bound."""
    found = differing_elements(want, got)
    if bound is not None and found.any():
        distances = bound_distances(want.reshape(-1), got.reshape(-1), bound.reshape(-1))
        found &= (distances > 1).reshape(want.shape)
    return found


def _predict_other_orders(
    operation: Operation, operands: tuple[Array, ...]
) -> Iterator[tuple[Array, ...]]:
    """Yield the results of every other order of the dimensions."""
    rank = operands[0].ndim
    given: dict[str, Any] = dict(operation.attributes)
    inside: Sequence[int] = sorted(given.get("dimensions", range(rank)))  # all, of windows
    if len(inside) > _MOST:
        return
    for order in permutations(inside):
        if list(order) == list(inside):
            continue
        places = list(range(rank))
        for place, dimension in zip(inside, order, strict=True):
            places[place] = dimension
        yield from _predict_permuted_dimensions(operation, operands, tuple(places))


def _predict_permuted_dimensions(
    operation: Operation, operands: tuple[Array, ...], order: tuple[int, ...]
) -> Iterator[tuple[Array, ...]]:
    """Yield the results if dimension i is `order[i]`, transposed back."""
    given: dict[str, Any] = dict(operation.attributes)
    for name in _PER_DIMENSION:
        if name in given:
            given[name] = tuple(given[name][d] for d in order)
    if "padding" in given:
        padding: Dense = given["padding"]
        given["padding"] = Dense.of(padding.array[list(order)], padding.type)
    moved = tuple(x.transpose(order) if x.ndim else x for x in operands)
    changed = operation.with_attributes(**given)
    back = np.argsort(order)
    for selection, schedule in (
        (folding.tree, folding.init_then_tree),
        (sequential_selection, sequential_fold),
    ):
        parts = decompose_reduction(changed, moved, selection)
        results = folding.fold_by_schedule(
            parts.body.lanes, parts.values, parts.inits, parts.leaves, schedule
        )
        if operation.name == "reduce":  # the dimensions that stay have not moved
            yield results
        else:
            yield tuple(x.transpose(back) for x in results)


def _predict_swapped_halves(
    operation: Operation, operands: tuple[Array, ...]
) -> Iterator[tuple[Array, ...]]:
    """Yield the results if the end of a window precedes its beginning.

    The window is split at each position of a dimension.
    """
    window: tuple[int, ...] = dict[str, Any](operation.attributes).get("window_dimensions", ())
    for axis, size in list(enumerate(window))[1:]:  # the first dimension is gone through first
        place = np.indices(window)[axis].reshape(-1)
        for end in range(1, size):
            order = np.argsort(place >= end, kind="stable")
            yield from _predict_rearranged_window(operation, operands, order)


def _predict_rearranged_window(
    operation: Operation, operands: tuple[Array, ...], order: Array
) -> Iterator[tuple[Array, ...]]:
    """Yield the results if position n of every window is position `order[n]`."""

    if operation.name == "select_and_scatter":
        for select in (folding.tree, sequential_selection):
            parts = decompose_reduction(operation, operands, _rearranged(select, order))
            yield folding.fold_by_schedule(
                parts.body.lanes, parts.values, parts.inits, parts.leaves, folding.init_then_tree
            )
        return
    parts = decompose_reduction(operation, operands)
    at = np.broadcast_to(order[:, None], (len(order), int(np.prod(parts.leaves.shape))))
    for schedule in (folding.init_then_tree, sequential_fold):
        yield _permute_leaves(parts, at, schedule)


def _rearranged(select: Tree, order: Array) -> Tree:
    """Return a selection from the elements in another order."""

    def selection(lanes: Lanes, rows: Rows) -> Rows:
        return select(lanes, tuple(x[order] for x in rows))

    return selection


def _permute_leaves(parts: Reduction, at: Array, schedule: Schedule) -> tuple[Array, ...]:
    """Return the results if leaf n of each is leaf `at[n]`."""

    def permute_rows(lanes: Lanes, rows: Rows, inits: Rows) -> Rows:
        return schedule(lanes, tuple(np.take_along_axis(x, at, axis=0) for x in rows), inits)

    return folding.fold_by_schedule(
        parts.body.lanes, parts.values, parts.inits, parts.leaves, permute_rows
    )

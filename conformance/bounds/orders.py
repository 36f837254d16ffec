"""Reductions that took their elements in another order than the specification's.

The leaves of a reduction's tree are in the lexicographic order of their indices. A backend that
goes through the dimensions in another order gives other results where the body is not commutative,
or where a selection has ties, which it may see between subnormal numbers, too: wrong in one way,
which has a name of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from conformance.bounds import coarse
from conformance.distance import bound_distances
from reference import folding, monoids
from reference.evaluate import EvaluationError
from reference.program import Dense, Operation, attributes
from reference.types import Array
from reference.unspecified import unspecified
from reference.unspecified.reduction import differ, one_after_the_other, one_by_one, taken_apart

LABEL = "order of the elements"
EMPTY = "source without elements"
UNPADDED = "padding left out"
_MOST = 4
"""Dimensions of which all orders are tried: 24 then."""
_PER_DIMENSION = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")

Found = Sequence[tuple[str, Array]]


def out_of_order(
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    actual: tuple[Array, ...],
    bounds: tuple[Array | None, ...],
) -> tuple[Found, ...]:
    """For each result the elements that are wrong, but right for another order of dimensions.

    `bounds` are the largest permitted errors of each result, None where it is data.
    """
    nothing: tuple[Found, ...] = ((),) * len(expected)
    if operation.name == "select_and_scatter" and not operands[1].size:
        return ([(EMPTY, differ(expected[0], actual[0]))],)  # nothing but init values is right
    try:
        parts = taken_apart(operation, operands)
        selects = operation.name == "select_and_scatter"
        wrong = [
            _wrong(operation, operands, number, expected[number], actual[number], bound)
            if selects or parts.name(number) is None
            else np.zeros(actual[number].shape, np.bool_)
            for number, bound in enumerate(bounds)
        ]
        explained = [np.zeros_like(mask) for mask in wrong]
        if not any(mask.any() for mask in wrong):
            return nothing
        for one in (operation, *coarse.operations(operation, operands)):
            for results in _in_other_orders(one, operands):
                for number, (mine, got) in enumerate(zip(results, actual, strict=True)):
                    explained[number] |= ~_apart(mine, got, bounds[number])
    except EvaluationError:
        return nothing
    return tuple([(LABEL, a & b)] for a, b in zip(wrong, explained, strict=True))


def without_padding(
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    actual: tuple[Array, ...],
    bounds: tuple[Array | None, ...],
) -> tuple[Found, ...]:
    """For each result the windows that are wrong, but right if padding took no part in them.

    The specification makes padding of init values, and elements of it: where an init value is no
    identity that shows. Where the number of init values makes a difference, the result is open.
    """
    nothing: tuple[Found, ...] = ((),) * len(expected)
    if operation.name != "reduce_window":
        return nothing
    parts = taken_apart(operation, operands)
    found: list[Found] = []
    for number, (want, got, bound) in enumerate(zip(expected, actual, bounds, strict=True)):
        name = parts.name(number)
        if name is None or not _apart(want, got, bound).any():
            found.append(())
            continue
        values, init = parts.values[number], parts.inits[number]
        other = monoids.fold(name, values, init, parts.leaves, padded=False)
        wrong = _wrong(operation, operands, number, want, got, bound)
        found.append([(UNPADDED, wrong & ~_apart(other, got, bound))])
    return tuple(found)


def _wrong(
    operation: Operation,
    operands: tuple[Array, ...],
    number: int,
    want: Array,
    got: Array,
    bound: Array | None,
) -> Array:
    """The elements of result `number` that no reading permits."""
    found = _apart(want, got, bound)
    if found.any():
        for _, mask in unspecified(operation, operands, want, number):
            found &= ~mask
    return found


def _apart(want: Array, got: Array, bound: Array | None) -> Array:
    """Where two results differ by more than is permitted."""
    found = differ(want, got)
    if bound is not None and found.any():
        distances = bound_distances(want.reshape(-1), got.reshape(-1), bound.reshape(-1))
        found &= (distances > 1).reshape(want.shape)
    return found


def _in_other_orders(
    operation: Operation, operands: tuple[Array, ...]
) -> Iterator[tuple[Array, ...]]:
    """The results when the dimensions are gone through in any other order."""
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
        yield from _permuted(operation, operands, tuple(places))


def _permuted(
    operation: Operation, operands: tuple[Array, ...], order: tuple[int, ...]
) -> Iterator[tuple[Array, ...]]:
    """The results when dimension i is what was dimension `order[i]`, put back in place."""
    given: dict[str, Any] = dict(operation.attributes)
    for name in _PER_DIMENSION:
        if name in given:
            given[name] = tuple(given[name][d] for d in order)
    if "padding" in given:
        padding: Dense = given["padding"]
        given["padding"] = Dense.of(padding.array[list(order)], padding.type)
    moved = tuple(x.transpose(order) if x.ndim else x for x in operands)
    changed = replace(operation, attributes=attributes(**given))
    back = np.argsort(order)
    for selection, schedule in (
        (folding.tree, folding.init_then_tree),
        (one_by_one, one_after_the_other),
    ):
        parts = taken_apart(changed, moved, selection)
        results = folding.scheduled(
            parts.body.lanes, parts.values, parts.inits, parts.leaves, schedule
        )
        if operation.name == "reduce":  # the dimensions that stay have not moved
            yield results
        else:
            yield tuple(x.transpose(back) for x in results)

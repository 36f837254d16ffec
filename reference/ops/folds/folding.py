"""Folds with any body: trees over the leaves of all results, and the ops that make up a body.

The specification folds by a full binary tree whose leaves are, in order, the elements and any
number of init values among them. The reference takes one init value before all elements, and then
pairs of neighbours, level by level: whole arrays at a time, in as many calls of the body as the
number of leaves has bits. If other trees give other results, the result is unspecified
(reference/unspecified/reduction.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from reference.ir.program import Region, TensorType
from reference.ir.regions import Body, argument_types, components
from reference.ir.types import Array, ElementType
from reference.numerics import monoids
from reference.numerics.contributions import Leaves
from reference.numerics.conversion import convert_to

Rows = tuple[Array, ...]
"""The leaves of each input, [number of leaves, results]."""

Lanes = Callable[..., tuple[Array, ...]]
"""A body applied in many lanes at once: `Body.lanes`."""

Schedule = Callable[[Lanes, Rows, tuple[Array, ...]], Rows]
"""A function schedule(lanes, leaves, init values): the results, [results], of one permitted
tree.
"""


def argument_elements(region: Region) -> tuple[ElementType, ...]:
    """Return the element types of a body's arguments, to which elements are converted before a
    fold.
    """
    types = [of for of in argument_types(region) if isinstance(of, TensorType)]
    return tuple(of.stored for of in types)


def convert_arrays(arrays: Sequence[Array], to: Sequence[ElementType]) -> tuple[Array, ...]:
    """Convert arrays one by one, as the specification's `to_destination_type` does."""
    pairs = zip(arrays, to, strict=True)
    return tuple(x if x.dtype == of.storage else convert_to(x, of) for x, of in pairs)


def fold(
    body: Body, inputs: Sequence[Array], init_values: Sequence[Array], leaves: Leaves
) -> tuple[Array, ...]:
    """Return the results of a reduction, each with the leaves' shape.

    Results that are known monoids are folded exactly, see monoids.py; for the others the body is
    applied along a tree.
    """
    types = argument_elements(body.region)[: len(inputs)]
    values, inits = convert_arrays(inputs, types), convert_arrays(init_values, types)
    made_by = components(body.region)
    known = [monoids.can_fold(monoid, of) for monoid, of in zip(made_by, types, strict=True)]
    trees = values  # unused if all are known monoids
    if not all(known):
        trees = fold_by_schedule(body.lanes, values, inits, leaves, init_then_tree)
    return tuple(
        monoids.fold(monoid, x, init, leaves) if monoid is not None and ok else tree
        for monoid, ok, x, init, tree in zip(made_by, known, values, inits, trees, strict=True)
    )


def fold_by_schedule(
    lanes: Lanes,
    values: tuple[Array, ...],
    inits: tuple[Array, ...],
    leaves: Leaves,
    schedule: Schedule,
) -> tuple[Array, ...]:
    """Return the results if every result's leaves are folded by one schedule."""
    size = int(np.prod(leaves.shape, dtype=np.int64))
    results = tuple(np.empty(size, x.dtype) for x in values)
    for where, rows in leaves.groups(values, inits):
        for result, folded in zip(results, schedule(lanes, rows, inits), strict=True):
            result[where] = folded
    return tuple(result.reshape(leaves.shape) for result in results)


def init_then_tree(lanes: Lanes, rows: Rows, inits: tuple[Array, ...]) -> Rows:
    """Fold one init value, then the tree of the leaves: the reference's choice."""
    start = init_row(rows, inits)
    if not len(rows[0]):
        return start
    return lanes(*start, *tree(lanes, rows))


def init_row(rows: Rows, inits: tuple[Array, ...]) -> Rows:
    """Return the init values, in every lane."""
    return tuple(np.full(x.shape[1], init) for x, init in zip(rows, inits, strict=True))


def tree(lanes: Lanes, rows: Rows, offset: int = 0) -> Rows:
    """Fold at least one leaf by pairs of neighbours until a single value is left.

    With an `offset` of 1 the first leaf of each level waits for the next level: a different tree.
    """
    while len(rows[0]) > 1:
        first = offset if len(rows[0]) > 2 else 0
        end = first + (len(rows[0]) - first) // 2 * 2
        left = [x[first:end:2] for x in rows]
        right = [x[first + 1 : end : 2] for x in rows]
        paired = lanes(*left, *right)
        if first or end < len(rows[0]):
            rows = tuple(
                np.concatenate((x[:first], pairs, x[end:]))
                for x, pairs in zip(rows, paired, strict=True)
            )
        else:
            rows = paired
    return tuple(x[0] for x in rows)

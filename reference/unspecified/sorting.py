"""What the specification leaves open of the results of this family: sorting.

Spec "sort" puts slices "in non-descending order" as the comparator has it. That takes a strict
weak ordering of the slice's elements: they fall into classes, and one comes before another just
when its class does. Where a comparator is none (less-than among numbers and NaN, say, or less or
equal among equal numbers), no order of the slice is the right one. Ties of a sort that is not
stable are not here: the rule of sort permits all their orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reference.interpreter.evaluate import EvaluationError, body_of
from reference.ir.program import Operation
from reference.ir.regions import Body
from reference.ir.types import Array
from reference.ops.sorts.sorting import keys_of, permutation
from reference.unspecified.bodies import open_in_lanes
from reference.unspecified.reasons import Open, Reason

NO_ORDER = "comparator that is no strict weak ordering"

_MOST_PAIRS = 1 << 21
"""Of slices with more pairs of elements, not all pairs are looked at."""


def open_slices(operation: Operation, operands: Sequence[Array]) -> list[Open]:
    """Reasons with masks of the slices along the dimension that is sorted, moved to the end."""
    dimension = dict[str, Any](operation.attributes).get("dimension", -1)
    rows = tuple(np.moveaxis(array, dimension, -1) for array in operands)
    shape = rows[0].shape
    try:
        body = body_of(operation.regions[0])
        if rows[0].size == 0 or shape[-1] < 2:
            return []
        order = permutation(rows, body)
        placed = tuple(np.take_along_axis(array, order, axis=-1) for array in rows)
        if keys_of(rows, body) is None:
            found = [(NO_ORDER, ~_is_ordering(placed, body))]
        else:
            found = list[Open]()
        neighbours = [array[..., part] for array in placed for part in (_LEFT, _RIGHT)]
        for label, mask in open_in_lanes(body, neighbours):
            shaped = np.broadcast_to(mask, neighbours[0].shape)
            found.append((label, np.asarray(shaped.any(axis=-1))))
    except EvaluationError:  # the comparator names values around it, which are not known here
        return [("comparator that is not known", np.ones(shape[:-1], np.bool_))]
    return found


_LEFT, _RIGHT = slice(None, -1), slice(1, None)


def _is_ordering(placed: tuple[Array, ...], body: Body) -> Array:
    """In which slices, sorted already, the comparator is a strict weak ordering.

    The classes are told by neighbours: a new one begins where a predecessor comes before its
    successor. All pairs must agree with them; of long slices, pairs at powers of two apart.
    """
    shape = placed[0].shape
    size = shape[-1]
    flat = tuple(np.ascontiguousarray(array).reshape(-1, size) for array in placed)
    rises = _before(flat, np.arange(size - 1), np.arange(1, size), body)
    classes = np.zeros((len(flat[0]), size), np.int64)
    classes[:, 1:] = np.cumsum(rises, axis=-1)
    left, right = _pairs(size, len(flat[0]))
    right_answer = classes[:, left] < classes[:, right]
    agree = _before(flat, left, right, body) == right_answer
    return agree.all(axis=-1).reshape(shape[:-1])


def _pairs(size: int, slices: int) -> tuple[Array, Array]:
    if size * size * slices <= _MOST_PAIRS:
        left, right = np.indices((size, size)).reshape(2, -1)
        return left, right
    steps = [0] + [sign << n for n in range(size.bit_length()) for sign in (1, -1)]
    left = np.tile(np.arange(size), len(steps))
    right = left + np.repeat(steps, size)
    there = (right >= 0) & (right < size)
    return left[there], right[there]


def _before(flat: tuple[Array, ...], left: Array, right: Array, body: Body) -> Array:
    pairs = ((array[:, left], array[:, right]) for array in flat)
    (answers,) = body.lanes(*(side for pair in pairs for side in pair))
    return answers


def _open(operation: Operation, operands: Sequence[Array], result: Array, _: int) -> list[Open]:
    """As at the head of this file; and slices with two NaNs that a comparison in total order must
    tell apart (IEEE-754-2019 5.10 d leaves payloads to the implementation), or with complex
    numbers that have no order."""
    dimension = dict[str, Any](operation.attributes).get("dimension", -1)
    return [
        (label, np.broadcast_to(np.expand_dims(mask, dimension), result.shape))
        for label, mask in open_slices(operation, operands)
    ]


REASONS: dict[str, tuple[Reason, ...]] = {"sort": (_open,)}
"""The reasons by op."""

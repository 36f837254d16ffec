"""Unspecified results of sorts.

Spec, "sort", puts slices "in non-descending order" of the comparator. That requires a strict weak
ordering of the slice's elements: they form classes, and an element precedes another exactly if its
class does. If a comparator is none (less-than among numbers and NaN, or less-or-equal among equal
numbers), no order of the slice is defined. Ties of an unstable sort are not included: the rule of
sort permits all their orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reference.interpreter.evaluate import EvaluationError, body_of
from reference.ir.program import Operation
from reference.ir.regions import Body
from reference.ir.types import Array
from reference.ops.sorts.sorting import keys_of, sorting_permutation
from reference.unspecified.bodies import unspecified_in_lanes
from reference.unspecified.reasons import Reason, Unspecified

NO_ORDER = "comparator that is no strict weak ordering"

_MAX_PAIRS = 1 << 21
"""Maximum number of pairs of elements in all slices for which all pairs are compared."""


def unspecified_slices(operation: Operation, operands: Sequence[Array]) -> list[Unspecified]:
    """Return reasons with masks of the slices along the sorted dimension, moved to the end."""
    dimension = dict[str, Any](operation.attributes).get("dimension", -1)
    rows = tuple(np.moveaxis(array, dimension, -1) for array in operands)
    shape = rows[0].shape
    try:
        body = body_of(operation.regions[0])
        if rows[0].size == 0 or shape[-1] < 2:
            return []
        order = sorting_permutation(rows, body)
        placed = tuple(np.take_along_axis(array, order, axis=-1) for array in rows)
        if keys_of(rows, body) is None:
            found = [(NO_ORDER, ~_is_ordering(placed, body))]
        else:
            found = list[Unspecified]()
        neighbours = [array[..., part] for array in placed for part in (_LEFT, _RIGHT)]
        for label, mask in unspecified_in_lanes(body, neighbours):
            shaped = np.broadcast_to(mask, neighbours[0].shape)
            found.append((label, np.asarray(shaped.any(axis=-1))))
    except EvaluationError:  # the comparator uses outer values, which are unknown here
        return [("comparator that is not known", np.ones(shape[:-1], np.bool_))]
    return found


_LEFT, _RIGHT = slice(None, -1), slice(1, None)


def _is_ordering(placed: tuple[Array, ...], body: Body) -> Array:
    """Return for each sorted slice whether the comparator is a strict weak ordering.

    Neighbours determine the classes: a new class begins where an element precedes its successor.
    All pairs must agree with them; in long slices, pairs at distances of powers of two.
    """
    shape = placed[0].shape
    size = shape[-1]
    flat = tuple(np.ascontiguousarray(array).reshape(-1, size) for array in placed)
    rises = _compare_pairs(flat, np.arange(size - 1), np.arange(1, size), body)
    classes = np.zeros((len(flat[0]), size), np.int64)
    classes[:, 1:] = np.cumsum(rises, axis=-1)
    left, right = _pairs(size, len(flat[0]))
    right_answer = classes[:, left] < classes[:, right]
    agree = _compare_pairs(flat, left, right, body) == right_answer
    return agree.all(axis=-1).reshape(shape[:-1])


def _pairs(size: int, slices: int) -> tuple[Array, Array]:
    if size * size * slices <= _MAX_PAIRS:
        left, right = np.indices((size, size)).reshape(2, -1)
        return left, right
    steps = [0] + [sign << n for n in range(size.bit_length()) for sign in (1, -1)]
    left = np.tile(np.arange(size), len(steps))
    right = left + np.repeat(steps, size)
    there = (right >= 0) & (right < size)
    return left[there], right[there]


def _compare_pairs(flat: tuple[Array, ...], left: Array, right: Array, body: Body) -> Array:
    pairs = ((array[:, left], array[:, right]) for array in flat)
    (answers,) = body.lanes(*(side for pair in pairs for side in pair))
    return answers


def _unordered_slices(
    operation: Operation, operands: Sequence[Array], result: Array, _: int
) -> list[Unspecified]:
    """Return the slices without a defined order: see the module's docstring.

    These include slices with two NaNs that a comparison in total order must distinguish (IEEE
    754-2019, 5.10 d, leaves payloads to the implementation), and with complex numbers that are
    unordered.
    """
    dimension = dict[str, Any](operation.attributes).get("dimension", -1)
    return [
        (label, np.broadcast_to(np.expand_dims(mask, dimension), result.shape))
        for label, mask in unspecified_slices(operation, operands)
    ]


REASONS: dict[str, tuple[Reason, ...]] = {"sort": (_unordered_slices,)}
"""The reasons by op."""

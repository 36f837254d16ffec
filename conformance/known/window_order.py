"""Elements whose values depend on the order in which the elements of a window are visited, or on
its padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reference.interpreter.evaluate import body_of
from reference.ir.program import Operation
from reference.ir.regions import Body
from reference.ir.types import Array
from reference.numerics.contributions import Windows
from reference.ops.folds import folding
from reference.ops.folds.windows import leaves_of_windows
from reference.ops.table import OPS
from reference.unspecified.reduction import (
    decompose_reduction,
    differing_elements,
    results_without_padding,
)

OPS_WITH_WINDOWS = tuple(
    name
    for name, record in OPS.items()
    if "window_dimensions" in record.attributes and record.specified
)
"""The ops whose entries may have the key `reorders`."""


def order_dependent_elements(operation: Operation, operands: Sequence[Array]) -> tuple[Array, ...]:
    """Return masks of the elements of each result that other orders of windows may change, or
    windows without their padding.

    Raises:
        EvaluationError: if a body uses values of other regions.
    """
    if len(operation.regions) > 1:  # one selects an element of each window
        attributes: dict[str, Any] = dict(operation.attributes)
        windows = leaves_of_windows(operands[0].shape, **attributes)
        return (_equal_selections(operands[0], body_of(operation.regions[0]), windows),)
    parts = decompose_reduction(operation, operands)
    given = parts.body.lanes, parts.values, parts.inits, parts.leaves
    first = folding.fold_by_schedule(*given, folding.init_then_tree)
    others = (folding.fold_by_schedule(*given, order) for order in _ORDERS)
    masks = [np.zeros(one.shape, np.bool_) for one in first]
    for results in (*others, *results_without_padding(parts)):
        for mask, one, other in zip(masks, first, results, strict=False):
            mask |= differing_elements(one, other)
    return tuple(masks)


def _shuffled(seed: int | None) -> folding.Schedule:
    """Return a schedule that visits a window's elements in a random order, None for the reverse."""

    def schedule(lanes: folding.Lanes, rows: folding.Rows, inits: tuple[Array, ...]) -> Any:
        count = len(rows[0])
        order = np.arange(count)[::-1]
        if seed is not None:
            order = np.random.default_rng(seed).permutation(count)
        return folding.init_then_tree(lanes, tuple(x[order] for x in rows), inits)

    return schedule


_ORDERS = (_shuffled(None), *(_shuffled(seed) for seed in range(4)))
"""The orders that are tried, beside the lexicographic one."""


def _equal_selections(operand: Array, select: Body, windows: Windows) -> Array:
    """Return a mask of the elements that are selected in some order of a window's elements, if it
    is not the same element in every order.
    """
    index = np.arange(operand.size).reshape(operand.shape)
    found = np.zeros(operand.size, np.bool_)
    paddings = (np.zeros((), operand.dtype), np.asarray(-1))
    for _, (values, positions) in windows.groups((operand, index), paddings):
        is_padding = positions < 0
        best, there = values[0], positions[0]
        for value, position in zip(values[1:], positions[1:], strict=True):
            (keeps,) = select.lanes(best, value)
            keeps = (keeps | (position < 0)) & (there >= 0)
            best, there = np.where(keeps, best, value), np.where(keeps, there, position)
        (before,) = select.lanes(values, np.broadcast_to(best, values.shape))
        (after,) = select.lanes(np.broadcast_to(best, values.shape), values)
        equal = (before == after) & ~is_padding
        found[positions[equal & (equal.sum(axis=0) > 1)]] = True
    return found.reshape(operand.shape)

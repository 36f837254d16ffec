"""Ragged products as XLA's GPU compiler computes them: one dot_general for all groups.

In each operand, the pass `ragged_dot_rewriter` sets elements outside a group to zero. To do so, it
repeats the group sizes along the first dimensions, whatever their kind, and inserts the dimension
of groups behind them. If the contracting dimension is ragged, the groups are a batching dimension.
The pass then exchanges it with dimension 0 instead of moving it to the front, so that the first of
several batching dimensions becomes the last.

Source: jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.known.hypothesis import Operands, Results
from reference.interpreter.evaluate import given_attributes
from reference.ir.program import Operation, attributes
from reference.ir.types import Array
from reference.ops.ragged import Mode, group_members, ragged_numbers

ROTATED = "batching dimensions rotated"
MISREAD = "group sizes of the first dimensions"

_NAMES = (
    "lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
    "rhs_contracting_dimensions",
)  # fmt: skip


def rotate_batches(
    operation: Operation, operands: Operands, expected: Results
) -> tuple[Operation, Operands] | None:
    """Return the dot_general of operands with rotated batching dimensions.

    None if there are fewer than two such dimensions, if the group sizes do not fit the operands, or
    if rotation changes shapes: then the compiler refuses its own module.
    """
    del expected
    if operation.attribute("lhs_ragged_dimensions") is None:
        return None
    lhs, rhs, group_sizes = operands
    numbers, count = ragged_numbers(**given_attributes(operation)), group_sizes.ndim - 1
    if numbers.mode is not Mode.DEPTH or count <= 1:
        return None
    dot = numbers.dot
    depth = dot.rhs_contracting[dot.lhs_contracting.index(numbers.ragged)]
    of_lhs = mask_groups(lhs, numbers.ragged, group_sizes)
    of_rhs = mask_groups(rhs, depth, group_sizes)
    if of_lhs is None or of_rhs is None:
        return None
    grouped = np.stack(of_lhs), np.stack(of_rhs)
    rotated = tuple(np.moveaxis(one, 1, count) for one in grouped)
    if any(one.shape != other.shape for one, other in zip(grouped, rotated, strict=True)):
        return None
    moved = [tuple(d + 1 for d in dimensions) for dimensions in dot]
    moved[:2] = ((0, *batching) for batching in moved[:2])
    return _dot_general(operation, moved), rotated


def misread_sizes(
    operation: Operation, operands: Operands, expected: Results
) -> tuple[Operation, Operands] | None:
    """Return the dot_general over groups of rows whose sizes belong to the first dimensions of lhs.

    None if no rows are ragged, or the sizes do not fit these dimensions.
    """
    del expected
    if operation.attribute("lhs_ragged_dimensions") is None:
        return None
    lhs, rhs, group_sizes = operands
    numbers = ragged_numbers(**given_attributes(operation))
    if numbers.mode is not Mode.ROWS or numbers.group is None:
        return None
    of_lhs = mask_groups(lhs, numbers.ragged, group_sizes)
    if of_lhs is None:
        return None
    dot, group = numbers.dot, numbers.group
    moved = [
        tuple(d + 1 for d in dot.lhs_batching), dot.rhs_batching,
        (0, *(d + 1 for d in dot.lhs_contracting)), (group, *dot.rhs_contracting),
    ]  # fmt: skip
    return _dot_general(operation, moved), (np.stack(of_lhs), rhs)


def mask_groups(operand: Array, ragged: int, group_sizes: Array) -> list[Array] | None:
    """Return an operand for each group, with zeros at other indices of its dimension `ragged`.

    The sizes belong to the first dimensions of the operand; None if they do not fit these.
    """
    first = operand.shape[: group_sizes.ndim - 1]
    pairs = zip(group_sizes.shape[:-1], first, strict=True)
    if any(size not in (1, there) for size, there in pairs):
        return None
    held = group_members(group_sizes, operand.shape[ragged], first)
    places = np.indices(operand.shape, sparse=True)
    mine = held[(slice(None), *places[: len(first)], places[ragged])]
    zero = operand.dtype.type(0)
    return [np.where(np.broadcast_to(one, operand.shape), operand, zero) for one in mine]


def _dot_general(operation: Operation, dimensions: list[tuple[int, ...]]) -> Operation:
    """Return a product without groups, of the stated results and precision."""
    given = dict(zip(_NAMES, dimensions, strict=True))
    precision = operation.attribute("precision_config") or ()
    made = attributes(**given, precision_config=precision)
    return replace(operation, name="dot_general", attributes=made)

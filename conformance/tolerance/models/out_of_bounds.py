"""Other treatments of updates out of bounds than the specification's, to name what a backend does.

Spec "scatter" drops an update where its own `result_index` is out of bounds. XLA drops the whole
window if any of its elements is (its ScatterExpander compares the start index with the largest
one at which the window fits), and makes that comparison in the type of the indices, in which the
bound may not have room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from generators.values.shaped_values import cast
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.ops.indexed.scatter import start_indices_of
from reference.ops.indexed.update_orders import update_positions

WINDOW = "window out of bounds in part"
BOUND = "bound that the index type has no room for"


def treatments(operation: Operation, operands: Sequence[Array]) -> Iterator[tuple[str, Array]]:
    """Those that would make a difference here: a name, and where each update goes then (a flat
    position, -1 where it is dropped)."""
    given: dict[str, Any] = dict(operation.attributes)
    count = len(operands) // 2
    operand, indices, updates = operands[0], operands[count], operands[count + 1]
    places = update_positions(operation, operand, indices, updates)
    window = tuple(given["update_window_dims"])
    outside = (places < 0).any(axis=window, keepdims=True)
    whole = np.where(outside, -1, places)
    if (whole != places).any():
        yield WINDOW, whole
    fits = _fits(given, operand, indices, updates)
    narrow = np.where(fits, whole, -1)
    if (narrow != whole).any():
        yield BOUND, narrow


def _fits(given: dict[str, Any], operand: Array, indices: Array, updates: Array) -> Array:
    """Where the start indices are not above the bounds, as the type of the indices has them."""
    window_dims = given["update_window_dims"]
    starts = start_indices_of(
        operand.shape,
        indices,
        updates.shape,
        update_window_dims=window_dims,
        scatter_dims_to_operand_dims=given["scatter_dims_to_operand_dims"],
        index_vector_dim=given["index_vector_dim"],
    )
    dropped = (*given["inserted_window_dims"], *given.get("input_batching_dims", ()))
    kept = [d for d in range(operand.ndim) if d not in dropped]
    sizes = dict(zip(kept, (updates.shape[d] for d in window_dims), strict=True))
    fits = np.ones(updates.shape, np.bool_)
    for d in given["scatter_dims_to_operand_dims"]:
        bound = np.asarray(operand.shape[d] - sizes.get(d, 1), np.int64)
        limit = int(cast(bound, element_type_of(indices))[()])
        fits &= starts[d] <= limit
    return fits

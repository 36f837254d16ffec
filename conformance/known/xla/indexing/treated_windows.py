"""Scatters whose windows XLA treats otherwise than the specification, as programs.

`treatments.py` recognises these treatments by the results of a scatter. Here they are operations,
so that the scatter itself may be computed in another way, too (`narrow_bodies.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.known.writing import OperationWriter
from reference.ir.program import Operation, Region, TensorType, Value, attributes, tensor_of
from reference.ir.types import BOOLEAN, ELEMENT_TYPES

_INDEX = ELEMENT_TYPES["si64"]
_FAR = 1 << 40
"""A start index at which all elements of a window are out of bounds."""


def treated_scatters(scatter: Operation) -> Iterator[list[Operation]]:
    """Yield operations in place of a scatter, which come last.

    - A window with an element out of bounds is dropped as a whole.
    - Of updates whose index vectors have no components, only the last is applied, or they are read
      as a single window.
    """
    given: dict[str, Any] = dict(scatter.attributes)
    if given["scatter_dims_to_operand_dims"]:
        yield from _drop_partial_windows(scatter, given)
    else:
        yield from _keep_last_update(scatter, given)
        yield from _merge_into_one_window(scatter, given)


def _keep_last_update(scatter: Operation, given: dict[str, Any]) -> Iterator[list[Operation]]:
    count = len(scatter.results)
    inputs, indices, updates = (
        scatter.operands[:count], scatter.operands[count], scatter.operands[count + 1 :],
    )  # fmt: skip
    if given.get("input_batching_dims"):
        return
    writer = OperationWriter(scatter.results[0].name)
    axis, window_dims = given["index_vector_dim"], given["update_window_dims"]
    if 0 in tensor_of(updates[0]).static_shape:
        return
    last = _last_along(writer, indices, [d != axis for d in range(_rank(indices))])
    few = [
        _last_along(writer, one, [d not in window_dims for d in range(_rank(one))])
        for one in updates
    ]
    yield [*writer.operations, replace(scatter, operands=(*inputs, last, *few))]


def _merge_into_one_window(scatter: Operation, given: dict[str, Any]) -> Iterator[list[Operation]]:
    count = len(scatter.results)
    inputs, updates = scatter.operands[:count], scatter.operands[count + 1 :]
    whole, size = (tensor_of(one[0]).static_shape for one in (inputs, updates))
    if len(whole) != len(size) or any(n > m for n, m in zip(size, whole, strict=True)):
        return
    writer = OperationWriter(scatter.results[0].name)
    none = writer.constant(np.zeros(0, np.int64), _INDEX)
    given = given | {
        "index_vector_dim": 0, "input_batching_dims": (), "inserted_window_dims": (),
        "scatter_indices_batching_dims": (), "update_window_dims": tuple(range(len(size))),
    }  # fmt: skip
    operands = (*inputs, none, *updates)
    yield [*writer.operations, replace(scatter, operands=operands, attributes=attributes(**given))]


def _drop_partial_windows(scatter: Operation, given: dict[str, Any]) -> Iterator[list[Operation]]:
    count = len(scatter.results)
    indices = scatter.operands[count]
    limits = _largest_starts(scatter, given)
    if limits is None:
        return
    shape, axis = tensor_of(indices).static_shape, given["index_vector_dim"]
    flag, writer = BOOLEAN[0], OperationWriter(scatter.results[0].name)
    along = [len(limits) if d == axis else 1 for d in range(len(shape))]
    bounds = np.broadcast_to(np.array(limits).reshape(along), shape)
    start = writer.add("convert", (indices,), _INDEX)
    fits = [
        writer.add(
            "compare", (start, writer.constant(bound, _INDEX)), flag, comparison_direction=direction
        )
        for bound, direction in ((np.zeros(shape, np.int64), "GE"), (bounds, "LE"))
    ]
    all_fit = writer.add("and", fits, flag)
    if axis < len(shape):
        others = tuple(d for d in range(len(shape)) if d != axis)
        sizes = tuple(shape[d] for d in others)
        true = writer.constant(np.array(True), flag)
        each = writer.add(
            "reduce", (all_fit, true), flag, sizes, regions=(_conjunction(),), dimensions=(axis,)
        )
        all_fit = writer.add("broadcast_in_dim", (each,), flag, shape, broadcast_dimensions=others)
    far = writer.constant(np.full(shape, _FAR), _INDEX)
    moved = writer.add("select", (all_fit, start, far), _INDEX)
    operands = (*scatter.operands[:count], moved, *scatter.operands[count + 1 :])
    yield [*writer.operations, replace(scatter, operands=operands)]


def _largest_starts(scatter: Operation, given: dict[str, Any]) -> list[int] | None:
    """Return the largest start in each indexed dimension; None if all windows have one element."""
    shape = tensor_of(scatter.operands[0]).static_shape
    updates = tensor_of(scatter.operands[-1]).static_shape
    dropped = (*given["inserted_window_dims"], *given.get("input_batching_dims", ()))
    kept = [d for d in range(len(shape)) if d not in dropped]
    size = dict(zip(kept, (updates[d] for d in given["update_window_dims"]), strict=True))
    if all(n <= 1 for n in size.values()):
        return None
    return [shape[d] - size.get(d, 1) for d in given["scatter_dims_to_operand_dims"]]


def _last_along(writer: OperationWriter, value: Value, dimensions: Sequence[bool]) -> Value:
    """Return the last slice of an array along some dimensions."""
    shape = tensor_of(value).static_shape
    starts = tuple(n - 1 if cut else 0 for n, cut in zip(shape, dimensions, strict=True))
    return writer.slice(value, starts, shape)


def _rank(value: Value) -> int:
    return len(tensor_of(value).shape)


def _conjunction() -> Region:
    """Return a body that is true if both arguments are."""
    left, right, both = (Value(name, TensorType((), BOOLEAN[0])) for name in ("l", "r", "both"))
    done = Operation("return", (both,))
    return Region((left, right), (Operation("and", (left, right), (both,)), done))

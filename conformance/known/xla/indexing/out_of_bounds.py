"""Treatments of out-of-bounds updates that differ from the specification, and show in results.

Spec "scatter" drops an update where its own `result_index` is out of bounds. XLA drops the whole
window if any of its elements is (its ScatterExpander compares the start index with the largest
start at which the window fits), and compares in the type of the indices, which may be too narrow
for the bound. It then writes back the elements at the clamped position of a dropped window. If the
input and the unsigned indices are constants, it reads these elements at the sign-extended indices.
StableHLO's interpreter sign-extends unsigned indices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.known.hypothesis import exact_hypothesis
from conformance.known.interpreter.indices import LABEL as SIGNED
from conformance.known.interpreter.indices import (
    has_negative_pattern,
    reinterpret_as_signed,
    sign_extend_all_indices,
)
from generators.values.shaped_values import cast
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.ir.types import Array, ElementType, element_type, element_type_of
from reference.ops.indexed.scatter import start_indices_of
from reference.ops.indexed.update_orders import update_positions

WINDOW = "window out of bounds in part"
NO_INDICES = "index vectors of no components"
BOUND = "bound that the index type has no room for"
ELSEWHERE = "dropped window read elsewhere"


Treatment = Callable[[Operation, Sequence[Array]], Iterator[Array]]
"""A function treatment(operation, operands). It yields the flat position of each update, -1 for an
update that is dropped; it yields nothing if the treatment makes no difference.
"""


def _places(operation: Operation, operands: Sequence[Array]) -> Array:
    """Return the position of each update by the specification."""
    count = len(operands) // 2
    return update_positions(operation, operands[0], *operands[count : count + 2])


def _drop_whole_windows(operation: Operation, places: Array) -> Array:
    """Return the positions with -1 for all elements of a window that has any -1."""
    dims = tuple(dict[str, Any](operation.attributes)["update_window_dims"])
    return np.where((places < 0).any(axis=dims, keepdims=True), -1, places)


def _windows_dropped(operation: Operation, operands: Sequence[Array]) -> Iterator[Array]:
    places = _places(operation, operands)
    whole = _drop_whole_windows(operation, places)
    if (whole != places).any():
        yield whole


def _bounds_cut(operation: Operation, operands: Sequence[Array]) -> Iterator[Array]:
    given: dict[str, Any] = dict(operation.attributes)
    count = len(operands) // 2
    operand, indices, updates = operands[0], operands[count], operands[count + 1]
    of = element_type_of(indices)
    byte = element_type("si8" if of.is_signed else "ui8")
    whole = _drop_whole_windows(operation, _places(operation, operands))
    for kept in dict.fromkeys((of, byte if of.bits < byte.bits else of)):  # stored in a byte each
        narrow = np.where(_mask_within_bounds(given, operand, indices, updates, kept), whole, -1)
        if (narrow != whole).any():
            yield narrow


def _indices_read_as_signed(operation: Operation, operands: Sequence[Array]) -> Iterator[Array]:
    count = len(operands) // 2
    if not has_negative_pattern(operands[count]):
        return
    moved = (*operands[:count], reinterpret_as_signed(operands[count]), *operands[count + 1 :])
    by_sign = _places(operation, moved)
    if (by_sign != _places(operation, operands)).any():
        yield by_sign


def _updates_without_indices(operation: Operation, operands: Sequence[Array]) -> Iterator[Array]:
    given: dict[str, Any] = dict(operation.attributes)
    if given["scatter_dims_to_operand_dims"]:
        return
    places = _places(operation, operands)
    for one in _without_indices(given, operands[0], operands[len(operands) // 2 + 1], places):
        if (one != places).any():
            yield one


TREATMENTS: dict[str, Treatment] = {
    WINDOW: _windows_dropped,
    BOUND: _bounds_cut,
    NO_INDICES: _updates_without_indices,
    SIGNED: _indices_read_as_signed,
}
"""The treatments of updates by name, in the order of trial."""


def _without_indices(
    given: dict[str, Any], operand: Array, updates: Array, places: Array
) -> Iterator[Array]:
    """Yield positions of updates whose index vectors are empty (a single start index).

    They are read as a single window, or only the last of them is applied.
    """
    if updates.ndim == operand.ndim and (np.array(updates.shape) <= operand.shape).all():
        all_places = np.arange(operand.size).reshape(operand.shape)
        yield all_places[tuple(slice(size) for size in updates.shape)]
    if updates.size:
        last = np.full_like(places, -1)
        at = tuple(
            slice(None) if d in given["update_window_dims"] else -1 for d in range(updates.ndim)
        )
        last[at] = places[at]
        yield last


def _mask_within_bounds(
    given: dict[str, Any], operand: Array, indices: Array, updates: Array, of: ElementType
) -> Array:
    """Return a mask of start indices within bounds, compared in the type of the indices."""
    window_dims = given["update_window_dims"]
    starts = start_indices_of(
        operand.shape,
        indices,
        updates.shape,
        update_window_dims=window_dims,
        scatter_dims_to_operand_dims=given["scatter_dims_to_operand_dims"],
        index_vector_dim=given["index_vector_dim"],
    )
    sizes = window_sizes(given, operand, updates)
    fits = np.ones(updates.shape, np.bool_)
    for d in range(operand.ndim):  # those that no index speaks of are compared too, from 0
        bound = np.asarray(operand.shape[d] - sizes.get(d, 1), np.int64)
        limit = int(cast(bound, of)[()])
        fits &= starts[d] <= limit
    return fits


# --- Slices that are gathered ---------------------------------------------------------------------


def _predict_cut_starts(
    operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
) -> tuple[Array, ...] | None:
    """Return the slices at starts clamped to bounds that the signed type of the indices cuts."""
    del expected
    indices, of = operands[1], element_type_of(operands[1])
    if of.is_unsigned:
        return None
    given: dict[str, Any] = dict(operation.attributes)
    sizes = given["slice_sizes"] if "slice_sizes" in given else operands[2].tolist()
    ends = [operands[0].shape[d] - sizes[d] for d in given["start_index_map"]]
    limits = cast(np.asarray(ends, np.int64), of).astype(np.int64)
    if not (limits < 0).any():
        return None
    axis = given["index_vector_dim"]
    limits = limits.reshape([len(ends) if d == axis else 1 for d in range(indices.ndim)])
    moved = np.minimum(np.maximum(indices.astype(np.int64), 0), limits)
    return apply(operation, (operands[0], cast(moved, element_type(f"ui{of.bits}")), *operands[2:]))


GATHERED = (
    exact_hypothesis(SIGNED, sign_extend_all_indices, refutes=True),
    exact_hypothesis(BOUND, _predict_cut_starts, refutes=True),
)
"""The classes of gathered slices."""


# --- Dropped windows -----------------------------------------------------------------------------


def _predict_signed_positions(
    operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
) -> tuple[Array, ...] | None:
    """Return the results if a single dropped window is replaced by the elements at its signed
    index.
    """
    del expected
    count = len(operands) // 2
    inputs, indices, updates = operands[:count], operands[count], operands[count + 1]
    dims: tuple[int, ...] = tuple(dict(operation.attributes)["scatter_dims_to_operand_dims"])  # pyright: ignore[reportArgumentType]
    if not dims or indices.size != len(dims) or not updates.size:
        return None
    if (update_positions(operation, inputs[0], indices, updates) >= 0).any():
        return None
    written, read = (
        update_positions(operation, inputs[0], _clamp_index(operation, operands, index), updates)
        for index in (indices, reinterpret_as_signed(indices))
    )
    results = [array.reshape(-1).copy() for array in inputs]
    for result, array in zip(results, inputs, strict=True):
        result[written.reshape(-1)] = array.reshape(-1)[read.reshape(-1)]
    return tuple(result.reshape(inputs[0].shape) for result in results)


def _clamp_index(operation: Operation, operands: tuple[Array, ...], index: Array) -> Array:
    """Return the single index vector clamped to where the window fits, as si64."""
    given: dict[str, Any] = dict(operation.attributes)
    shape, updates = operands[0].shape, operands[len(operands) // 2 + 1]
    sizes = window_sizes(given, operands[0], updates)
    vector = index.reshape(-1).tolist()
    moved = [
        min(max(at, 0), shape[d] - sizes.get(d, 1))
        for at, d in zip(vector, given["scatter_dims_to_operand_dims"], strict=True)
    ]
    return np.array(moved, np.int64).reshape(index.shape)


def window_sizes(given: dict[str, Any], operand: Array, updates: Array) -> dict[int, int]:
    """Return the window sizes by dimension of the inputs."""
    dropped = (*given["inserted_window_dims"], *given.get("input_batching_dims", ()))
    kept = [d for d in range(operand.ndim) if d not in dropped]
    window_dims = given["update_window_dims"]
    return dict(zip(kept, (updates.shape[d] for d in window_dims), strict=True))


READ_ELSEWHERE = replace(
    exact_hypothesis(ELSEWHERE, _predict_signed_positions), constants=("inputs", "scatter_indices")
)

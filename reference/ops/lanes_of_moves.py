"""Data movement in many lanes at once (see `in_lanes` and `write_lanes` of `reference.ir.op.Op`).

Each array has a leading dimension of lanes, of size 1 if all lanes share it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.ir.program import TensorType
from reference.ir.types import Array


def broadcast_in_dim(
    operand: Array, *, broadcast_dimensions: tuple[int, ...], result: TensorType
) -> Array:
    """Return `broadcast_in_dim` of each lane."""
    shape = [1] * len(result.static_shape)
    for size, dimension in zip(operand.shape[1:], broadcast_dimensions, strict=True):
        shape[dimension] = size
    order = np.argsort(broadcast_dimensions, kind="stable") + 1
    placed = operand.transpose(0, *order).reshape(len(operand), *shape)
    return np.broadcast_to(placed, (len(operand), *result.static_shape)).copy()


def concatenate(inputs: tuple[Array, ...], *, dimension: int) -> Array:
    """Return `concatenate` of each lane."""
    lanes = max(map(len, inputs))
    every = [np.broadcast_to(one, (lanes, *one.shape[1:])) for one in inputs]
    return np.concatenate(every, axis=dimension + 1)


def dynamic_slice(
    operand: Array, start_indices: tuple[Array, ...], *, slice_sizes: tuple[int, ...]
) -> Array:
    """Return `dynamic_slice` of each lane."""
    lanes = max(map(len, (operand, *start_indices)))
    first = np.arange(lanes) if len(operand) > 1 else np.zeros(lanes, np.int64)
    window = _window(operand.shape[1:], start_indices, slice_sizes)
    return operand[first.reshape(-1, *[1] * len(slice_sizes)), *window]


def reshape(operand: Array, *, result: TensorType) -> Array:
    """Return `reshape` of each lane."""
    return operand.reshape(len(operand), *result.static_shape)


def slice_(
    operand: Array,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...],
) -> Array:
    """Return `slice` of each lane."""
    return operand[:, *map(slice, start_indices, limit_indices, strides)].copy()


def transpose(operand: Array, *, permutation: tuple[int, ...]) -> Array:
    """Return `transpose` of each lane."""
    return operand.transpose(0, *[dimension + 1 for dimension in permutation]).copy()


def write_slices(operand: Array, update: Array, start_indices: tuple[Array, ...]) -> None:
    """Apply `dynamic_update_slice` for each lane, in the order of lanes, to the same operand.

    Where lanes write to the same element, the last one counts, as numpy assigns.
    """
    lanes = max(map(len, (update, *start_indices)))
    sizes = update.shape[1:]
    every = [np.broadcast_to(start, lanes) for start in start_indices]
    operand[..., *_window(operand.shape, every, sizes)] = np.broadcast_to(update, (lanes, *sizes))


def _window(
    shape: tuple[int, ...], start_indices: Sequence[Array], sizes: Sequence[int]
) -> tuple[Array, ...]:
    """Return the indices of each lane's window, clamped so that the window fits, by dimension."""
    indices: list[Array] = []
    for dimension, (of, start, size) in enumerate(zip(shape, start_indices, sizes, strict=True)):
        bounded = np.minimum(start, of) if start.dtype == np.uint64 else start  # fits in int64
        first = np.clip(bounded.astype(np.int64), 0, of - size)
        around = [1] * len(sizes)
        around[dimension] = size
        each = np.arange(size).reshape(around)
        indices.append(first.reshape(-1, *[1] * len(sizes)) + each)
    return tuple(indices)

"""Reads of slices at computed indices: gather, dynamic_gather, torch_index_select."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.ir.constraints import name_checked_op, require
from reference.ir.program import TensorType
from reference.ir.types import Array
from reference.ops.indexed.indexing import (
    axis_indices,
    batch_positions,
    index_vectors,
    spread,
    strides_of,
)

Dims = tuple[int, ...]


def gather(
    operand: Array,
    start_indices: Array,
    *,
    offset_dims: Dims,
    collapsed_slice_dims: Dims,
    start_index_map: Dims,
    index_vector_dim: int,
    slice_sizes: Dims,
    operand_batching_dims: Dims = (),
    start_indices_batching_dims: Dims = (),
    indices_are_sorted: bool = False,  # noqa: ARG001 - nothing to gain here
) -> Array:
    """Return slices of `operand` at the index vectors, clamped so that each slice fits.

    Batch dimensions of `start_indices` become the result's dimensions other than `offset_dims`,
    which are the slice's own. If a collapsed dimension has slice size 0, the specification places
    elements outside of the operand: here they are its last elements, or zeros if it is empty.

    Args:
        operand: of any element type.
        start_indices: index vectors along `index_vector_dim`, or single indices.
        offset_dims: dimensions of the result that are dimensions of slices.
        collapsed_slice_dims: dimensions of slices that the result lacks.
        start_index_map: the dimension of `operand` of each component of an index vector.
        index_vector_dim: the dimension of `start_indices` with the components of index vectors.
        slice_sizes: sizes of a slice, one per dimension of `operand`.
        operand_batching_dims: batching dimensions of `operand`.
        start_indices_batching_dims: the same dimensions of `start_indices`.
        indices_are_sorted: a promise that the result does not depend on.

    Returns:
        A new array of the operand's element type.
    """
    starts = start_indices_of(
        operand.shape, start_indices,
        offset_dims=offset_dims, start_index_map=start_index_map,
        index_vector_dim=index_vector_dim, slice_sizes=slice_sizes,
    )  # fmt: skip
    batch = _batch_shape(start_indices, index_vector_dim)
    rank = len(batch) + len(offset_dims)
    batch_dims = [d for d in range(rank) if d not in offset_dims]
    strides = strides_of(operand.shape)
    position = np.zeros((1,) * rank, np.int64)
    for d, start in enumerate(starts):
        if d in start_index_map:
            position = position + start * strides[d]
    batches = batch_positions(start_indices_batching_dims, index_vector_dim)
    for d, at in zip(operand_batching_dims, batches, strict=True):
        position = position + axis_indices(operand.shape[d], batch_dims[at], rank) * strides[d]
    dropped = collapsed_slice_dims + operand_batching_dims
    kept = [d for d in range(operand.ndim) if d not in dropped]
    for d, axis in zip(kept, offset_dims, strict=True):
        position = position + axis_indices(slice_sizes[d], axis, rank) * strides[d]
    shape = np.empty(rank, np.int64)
    shape[batch_dims] = batch
    shape[list(offset_dims)] = [slice_sizes[d] for d in kept]
    return _take(operand, np.broadcast_to(position, shape))


def start_indices_of(
    shape: Sequence[int],
    start_indices: Array,
    *,
    offset_dims: Dims,
    start_index_map: Dims,
    index_vector_dim: int,
    slice_sizes: Dims,
) -> list[Array]:
    """Return the specification's `full_start_index` for each dimension of an operand of `shape`.

    The start indices are clamped, and broadcast to the result's shape.
    """
    vectors = index_vectors(start_indices, index_vector_dim)
    rank = vectors.ndim - 1 + len(offset_dims)
    batch_dims = [d for d in range(rank) if d not in offset_dims]
    starts = [np.zeros((1,) * rank, np.int64) for _ in shape]
    for d, start in zip(start_index_map, spread(vectors, batch_dims, rank), strict=True):
        starts[d] = np.clip(start, 0, shape[d] - slice_sizes[d])
    return starts


def _batch_shape(indices: Array, index_vector_dim: int) -> tuple[int, ...]:
    return indices.shape[:index_vector_dim] + indices.shape[index_vector_dim + 1 :]


def _take(operand: Array, position: Array) -> Array:
    if operand.size == 0:
        return np.zeros(position.shape, operand.dtype)
    return np.asarray(operand.reshape(-1).take(position, mode="clip"))


def dynamic_gather(
    operand: Array,
    start_indices: Array,
    slice_sizes: Array,
    *,
    offset_dims: Dims,
    collapsed_slice_dims: Dims,
    start_index_map: Dims,
    index_vector_dim: int,
    operand_batching_dims: Dims = (),
    start_indices_batching_dims: Dims = (),
    indices_are_sorted: bool = False,  # noqa: ARG001 - nothing to gain here
    result: TensorType,
) -> Array:
    """Evaluate `gather` with the slice sizes as an operand; `result` has these sizes.

    Raises:
        ConstraintViolation: C8 (a collapsed dimension of more than 1), C12 (sizes that the operand
            does not have), C13 (not the sizes that the program states).
    """
    sizes = tuple(int(size) for size in slice_sizes)
    with name_checked_op("dynamic_gather"):
        check_slice_sizes(
            operand, start_indices, slice_sizes, collapsed_slice_dims=collapsed_slice_dims,
            operand_batching_dims=operand_batching_dims,
        )  # fmt: skip
        fits = all(size <= of for size, of in zip(sizes, operand.shape, strict=True))
        require("C12", fits, sizes)
        dropped = collapsed_slice_dims + operand_batching_dims
        kept = [size for d, size in enumerate(sizes) if d not in dropped]
        require("C13", _has_stated_sizes(result, offset_dims, kept), f"{sizes} for {result}")
    return gather(
        operand,
        start_indices,
        offset_dims=offset_dims,
        collapsed_slice_dims=collapsed_slice_dims,
        start_index_map=start_index_map,
        index_vector_dim=index_vector_dim,
        slice_sizes=sizes,
        operand_batching_dims=operand_batching_dims,
        start_indices_batching_dims=start_indices_batching_dims,
    )


def check_slice_sizes(
    operand: Array | None,  # noqa: ARG001 - its values do not matter
    start_indices: Array | None,  # noqa: ARG001
    slice_sizes: Array | None,
    *,
    collapsed_slice_dims: Dims,
    operand_batching_dims: Dims = (),
    **_: object,
) -> None:
    """Check the constraints of `dynamic_gather` on values only, if these are known.

    Raises:
        ConstraintViolation: C8 (a collapsed dimension of more than 1), C12 (a negative size).
    """
    if slice_sizes is None:
        return
    sizes = [int(size) for size in slice_sizes]
    dropped = collapsed_slice_dims + operand_batching_dims
    require("C8", all(sizes[d] <= 1 for d in dropped), sizes)
    require("C12", min(sizes, default=0) >= 0, sizes)


def _has_stated_sizes(result: TensorType, offset_dims: Dims, sizes: Sequence[int]) -> bool:
    return all(result.shape[d] in (None, size) for d, size in zip(offset_dims, sizes, strict=True))


def torch_index_select(operand: Array, index: Array, *, dim: int, batch_dims: int) -> Array:
    """Return the elements of `operand` at the indices `index` along `dim`, batch by batch.

    No longer specified. In XLA's builder result[b.., i.., j.., k..] is operand[b.., i.., index[b..,
    j..], k..]; b are the first `batch_dims` dimensions, i those before `dim` and k those after it.
    Indices out of range are clamped.
    """
    shape, middle = operand.shape, index.ndim - batch_dims
    rank = operand.ndim - 1 + middle
    starts = index_vectors(index, index.ndim)
    axes = (*range(batch_dims), *range(dim, dim + middle))
    strides = strides_of(shape)
    (start,) = spread(starts, axes, rank)
    position = np.clip(start, 0, max(shape[dim] - 1, 0)) * strides[dim]
    for d, size in enumerate(shape):
        if d != dim:
            axis = d if d < dim else d + middle - 1
            position = position + axis_indices(size, axis, rank) * strides[d]
    wanted = shape[:dim] + index.shape[batch_dims:] + shape[dim + 1 :]
    return _take(operand, np.broadcast_to(position, wanted))

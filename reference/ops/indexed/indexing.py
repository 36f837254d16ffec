"""Positions that gather reads and scatter writes, computed for all elements at once.

Both ops address elements by the sum of three indices: the start index from an index vector, the
index along batching dimensions, the offset within a slice (or window). Here each sum is one array
of flat positions, built by broadcasting its summands against each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from reference.ir.types import Array

_FAR = 1 << 62
"""An index beyond every size; larger indices are clamped to it, so that sums do not overflow."""


def wide_indices(indices: Array) -> Array:
    """Return indices of any integer type as int64; unsigned indices never become negative."""
    if indices.dtype.kind == "u" and indices.dtype.itemsize == np.dtype(np.int64).itemsize:
        return np.minimum(indices, np.uint64(_FAR)).astype(np.int64)
    wide = indices.astype(np.int64)
    return np.clip(wide, -_FAR, _FAR) if indices.dtype == np.int64 else wide


def index_vectors(indices: Array, index_vector_dim: int) -> Array:
    """Return int64 index vectors along a last dimension.

    `index_vector_dim` is moved there; if it is the rank, vectors of size 1 are created.
    """
    wide = wide_indices(indices)
    if index_vector_dim == wide.ndim:
        return wide[..., None]
    return np.moveaxis(wide, index_vector_dim, -1)


def batch_positions(dims: Sequence[int], index_vector_dim: int) -> tuple[int, ...]:
    """Return the positions of dimensions of the indices among the dimensions without index
    vectors."""
    return tuple(d - (d > index_vector_dim) for d in dims)


def axis_indices(size: int, axis: int, rank: int) -> Array:
    """Return 0, ..., size - 1 along one axis of a shape that is 1 everywhere else."""
    shape = [1] * rank
    shape[axis] = size
    return np.arange(size, dtype=np.int64).reshape(shape)


def spread(vectors: Array, axes: Sequence[int], rank: int) -> list[Array]:
    """Return the components of index vectors, with their dimensions at `axes` of that rank."""
    shape = [1] * rank
    for axis, size in zip(axes, vectors.shape, strict=False):
        shape[axis] = size
    return [vectors[..., k].reshape(shape) for k in range(vectors.shape[-1])]


def strides_of(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the distance of neighbours along each dimension, row-major, in elements."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))

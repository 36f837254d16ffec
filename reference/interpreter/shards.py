"""Arrays sharded over the devices of a mesh, and joined again.

A sharding lists, for each dimension, the axes of the mesh that split it, major axis first. The
array is replicated along all other axes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.ir.types import Array

Mesh = tuple[tuple[str, int], ...]
"""The axes of a mesh, in order, with their sizes."""

Sharding = tuple[tuple[str, ...], ...]
Device = dict[str, int]
"""The coordinate of a device along each axis."""


def devices_of(mesh: Mesh) -> list[Device]:
    """Return the devices of a mesh, in the order of their ids."""
    names, sizes = [name for name, _ in mesh], [size for _, size in mesh]
    return [dict(zip(names, place, strict=True)) for place in np.ndindex(*sizes)]


def shards_by_device(
    arrays: Sequence[Array], shardings: Sequence[Sharding], mesh: Mesh
) -> list[list[Array]]:
    """Return each device's shards of arrays, in the order of device ids."""
    return [
        [
            shard(array, sharding, mesh, device)
            for array, sharding in zip(arrays, shardings, strict=True)
        ]
        for device in devices_of(mesh)
    ]


def shard(array: Array, sharding: Sharding, mesh: Mesh, device: Device) -> Array:
    """Return the part of an array on a device."""
    counts = [_shard_count(axes, mesh) for axes in sharding]
    sizes = [size // count for size, count in zip(array.shape, counts, strict=True)]
    return np.ascontiguousarray(array[_shard_slices(sizes, sharding, mesh, device)]).reshape(sizes)


def join_shards(
    parts: Sequence[Array], sharding: Sharding, mesh: Mesh, devices: Sequence[Device]
) -> Array:
    """Return the array whose shards these are; the first device wins among replicas."""
    sizes = parts[0].shape
    counts = [_shard_count(axes, mesh) for axes in sharding]
    shape = tuple(size * count for size, count in zip(sizes, counts, strict=True))
    whole = np.empty(shape, parts[0].dtype)
    for part, device in reversed(list(zip(parts, devices, strict=True))):
        whole[_shard_slices(sizes, sharding, mesh, device)] = part
    return whole


def _shard_count(axes: Sequence[str], mesh: Mesh) -> int:
    known = dict(mesh)
    return int(np.prod([known[axis] for axis in axes], dtype=np.int64))


def _shard_slices(
    sizes: Sequence[int], sharding: Sharding, mesh: Mesh, device: Device
) -> tuple[slice, ...]:
    """Return the slices of the whole array that hold a device's shard of these sizes."""
    known = dict(mesh)
    places: list[slice] = []
    for size, axes in zip(sizes, sharding, strict=True):
        at = 0
        for axis in axes:
            at = at * known[axis] + device[axis]
        places.append(slice(at * size, (at + 1) * size))
    return tuple(places)

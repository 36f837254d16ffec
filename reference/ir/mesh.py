"""Replica groups given by axes of a mesh: the specification's `ReplicaGroupMeshAxes`.

Source: StableHLO specification, "Replica groups". The text omits the order of groups and of ids
within a group; that comes from `flattenReplicaGroupMeshAxes` in StableHLO's sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np

from reference.ir.program import Dense, TensorType
from reference.ir.types import element_type

_SI64 = element_type("si64")
_MALFORMED = Dense(TensorType((0,), _SI64), b"")
"""Placeholder for the ids of axes that do not fit their mesh: rank 1, so not valid replica
groups."""


class MeshAxis(NamedTuple):
    """A dimension of a mesh."""

    name: str
    size: int


class AxisRef(NamedTuple):
    """An axis of a mesh, or a part.

    A part of `size` is one factor of the axis: `pre_size` is the product of the factors before it.
    """

    name: str
    pre_size: int = 1
    size: int | None = None


@dataclass(frozen=True, slots=True)
class MeshGroups(Dense):
    """Replica groups as a matrix of ids, with their mesh and axes.

    `device_ids` maps the coordinates of the mesh, in lexicographical order, to ids; without them an
    id is the index of its coordinates. `problem` says why axes and mesh do not fit, else "".
    """

    mesh: tuple[MeshAxis, ...]
    axes: tuple[AxisRef, ...]
    device_ids: tuple[int, ...] | None = None
    problem: str = ""


def mesh_groups(
    mesh: Sequence[MeshAxis], axes: Sequence[AxisRef], device_ids: Sequence[int] | None = None
) -> MeshGroups:
    """Return the groups of devices whose coordinates differ only along `axes`.

    Within a group the last of `axes` varies fastest; groups follow the order of the other axes.
    """
    given = None if device_ids is None else tuple(device_ids)
    problem = _problem(mesh, axes, given)
    ids = _MALFORMED if problem else _ids(mesh, axes, given)
    return MeshGroups(ids.type, ids.data, tuple(mesh), tuple(axes), given, problem)


def _problem(
    mesh: Sequence[MeshAxis], axes: Sequence[AxisRef], device_ids: tuple[int, ...] | None
) -> str:
    sizes = dict(mesh)
    if len(sizes) < len(mesh):
        return f"the mesh has two axes of one name: {[axis.name for axis in mesh]}"
    if any(size < 1 for size in sizes.values()):
        return f"an axis of the mesh has no devices: {sizes}"
    if device_ids is not None and len(device_ids) != prod(sizes.values()):
        return f"{len(device_ids)} device_ids for a mesh of {prod(sizes.values())} devices"
    taken: dict[str, list[tuple[int, int]]] = {}
    for axis in axes:
        whole = sizes.get(axis.name)
        if whole is None:
            return f"axis {axis.name!r} is not in the mesh"
        size = whole if axis.size is None else axis.size
        if min(axis.pre_size, size) < 1 or whole % (axis.pre_size * size):
            return f"axis {axis.name!r} of {whole} has no part ({axis.pre_size}){size}"
        taken.setdefault(axis.name, []).append((axis.pre_size, axis.pre_size * size))
    return "".join(map(_overlap, taken, taken.values()))


def _overlap(name: str, parts: list[tuple[int, int]]) -> str:
    """Return why two parts of an axis, given by their first and last factor, overlap, or ""."""
    ordered = sorted(parts)
    apart = all(begin % end == 0 for (_, end), (begin, _) in pairwise(ordered))
    return "" if apart else f"parts of axis {name!r} overlap"


def _ids(
    mesh: Sequence[MeshAxis], axes: Sequence[AxisRef], device_ids: tuple[int, ...] | None
) -> Dense:
    """Split each axis at the borders of its parts, and move the factors in `axes` to the end."""
    factors: list[int] = []
    number_of: dict[tuple[str, int], int] = {}
    for name, whole in mesh:
        borders = {1, whole}
        for axis in axes:
            if axis.name == name and axis.size is not None:
                borders |= {axis.pre_size, axis.pre_size * axis.size}
        ordered = sorted(borders)
        for begin, end in pairwise(ordered):
            number_of[name, begin] = len(factors)
            factors.append(end // begin)
    keys = [(axis.name, axis.pre_size) for axis in axes if axis.size != 1]
    along = [number_of[key] for key in keys if key in number_of]  # else an axis of one device
    count = prod(factors)
    ids = np.arange(count, dtype=np.int64) if device_ids is None else np.array(device_ids, np.int64)
    others = [number for number in range(len(factors)) if number not in along]
    size = prod(factors[number] for number in along)
    rows = ids.reshape(factors).transpose([*others, *along]).reshape(-1, size)
    return Dense.of(rows, TensorType(rows.shape, _SI64))

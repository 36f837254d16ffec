"""How Shardy's dialect says what lies on which device, read from what MLIR prints of it.

Source: Shardy's sdy.mesh, sdy.manual_computation and #sdy.sharding; StableHLO's
#stablehlo.replica_group_mesh_axes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from reference.ir.program import Attribute, Dense, TensorType
from reference.ir.types import ELEMENT_TYPES

MANUAL = "sdy.manual_computation"

Mesh = tuple[tuple[str, int], ...]
"""The axes of a mesh, in order, with their sizes."""

_AXIS = re.compile(r'"([^"]+)"=(\d+)')
_SHARDING = re.compile(r"<@([^,]+), \[([^\[\]]*)\]")
_DIMENSION = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r'"([^"]+)"(:?)')
_GROUPS = re.compile(r"#stablehlo\.replica_group_mesh_axes<mesh = @([^,]+), axes = \[(.*)\]>")


def is_shared_out(module: Any) -> bool:
    """Whether a module is of Shardy, for a compiler to share out among partitions."""
    return any(view.operation.name.startswith("sdy.") for view in module.body.operations)


def manual(operation: Any) -> dict[str, Attribute]:
    """The attributes of a manual computation: its mesh, and for each value each dimension's axes.

    Raises:
        ValueError: for shardings that are not read: of parts of axes, or several meshes.
    """
    shardings: dict[str, Attribute] = {}
    names: set[str] = set()
    for name in ("in_shardings", "out_shardings"):
        found = _SHARDING.findall(str(operation.attributes[name]))
        names |= {mesh for mesh, _ in found}
        shardings[name] = tuple(_dimensions(text) for _, text in found)
    if len(names) != 1:
        raise ValueError(f"shardings of {len(names)} meshes are not read")
    axes = tuple(name for name, _ in _NAME.findall(str(operation.attributes["manual_axes"])))
    return {"mesh": mesh_of(operation, names.pop()), "manual_axes": axes, **shardings}


def _dimensions(text: str) -> tuple[tuple[str, ...], ...]:
    dimensions: list[tuple[str, ...]] = []
    for inside in _DIMENSION.findall(text):
        axes = _NAME.findall(inside)
        if any(part for _, part in axes):
            raise ValueError("shardings along parts of axes are not read")
        dimensions.append(tuple(name for name, _ in axes))
    return tuple(dimensions)


def mesh_of(operation: Any, name: str) -> Mesh:
    """The mesh of that name in the module around an operation.

    Raises:
        ValueError: when there is none, or its devices are in an order of their own.
    """
    while operation.parent is not None:
        operation = operation.parent
    for view in operation.regions[0].blocks[0].operations:
        found = view.operation
        if found.name == "sdy.mesh" and str(found.attributes["sym_name"].value) == name:
            spelled = str(found.attributes["mesh"])
            if "device_ids" in spelled:
                raise ValueError(f"@{name}: meshes with devices in another order are not read")
            return tuple((axis, int(size)) for axis, size in _AXIS.findall(spelled))
    raise ValueError(f"there is no mesh @{name}")


def replica_groups(operation: Any, spelled: str) -> Dense | None:
    """The groups of flattened ids that axes of a mesh stand for; None of another attribute.

    Raises:
        ValueError: when they are not read.
    """
    match = _GROUPS.fullmatch(spelled)
    if match is None:
        return None
    if "sub_axis_info" in match[2]:
        raise ValueError("replica groups along parts of axes are not read")
    mesh = mesh_of(operation, match[1])
    names = [name for name, _ in mesh]
    along = [names.index(name) for name in re.findall(r'name = "([^"]+)"', match[2])]
    return _groups([size for _, size in mesh], along)


def _groups(sizes: Sequence[int], along: Sequence[int]) -> Dense:
    """The ids of devices that differ along these axes alone, a group each."""
    ids = np.arange(int(np.prod(sizes)), dtype=np.int64).reshape(sizes)
    others = [axis for axis in range(len(sizes)) if axis not in along]
    count = int(np.prod([sizes[axis] for axis in along]))
    rows = ids.transpose([*others, *along]).reshape(-1, count)
    return Dense.of(rows, TensorType(rows.shape, ELEMENT_TYPES["si64"]))

"""Shardings of Shardy's dialect, in MLIR's text; detection of GSPMD's annotations.

Source: Shardy's sdy.mesh, sdy.manual_computation and #sdy.sharding; StableHLO's
#stablehlo.replica_group_mesh_axes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from math import prod
from typing import Any

from conformance.stablehlo.attributes import quote
from reference.interpreter.shards import Mesh, Sharding
from reference.ir.op import Structure
from reference.ir.program import Attribute, Operation, Program
from reference.ops.structure import structure_of

_AXIS = re.compile(r'"([^"]+)"=(\d+)')
_SHARDING = re.compile(r'<@"?([^,"]+)"?, \[([^\[\]]*)\]')
_DIMENSION = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r'"([^"]+)"(:?)')
_DEVICE_IDS = re.compile(r"device_ids=\[([^\]]*)\]")
_PLACED = re.compile(r'mhlo\.sharding\s*=\s*"(?!\{manual\}")')
"""Pattern of GSPMD annotations, except `manual`, which gives each partition its own value."""


def device_count(module: Any) -> int:
    """Return the largest number of devices of a module's meshes.

    A compiler is to partition a module that has any mesh; 0 if it has none.
    """
    operations = (view.operation for view in module.body.operations)
    meshes = (
        str(operation.attributes["mesh"])
        for operation in operations
        if operation.name == "sdy.mesh"
    )
    return max((prod(int(size) for _, size in _AXIS.findall(mesh)) for mesh in meshes), default=0)


def is_annotated(text: str) -> bool:
    """Return whether a compiler is to partition a module by GSPMD's annotations in its text."""
    return bool(_PLACED.search(text))


def manual_attributes(operation: Any) -> dict[str, Attribute]:
    """Return the attributes of a manual computation: its mesh, and each value's axes by dimension.

    Raises:
        ValueError: the shardings use parts of axes, or several meshes.
    """
    axes = tuple(name for name, _ in _NAME.findall(str(operation.attributes["manual_axes"])))
    shardings: dict[str, Attribute] = {}
    names: set[str] = set()
    for name in ("in_shardings", "out_shardings"):
        found = _SHARDING.findall(str(operation.attributes[name]))
        names |= {mesh for mesh, _ in found}
        shardings[name] = tuple(_dimensions(text, axes) for _, text in found)
    if len(names) != 1:
        raise ValueError(f"shardings of {len(names)} meshes are not read")
    return {"mesh": mesh_of(operation, names.pop()), "manual_axes": axes, **shardings}


def spell_manual_attributes(operation: Operation) -> list[str]:
    """Return the attributes of a manual computation as MLIR's text."""
    mesh: Any = operation.attribute("mesh")
    axes: Any = operation.attribute("manual_axes")
    texts = [f"manual_axes = #sdy<manual_axes{{{', '.join(map(quote, axes))}}}>"]
    for name in ("in_shardings", "out_shardings"):
        shardings: Any = operation.attribute(name)
        each = ", ".join(
            f"<{_symbol(mesh)}, [{_spell_sharding(sharding)}]>" for sharding in shardings
        )
        texts.append(f"{name} = #sdy.sharding_per_value<[{each}]>")
    return texts


def _spell_sharding(sharding: Sharding) -> str:
    return ", ".join(f"{{{', '.join(map(quote, axes))}}}" for axes in sharding)


def remove_constraint(operation: Operation) -> Operation:
    """Return a reshape in place of an operation that only constrains the sharding of a value.

    Emitted programs leave the sharding to the compiler. Other operations are unchanged.
    """
    is_constraint = operation.name.startswith("sdy.") and not operation.regions
    if not is_constraint or len(operation.operands) != 1 or len(operation.results) != 1:
        return operation
    return Operation("reshape", operation.operands, operation.results)


def spell_meshes(program: Program) -> list[str]:
    """Return the operations that declare the meshes of a program's manual computations."""
    meshes = dict.fromkeys(
        operation.attribute("mesh")
        for operation in program.walk()
        if structure_of(operation) is Structure.SHARDS
    )
    return [_spell_mesh(mesh) for mesh in meshes]


def _spell_mesh(mesh: Any) -> str:
    axes = ", ".join(f"{quote(name)}={size}" for name, size in mesh)
    symbol = _symbol(mesh).removeprefix("@")
    return f'"sdy.mesh"() <{{mesh = #sdy.mesh<[{axes}]>, sym_name = {symbol}}}> : () -> ()'


def _symbol(mesh: Mesh) -> str:
    """Return the symbol of a mesh in texts: its axes and their sizes."""
    return "@" + quote(" ".join(f"{name}={size}" for name, size in mesh))


def _dimensions(text: str, manual: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """Return the manual axes of each dimension. Along other axes a device has the whole array."""
    dimensions: list[tuple[str, ...]] = []
    for inside in _DIMENSION.findall(text):
        axes = _NAME.findall(inside)
        if any(part for _, part in axes):
            raise ValueError("shardings along parts of axes are not read")
        dimensions.append(tuple(name for name, _ in axes if name in manual))
    return tuple(dimensions)


def mesh_of(operation: Any, name: str) -> Mesh:
    """Return the mesh of that name in the module around an operation.

    Raises:
        ValueError: there is no such mesh, or it has its own order of devices.
    """
    mesh, device_ids = find_mesh(operation, name)
    if device_ids is not None:
        raise ValueError(f"@{name}: meshes with devices in another order are not read")
    return mesh


def find_mesh(operation: Any, name: str) -> tuple[Mesh, tuple[int, ...] | None]:
    """Return the mesh of that name around an operation, and the order of its devices if stated.

    Raises:
        ValueError: if there is none.
    """
    while operation.parent is not None:
        operation = operation.parent
    for view in operation.regions[0].blocks[0].operations:
        found = view.operation
        if found.name == "sdy.mesh" and str(found.attributes["sym_name"].value) == name:
            spelled = str(found.attributes["mesh"])
            ids = _DEVICE_IDS.search(spelled)
            given = tuple(map(int, ids[1].split(","))) if ids else None
            return tuple((axis, int(size)) for axis, size in _AXIS.findall(spelled)), given
    raise ValueError(f"there is no mesh @{name}")

"""Replica groups that a StableHLO attribute gives by the axes of a mesh, read from MLIR's text.

Source: StableHLO's #stablehlo.replica_group_mesh_axes.
"""

from __future__ import annotations

import re
from typing import Any

from jaxlib.mlir import ir

from conformance.stablehlo.lexical import extract_strings
from conformance.stablehlo.shardings import find_mesh
from reference.ir.mesh import AxisRef, MeshAxis, mesh_groups
from reference.ir.program import Dense

_MESH_AXES = re.compile(
    r"#stablehlo\.replica_group_mesh_axes<mesh = (?:@(?P<symbol>[^, ]+)|#stablehlo\.mesh<axes="
    r"\[(?P<of>[^\[\]]*)\](?:, device_ids=(?P<ids>.*))?>), axes = \[(?P<axes>[^\[\]]*)\]>"
)
"""Pattern of replica groups as MLIR prints them, its strings replaced by `extract_strings`."""
_MESH_AXIS = re.compile(r"<name = (\"[^\"]*\"), size = (-?\d+)>")
_AXIS_REF = re.compile(r"axis_ref<name = (\"[^\"]*\")(?:, sub_axis_info = \((-?\d+)\)(-?\d+))?>")


def replica_groups(operation: Any, attribute: Any) -> Dense | None:
    """Return the groups that axes of a mesh denote; None for another attribute.

    The attribute is read from MLIR's text, because jaxlib 0.10.0 has no bindings for it. An inlined
    mesh is kept; for a mesh of the module only the groups are.

    Raises:
        ValueError: axes and mesh do not fit, or there is no mesh of that name.
    """
    code, strings = extract_strings(str(attribute))
    found = _MESH_AXES.fullmatch(code)
    if found is None:
        return None

    def text(quoted: str) -> str:
        """Return the value of a string of the attribute, or of a name without quotes."""
        if not quoted.startswith('"'):
            return quoted
        literal = ir.Attribute.parse(strings[int(quoted[2:-1])], context=attribute.context)
        return ir.StringAttr(literal).value

    axes = tuple(
        AxisRef(text(name), int(before), int(size)) if size else AxisRef(text(name))
        for name, before, size in _AXIS_REF.findall(found["axes"])
    )
    if found["symbol"] is None:
        sizes = [MeshAxis(text(name), int(size)) for name, size in _MESH_AXIS.findall(found["of"])]
        ids = found["ids"] and ir.Attribute.parse(found["ids"], context=attribute.context)
        return mesh_groups(sizes, axes, tuple(_integers(ids)) if ids else None)
    named, order = find_mesh(operation, text(found["symbol"]))
    groups = mesh_groups([MeshAxis(*axis) for axis in named], axes, order)
    if groups.problem:
        raise ValueError(f"replica_groups: {groups.problem}")
    return Dense(groups.type, groups.data)


def _integers(attribute: Any) -> list[int]:
    """Return the elements of a dense attribute of integers."""
    elements: Any = ir.DenseIntElementsAttr(attribute)
    return list(elements)

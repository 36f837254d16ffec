"""Replica groups: listed, or stated by axes of a mesh."""

from __future__ import annotations

import pytest

from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from generators.cells.plan import cases
from reference.ir.mesh import MeshGroups
from reference.ir.program import Dense, Program
from reference.ir.types import ELEMENT_TYPES
from reference.ops.distribution.groups import listed_ids

F32 = ELEMENT_TYPES["f32"]
COLLECTIVES = (
    "all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_reduce",
    "reduce_scatter",
)  # fmt: skip


def _groups(op: str, name: str) -> list[tuple[Program, Dense]]:
    made = [one.program for one in cases(op, F32, 0, 60)]
    found = [(one, operation.attribute("replica_groups"))
             for one in made for operation in one.walk() if operation.name == name]  # fmt: skip
    return [(one, groups) for one, groups in found if isinstance(groups, Dense)]


@pytest.mark.parametrize("op", COLLECTIVES)
def test_groups_are_stated_in_every_form(op: str) -> None:
    """Listed, along axes and parts, in an order of the axes' own, with device_ids in any order."""
    found = [groups for _, groups in _groups(op, op)]
    meshes = [one for one in found if isinstance(one, MeshGroups)]
    assert len(meshes) < len(found)
    assert not any(one.problem for one in meshes)
    assert any(one.device_ids is None and len(one.mesh) > 1 for one in meshes)
    assert any(axis.size is not None for one in meshes for axis in one.axes)
    order = [[(axis.name, axis.pre_size) for axis in one.axes] for one in meshes]
    assert any(axes != sorted(axes) for axes in order)
    assert any(one.device_ids != tuple(sorted(one.device_ids or ())) for one in meshes
               if one.device_ids is not None)  # fmt: skip


@pytest.mark.parametrize("op", ["collective_broadcast", "collective_reduce"])
def test_a_mesh_may_leave_ids_out(op: str) -> None:
    left_out: set[bool] = set()
    for program, groups in _groups(op, op):
        if isinstance(groups, MeshGroups) and program.process_grid in {(4, 1), (8, 1)}:
            ids = [number for group in listed_ids(groups) for number in group]
            assert program.process_grid is not None
            left_out.add(len(ids) < program.process_grid[0])
    assert left_out == {False, True}


@pytest.mark.parametrize("op", ["AllGather", "AllReduce", "AllToAll", "ReduceScatter"])
def test_xla_builder_has_no_meshes(op: str) -> None:
    found = _groups(op, op)
    assert found
    assert not any(isinstance(groups, MeshGroups) for _, groups in found)


def test_meshes_are_read_as_they_are_written() -> None:
    meshes = 0
    for program, groups in _groups("reduce_scatter", "reduce_scatter"):
        if isinstance(groups, MeshGroups):
            meshes += 1
            read = [one.attribute("replica_groups") for one in parse_module(emit(program)).walk()
                    if one.name == "reduce_scatter"]  # fmt: skip
            assert groups in read
    assert meshes > 10

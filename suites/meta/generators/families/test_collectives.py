"""Collectives: replica groups, listed or stated by axes of a mesh, and ragged exchanges."""

from __future__ import annotations

import pytest

from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from generators.cells.plan import cases
from generators.families.collectives import replica_groups
from generators.families.collectives.ragged_exchange import ragged_all_to_all
from reference.ir.mesh import MeshGroups
from reference.ir.program import Dense, Program
from reference.ir.types import ELEMENT_TYPES
from reference.ops.distribution.groups import listed_ids
from suites.meta.support.built_cases import built, operations, pick_of, sizes

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


# --- The groups themselves -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "lengths"), [("one group", {6}), ("each alone", {1}), ("several groups", {2, 3})]
)
def test_all_ids_are_in_groups_of_one_size(kind: str, lengths: set[int]) -> None:
    seen: set[int] = set()
    for seed in range(20):
        found = replica_groups.groups(pick_of(seed, {"groups": kind}), 6)
        assert sorted(number for group in found for number in group) == list(range(6))
        assert len({*map(len, found)}) == 1
        seen.add(len(found[0]))
    assert seen == lengths


def test_a_prime_number_of_ids_has_no_several_groups() -> None:
    pick = pick_of(0)
    replica_groups.groups(pick, 5)
    assert pick.asked[0].offered == ("one group", "each alone")


def test_empty_groups_stand_for_all_ids_in_order() -> None:
    found, stated = replica_groups.state_groups(
        pick_of(0, {"groups": "none listed"}), 4, may_be_empty=True
    )
    assert found == [[0, 1, 2, 3]]
    assert stated.type.static_shape[0] == 0


@pytest.mark.parametrize(
    "way", ["axes of a mesh", "parts of an axis", "axes in an order of their own",
            "axes of a mesh with device_ids"],
)  # fmt: skip
def test_groups_by_a_mesh_are_the_groups_that_it_states(way: str) -> None:
    for seed in range(20):
        planned = {"groups are stated as": way, "groups": "one group"}
        found, stated = replica_groups.state_groups(pick_of(seed, planned), 8, may_be_empty=False)
        assert isinstance(stated, MeshGroups)
        assert found == listed_ids(stated)
        assert sorted(found[0]) == list(range(8))


def test_groups_may_leave_ids_out() -> None:
    for seed in range(20):
        found, _ = replica_groups.groups_of_some(pick_of(seed, {"ids left out": "yes"}), 6)
        assert sum(map(len, found)) < 6


def test_groups_of_several_sizes_are_filled_up() -> None:
    assert replica_groups.pad_groups([[3], [0, 2, 1]]).array.tolist() == [[3, -1, -1], [0, 2, 1]]
    planned = {"groups of several sizes": "yes", "groups are stated as": "listed"}
    for seed in range(20):
        stated = replica_groups.groups_of_any_sizes(pick_of(seed, planned), 5, may_be_empty=False)
        ids = [number for row in stated.array.tolist() for number in row if number >= 0]
        assert sorted(ids) == list(range(5))


# --- Ragged exchanges ----------------------------------------------------------------------------

EXCHANGE = "mhlo.ragged_all_to_all"


@pytest.mark.parametrize("kind", ["any", "nothing", "to one"])
def test_senders_and_receivers_agree(kind: str) -> None:
    for case in built(ragged_all_to_all, "f32", 12, {"parts": kind, "grid": "2 x 1"}):
        tables = [
            one.attribute("value").array  # type: ignore[union-attr]
            for one in operations([case], "constant")
            if len(sizes(one, -1)) > 1
        ]
        sent, received = tables[1], tables[3]
        assert sent.sum() == received.sum()
        if kind == "nothing":
            assert (sent.reshape(len(sent), -1).sum(axis=1) == 0).any()
        if kind == "to one":
            assert not sent.reshape(len(sent), sent.shape[1], -1)[:, 1:].any()


def test_processes_select_their_own_rows_of_the_tables() -> None:
    made = built(ragged_all_to_all, "f32", 80)
    for case in made:
        slices = operations([case], "dynamic_slice")
        assert len(slices) == 4
        assert all(sizes(one, -1)[0] == 1 for one in slices)
        assert len({one.operands[1] for one in slices}) == 1
    exchanges = operations(made, EXCHANGE)
    assert all(len({sizes(one, n) for n in range(2, 6)}) == 1 for one in exchanges)
    assert {len(sizes(one, 2)) for one in exchanges} == {1, 2}  # offsets have updates, or not
    rows = {sizes(one)[1:] for one in exchanges}
    assert {(), (3,), (2, 2), (0,)} <= rows
    assert {len(row) for row in rows} == {0, 1, 2}

"""Collectives: replica groups, listed or stated by axes of a mesh, and ragged exchanges."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from generators.case.case import Case
from generators.families.collectives import replica_groups
from generators.families.collectives.ragged_exchange import ragged_all_to_all
from generators.families.distribution import BUILDERS
from reference.ir.mesh import MeshGroups
from reference.ir.program import Operation
from reference.ops.distribution.groups import listed_ids
from suites.meta.support.built_cases import built, operations, pick_of, sizes
from suites.meta.support.claims import Items, drawn_contradictions, equals, planned

COLLECTIVES = (
    "all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_reduce",
    "reduce_scatter",
)  # fmt: skip


def forms(one: Operation) -> Items:
    """Return how the replica groups of an operation are stated."""
    stated: Any = one.attribute("replica_groups")
    if not isinstance(stated, MeshGroups):
        return Items(("listed",))
    axes = [(axis.name, axis.pre_size) for axis in stated.axes]
    devices = stated.device_ids
    found = {
        "several axes": devices is None and len(stated.mesh) > 1,
        "parts": any(axis.size is not None for axis in stated.axes),
        "axes in an order of their own": axes != sorted(axes),
        "device ids in any order": devices is not None and devices != tuple(sorted(devices)),
        "a problem": bool(stated.problem),
    }
    return Items(name for name, is_so in found.items() if is_so)


def leaves_ids_out(case: Case) -> Items:
    """Return whether a mesh of all processes leaves ids out."""
    stated: Any = case.program.subject.attribute("replica_groups")
    grid = case.program.process_grid
    if grid not in {(4, 1), (8, 1)} or not isinstance(stated, MeshGroups):
        return Items()
    return Items((sum(map(len, listed_ids(stated))) < grid[0],))


FORMS = {"listed", "several axes", "parts", "axes in an order of their own",
         "device ids in any order"}  # fmt: skip
CLAIMS = [
    *(equals(op, planned(count=100), "groups in every form", forms, FORMS) for op in COLLECTIVES),
    *(equals(op, planned(count=100, of_cases=True), "a mesh may leave ids out", leaves_ids_out,
             {True, False}) for op in ("collective_broadcast", "collective_reduce")),
    *(equals(op, planned(), "no meshes", forms, {"listed"})
      for op in ("AllGather", "AllReduce", "AllToAll", "ReduceScatter")),
]  # fmt: skip


@pytest.mark.parametrize("op", sorted({claim.op for claim in CLAIMS}))
def test_groups_are_as_claimed(op: str) -> None:
    assert not drawn_contradictions(op, CLAIMS)


def test_meshes_are_read_as_they_are_written() -> None:
    meshes = 0
    for made in built(BUILDERS["reduce_scatter"], "f32", 40):
        stated = [
            operation.attribute("replica_groups")
            for operation in operations([made], "reduce_scatter")
        ]
        meshes += any(isinstance(groups, MeshGroups) for groups in stated)
        read = [
            operation for operation in parse_module(emit(made.program)).walk() if operation.regions
        ]
        assert [one.attribute("replica_groups") for one in read
                if one.name == "reduce_scatter"] == stated  # fmt: skip
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
    pick = pick_of(0)
    replica_groups.groups(pick, 5)  # a prime number
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


def test_groups_of_several_sizes_are_filled_up() -> None:
    assert replica_groups.pad_groups([[3], [0, 2, 1]]).array.tolist() == [[3, -1, -1], [0, 2, 1]]
    planned = {"groups of several sizes": "yes", "groups are stated as": "listed"}
    for seed in range(20):
        stated = replica_groups.groups_of_any_sizes(pick_of(seed, planned), 5, may_be_empty=False)
        ids = [number for row in stated.array.tolist() for number in row if number >= 0]
        assert sorted(ids) == list(range(5))
        some, _ = replica_groups.groups_of_some(pick_of(seed, {"ids left out": "yes"}), 6)
        assert sum(map(len, some)) < 6


# --- Ragged exchanges ----------------------------------------------------------------------------

EXCHANGE = "mhlo.ragged_all_to_all"


@pytest.mark.parametrize("kind", ["any", "nothing", "to one"])
def test_senders_and_receivers_agree(kind: str) -> None:
    for case in built(ragged_all_to_all, "f32", 12, {"parts": kind, "grid": "2 x 1"}):
        tables = [
            operation.attribute("value").array  # type: ignore[union-attr]
            for operation in operations([case], "constant")
            if len(sizes(operation, -1)) > 1
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
    assert all(len({sizes(exchange, n) for n in range(2, 6)}) == 1 for exchange in exchanges)
    assert {len(sizes(exchange, 2)) for exchange in exchanges} == {
        1,
        2,
    }  # offsets have updates, or not
    rows = {sizes(exchange)[1:] for exchange in exchanges}
    assert {(), (3,), (2, 2), (0,)} <= rows
    assert {len(row) for row in rows} == {0, 1, 2}

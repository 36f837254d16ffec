"""Groups of processes in HLO, collectives, and values that lie on several devices."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.seeded_rewritings.messages import Message
from conformance.hlo import protos
from conformance.hlo.building import Building
from conformance.hlo.collectives import HANDLERS, groups_of
from conformance.hlo.placement import CopiesDiffer, Placement, placement_of
from conformance.hlo.protos import DeviceList, IotaGroups, Mesh, MeshGroups, ReplicaGroup
from conformance.hlo.unreadable import Unreadable
from conformance.stablehlo.parse import parse_module
from reference.ir.program import Dense, Program, Value
from reference.ops.distribution.groups import strategy_by_channel
from suites.meta.conformance.hlo.instructions import instruction, shape, site_of, tuple_shape
from suites.meta.support.small_programs import are_same, array, tensor_of

X = Value("x", tensor_of(4))
REPLICAS = strategy_by_channel(0)


def groups(strategy=REPLICAS, grid=(2, 3), **given) -> list[list[int]]:
    site = site_of(instruction("all-to-all", shape("f32", 4), **given), [X], grid=grid)
    return groups_of(site, strategy)


def test_without_groups_all_processes_are_one() -> None:
    assert groups() == [[0, 1]]


def test_listed_groups_in_the_old_and_the_new_field() -> None:
    listed = [ReplicaGroup([1, 0]), ReplicaGroup([2])]
    assert groups(replica_groups=listed) == [[1, 0], [2]]
    assert groups(collective_device_list=DeviceList(listed)) == [[1, 0], [2]]


@pytest.mark.parametrize(
    ("iota", "found"),
    [
        (IotaGroups(2, 3), [[0, 1, 2], [3, 4, 5]]),
        (IotaGroups(3, 2, [2, 3], [1, 0]), [[0, 3], [1, 4], [2, 5]]),
    ],
)
def test_groups_of_a_transposed_iota(iota: IotaGroups, found: list[list[int]]) -> None:
    given = DeviceList(iota_replica_group_list=iota)
    assert groups(collective_device_list=given) == found


def test_groups_along_an_axis_of_a_mesh() -> None:
    mesh = Mesh([protos.MeshAxis("x", 2), protos.MeshAxis("y", 3)])
    along = MeshGroups(mesh, [protos.AxisRef(0)])
    assert groups(mesh_axes_replica_group_list=along) == [[0, 3], [1, 4], [2, 5]]
    inner = MeshGroups(Mesh([protos.MeshAxis("x", 4)]), [protos.AxisRef(0, protos.SubAxis(1, 2))])
    assert groups(mesh_axes_replica_group_list=inner) == [[0, 2], [1, 3]]


def add_collective(opcode: str, result=None, *operands, **given):
    site = site_of(instruction(opcode, result or shape("f32", 4), **given), operands or [X])
    return HANDLERS[opcode](site), site.building.operations


def test_exchange_of_a_tuple_is_one_of_its_joined_parts() -> None:
    listed = [ReplicaGroup([0, 1])]
    result = tuple_shape(shape("f32", 4), shape("f32", 4))
    tree, operations = add_collective("all-to-all", result, X, X, replica_groups=listed)
    assert [one.type for one in tree] == [tensor_of(4)] * 2
    (exchange,) = (operation for operation in operations if operation.name == "all_to_all")
    assert exchange.operands[0].type == tensor_of(2, 4)
    assert exchange.attribute("split_count") == 2


def test_end_of_an_exchange_that_was_not_started_is_an_error() -> None:
    with pytest.raises(Unreadable, match="not started"):
        add_collective("all-gather-done")
    assert add_collective("all-gather-done", None, (X, X))[0] is X


@pytest.mark.parametrize(("body", "changed"), [("add", True), ("subtract", False)])
def test_combination_in_a_wider_type_is_one_of_the_operands_type(body: str, changed: bool) -> None:
    """A computation that is more than its operation on its arguments is left unchanged."""
    wide = Building()
    left, right = wide.value(tensor_of()), wide.value(tensor_of())
    result = wide.binary(body, left, right if changed else left)
    region = wide.region((left, right), (result,))
    x = Value("x", tensor_of(4, of="bf16"))
    one = instruction("all-reduce", shape("bf16", 4), called_computation_ids=[0])
    site = site_of(one, [x])
    object.__setattr__(site, "computations", SimpleNamespace(grid=(2, 1), body=lambda *_: region))
    HANDLERS["all-reduce"](site)
    (reduced,) = site.building.operations
    kept = reduced.regions[0].arguments[0].type
    assert kept == tensor_of(of="bf16" if changed else "f32")


@pytest.mark.parametrize(
    ("grid", "listed"),
    [((2, 3), [[0, 1, 2, 3, 4, 5]]), ((2, 1), [[0, 1]])],
)
def test_groups_of_all_partitions_list_them_replica_by_replica(
    grid: tuple[int, int], listed: list[list[int]]
) -> None:
    given = instruction("all-gather", shape("f32", 24), dimensions=[0], channel_id=1)
    site = site_of(given, [X], grid=grid)
    HANDLERS["all-gather"](site)
    (gathered,) = site.building.operations
    found = gathered.attribute("replica_groups")
    assert isinstance(found, Dense)
    assert found.array.tolist() == listed
    assert gathered.attribute("use_global_device_ids") is (grid[1] > 1)


# --- Placement of values on devices ---------------------------------------------------------------

REPLICATED, MAXIMAL, TUPLE, TILED = 0, 1, 2, 3


def program(sizes: str, count: int) -> Program:
    """Return a program of one argument and one result of these sizes, for some partitions."""
    return parse_module(
        f"""module attributes {{mhlo.num_partitions = {count} : i32}} {{
func.func @main(%x: tensor<{sizes}xf32> {{mhlo.sharding = "{{replicated}}"}}) -> tensor<{sizes}xf32> {{
  return %x : tensor<{sizes}xf32>
}}
}}"""  # noqa: E501
    )


def sharding_message(kind: int, dimensions: list[int], **given: list[int]) -> Message:
    """Return a serialised sharding."""
    numbers = {"devices": 4, "last": 8, "reshape": 9, "transpose": 10}
    made = Message()
    made.put_integer(1, kind)
    made.put_integers(3, dimensions)
    for name, values in given.items():
        made.put_integers(numbers[name], values)
    return made


def placement_in_module(of: Message, sizes: str, count: int) -> Placement | None:
    """Return the placement by a module with the same sharding of argument and result."""
    module = Message()
    module.put_messages(12, [of])
    module.put_messages(14, [of])
    return placement_of(module.serialise(), program(sizes, count))


def test_rows_lie_on_devices_in_the_order_that_is_listed() -> None:
    placement = placement_in_module(sharding_message(TILED, [2, 1], devices=[1, 0]), "4x2", 2)
    assert placement is not None
    rows = np.arange(8, dtype=np.float32).reshape(4, 2)
    shares = placement.split([rows])
    assert are_same([share[0] for share in shares], [rows[2:], rows[:2]])
    assert are_same(placement.join([share[0] for share in shares]), [rows])


def test_an_iota_is_reshaped_and_transposed() -> None:
    of = sharding_message(TILED, [4, 1, 2], last=[REPLICATED], reshape=[2, 4], transpose=[1, 0])
    placement = placement_in_module(of, "4x1", 8)
    assert placement is not None
    rows = array([[0], [1], [2], [3]])
    firsts = [int(share[0][0, 0]) for share in placement.split([rows])]
    assert firsts == [0, 1, 2, 3, 0, 1, 2, 3]


def test_uneven_shards_are_padded_and_cropped() -> None:
    placement = placement_in_module(sharding_message(TILED, [2], devices=[0, 1]), "3", 2)
    assert placement is not None
    shares = placement.split([array([1, 2, 3])])
    assert shares[1][0][0] == 3
    assert np.isnan(shares[1][0][1])
    assert are_same(placement.join([share[0] for share in shares]), [array([1, 2, 3])])


def test_copies_that_differ_are_an_error() -> None:
    placement = placement_in_module(sharding_message(REPLICATED, []), "2", 2)
    assert placement is not None
    nan = float("nan")
    assert np.isnan(placement.join([array([1, nan]), array([1, nan])])[0][1])
    with pytest.raises(
        CopiesDiffer, match=r"of result 0: at \[1\], partition 0 has 2.0, partition"
    ):
        placement.join([array([1, 2]), array([1, 3])])


@pytest.mark.parametrize(
    ("of", "why"),
    [
        (sharding_message(MAXIMAL, [1], devices=[0]), "its kind 1 has no meaning"),
        (sharding_message(TILED, [4], devices=[0, 1, 2, 3]), "over 4 devices"),
        (sharding_message(TILED, [1, 2], devices=[0, 1], last=[4]), "in part manual"),
        (sharding_message(TUPLE, []), "not those of the program"),
    ],
)
def test_a_sharding_without_a_meaning_is_unreadable(of: Message, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        placement_in_module(of, "2", 2)

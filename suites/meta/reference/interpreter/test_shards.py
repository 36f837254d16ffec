"""Arrays are split over the axes of a mesh, and joined again."""

from __future__ import annotations

import numpy as np

from reference.interpreter.shards import devices_of, join_shards, shard

MESH = (("x", 2), ("y", 3))
DEVICES = devices_of(MESH)


def test_the_last_axis_of_a_mesh_changes_first() -> None:
    assert DEVICES[:4] == [{"x": 0, "y": 0}, {"x": 0, "y": 1}, {"x": 0, "y": 2}, {"x": 1, "y": 0}]


def test_each_device_has_its_part() -> None:
    numbers = np.arange(12).reshape(2, 6)
    sharding = (("x",), ("y",))
    assert shard(numbers, sharding, MESH, {"x": 1, "y": 2}).tolist() == [[10, 11]]
    assert shard(numbers, ((), ("y",)), MESH, {"x": 1, "y": 0}).tolist() == [[0, 1], [6, 7]]


def test_the_first_axis_of_a_dimension_is_the_major_one() -> None:
    numbers = np.arange(6)
    assert shard(numbers, (("x", "y"),), MESH, {"x": 1, "y": 0}).tolist() == [3]
    assert shard(numbers, (("y", "x"),), MESH, {"x": 1, "y": 0}).tolist() == [1]


def test_shards_are_joined_to_the_array() -> None:
    numbers = np.arange(24).reshape(6, 4)
    for sharding in ((("x",), ()), (("y", "x"), ()), (("y",), ("x",))):
        parts = [shard(numbers, sharding, MESH, device) for device in DEVICES]
        assert join_shards(parts, sharding, MESH, DEVICES).tolist() == numbers.tolist()


def test_the_first_of_several_replicas_counts() -> None:
    parts = [np.array([number]) for number in range(6)]
    assert join_shards(parts, (("x",),), MESH, DEVICES).tolist() == [0, 3]

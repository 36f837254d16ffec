"""Processes of a grid, and what a process sees of the others of its group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reference.ir.processes import Process, ProcessId, processes


def test_partitions_of_a_replica_are_neighbours() -> None:
    assert processes((2, 3)) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert processes((1, 1)) == [(0, 0)]


def test_a_process_posts_its_value_before_it_takes_those_of_its_group() -> None:
    posted: dict[ProcessId, Any] = {(1, 0): "other"}

    def post(value: Any) -> None:
        posted[0, 0] = value

    def take(group: Sequence[ProcessId]) -> list[Any]:
        return [posted[one] for one in group]

    process = Process((0, 0), (2, 1), post, take, lambda _: None)
    assert process.exchange([(1, 0), (0, 0)], "own") == ["other", "own"]

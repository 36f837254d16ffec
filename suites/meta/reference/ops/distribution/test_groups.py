"""Groups of processes, by the four strategies of collectives."""

from __future__ import annotations

import pytest

from reference.ir.constants import matrix
from reference.ops.distribution import groups
from reference.ops.distribution.groups import (
    Strategy,
    cross_partition,
    cross_replica,
    cross_replica_and_partition,
    flattened_ids,
    group_of,
    ids_of,
    is_empty,
    listed_ids,
)

GRID = (3, 2)
"""Three replicas, two partitions."""


@pytest.mark.parametrize(
    ("strategy", "ids", "found"),
    [
        (cross_replica, [[2, 0]], [[(2, 0), (0, 0)], [(2, 1), (0, 1)]]),
        (cross_partition, [[1, 0]], [[(0, 1), (0, 0)], [(1, 1), (1, 0)], [(2, 1), (2, 0)]]),
        (cross_replica_and_partition, [[2, 0]], [[(2, 0), (0, 0), (2, 1), (0, 1)]]),
        (flattened_ids, [[5, 0], [3]], [[(2, 1), (0, 0)], [(1, 1)]]),
    ],
)
def test_groups_in_the_order_of_their_ids(
    strategy: Strategy, ids: list[list[int]], found: list[list[tuple[int, int]]]
) -> None:
    assert strategy(ids, GRID) == found


def test_the_channel_and_global_ids_decide_the_strategy() -> None:
    by_ids = groups.strategy_by_global_ids
    assert by_ids(0, use_global_device_ids=False) is cross_replica
    assert by_ids(1, use_global_device_ids=False) is cross_replica_and_partition
    assert by_ids(1, use_global_device_ids=True) is flattened_ids
    assert groups.strategy_by_channel(0) is cross_replica
    assert groups.strategy_by_channel(1) is cross_partition


def test_ids_of_each_strategy() -> None:
    strategies = (cross_replica, cross_partition, cross_replica_and_partition, flattened_ids)
    assert [ids_of(strategy, GRID) for strategy in strategies] == [3, 2, 3, 6]


def test_padding_is_no_id() -> None:
    assert listed_ids(matrix([[0, 1], [2, -1]])) == [[0, 1], [2]]
    assert not is_empty(matrix([[0]]))
    assert is_empty(matrix([], columns=2))


def test_the_group_of_a_process() -> None:
    found = cross_replica([[0, 1]], GRID)
    assert group_of(found, (1, 1)) == [(0, 1), (1, 1)]
    assert group_of(found, (2, 0)) is None

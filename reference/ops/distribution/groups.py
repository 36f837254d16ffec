"""Process groups of collectives.

Spec, "Collective ops": four strategies, each of which makes ordered groups of process ids from
groups of replica ids, partition ids or flattened ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reference.ir.processes import ProcessGrid, ProcessId
from reference.ir.program import Dense

IdGroups = Sequence[Sequence[int]]
ProcessGroups = list[list[ProcessId]]

Strategy = Callable[[IdGroups, ProcessGrid], ProcessGroups]
"""A function strategy(groups of ids, grid): the process groups."""


def cross_replica(replica_groups: IdGroups, grid: ProcessGrid) -> ProcessGroups:
    """Return groups within one partition: each replica group once per partition."""
    _, partitions = grid
    return [[(r, p) for r in group] for group in replica_groups for p in range(partitions)]


def cross_partition(partition_groups: IdGroups, grid: ProcessGrid) -> ProcessGroups:
    """Return groups within one replica: each partition group once per replica."""
    replicas, _ = grid
    return [[(r, p) for p in group] for group in partition_groups for r in range(replicas)]


def cross_replica_and_partition(replica_groups: IdGroups, grid: ProcessGrid) -> ProcessGroups:
    """Return groups of all partitions of some replicas: partition by partition, replicas in
    order."""
    _, partitions = grid
    return [[(r, p) for p in range(partitions) for r in group] for group in replica_groups]


def flattened_ids(flattened_id_groups: IdGroups, grid: ProcessGrid) -> ProcessGroups:
    """Return groups by flattened ids: replica_id * num_partitions + partition_id."""
    _, partitions = grid
    return [[divmod(flat, partitions) for flat in group] for group in flattened_id_groups]


def strategy_by_global_ids(channel_id: int, use_global_device_ids: bool) -> Strategy:
    """Return the strategy of all_gather, all_reduce and reduce_scatter: global ids are possible."""
    if use_global_device_ids:
        return flattened_ids
    return cross_replica_and_partition if channel_id > 0 else cross_replica


def strategy_by_channel(channel_id: int) -> Strategy:
    """Return the strategy of collectives that have no attribute `use_global_device_ids`."""
    return cross_partition if channel_id > 0 else cross_replica


_ID_COUNTS: dict[Strategy, Callable[[ProcessGrid], int]] = {
    cross_replica: lambda grid: grid[0],
    cross_replica_and_partition: lambda grid: grid[0],
    cross_partition: lambda grid: grid[1],
    flattened_ids: lambda grid: grid[0] * grid[1],
}


def ids_of(strategy: Strategy, grid: ProcessGrid) -> int:
    """Return the number of ids of the kind that a strategy takes."""
    return _ID_COUNTS[strategy](grid)


def listed_ids(replica_groups: Dense) -> list[list[int]]:
    """Return the groups of ids; MLIR pads groups of several sizes with -1."""
    rows: list[list[int]] = replica_groups.array.tolist()
    return [[number for number in row if number != PADDING] for row in rows]


def is_empty(replica_groups: Dense) -> bool:
    """Return whether `replica_groups` lists no groups."""
    return replica_groups.type.shape[0] == 0


PADDING = -1


def group_of(groups: ProcessGroups, process: ProcessId) -> list[ProcessId] | None:
    """Return the group that a process is in, or None."""
    return next((group for group in groups if process in group), None)

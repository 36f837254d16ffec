"""The process that an operation is executed in, as the ops that communicate see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

ProcessId = tuple[int, int]
"""(replica_id, partition_id)."""

ProcessGrid = tuple[int, int]
"""(num_replicas, num_partitions)."""

Post = Callable[[Any], None]
"""post(value): hand a value in at this operation, for the other processes to take."""

Wait = Callable[[Callable[[], bool]], None]
"""wait(is_ready): let other processes go on until something has happened; at once, if alone."""

Take = Callable[[Sequence[ProcessId]], list[Any]]
"""take(processes): what these have handed in at this operation, once all of them have."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process in its grid, at one execution of an operation that communicates."""

    id: ProcessId
    grid: ProcessGrid
    post: Post
    take: Take
    wait: Wait

    def exchange(self, group: Sequence[ProcessId], value: Any) -> list[Any]:
        """What each process of a group has handed in here, in the group's order.

        Raises:
            EvaluationError: when one of them never comes.
        """
        self.post(value)
        return self.take(group)


def processes(grid: ProcessGrid) -> list[ProcessId]:
    """The ids of all processes of a grid, in the order of `flattened_ids`."""
    replicas, partitions = grid
    return [(replica, partition) for replica in range(replicas) for partition in range(partitions)]

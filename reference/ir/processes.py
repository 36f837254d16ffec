"""The process that executes an operation, as ops that communicate see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

ProcessId = tuple[int, int]
"""The id of a process: (replica_id, partition_id)."""

ProcessGrid = tuple[int, int]
"""The size of a process grid: (num_replicas, num_partitions)."""

Post = Callable[[Any], None]
"""A function post(value): publishes a value at this operation for the other processes."""

Wait = Callable[[Callable[[], bool]], None]
"""A function wait(is_ready): lets other processes run until a condition holds; returns at once for
one process.
"""

Take = Callable[[Sequence[ProcessId]], list[Any]]
"""A function take(processes): the values that these processes posted at this operation, once all
have posted.
"""


@dataclass(frozen=True, slots=True)
class Process:
    """A process in its grid, at one execution of an operation that communicates."""

    id: ProcessId
    grid: ProcessGrid
    post: Post
    take: Take
    wait: Wait

    def exchange(self, group: Sequence[ProcessId], value: Any) -> list[Any]:
        """Return the value of each process of a group at this operation, in the group's order.

        Raises:
            EvaluationError: if a process of the group never executes the operation.
        """
        self.post(value)
        return self.take(group)


def processes(grid: ProcessGrid) -> list[ProcessId]:
    """Return the ids of all processes of a grid, in the order of `flattened_ids`."""
    replicas, partitions = grid
    return [(replica, partition) for replica in range(replicas) for partition in range(partitions)]

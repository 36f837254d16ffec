"""Process groups of replicas and partitions in another order than the specification's.

The specification's `cross_replica_and_partition` goes through the partitions, and in each through
the replicas of the group. XLA goes through the replicas, and in each through the partitions.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.transforms.collective import collectives_of
from conformance.transforms.replacing import replace_operations
from generators.families.collectives.replica_groups import pad_groups
from reference.ir.processes import ProcessGrid
from reference.ir.program import Dense, Operation, Program
from reference.ops.distribution.groups import listed_ids
from reference.ops.table import OPS

LABEL = "order of the process group"


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with its process groups in XLA's order, if that differs."""
    other = replica_by_replica(program)
    if other is not None:
        yield (other,)


def replica_by_replica(program: Program) -> Program | None:
    """Return the program with its collectives' process groups in XLA's order.

    None where the order is the same. The groups are written as flattened ids, which have an order
    of their own.
    """
    several = collectives_of(program)
    grid = program.process_grid or (1, 1)
    changed = [(one, _reorder_processes(one, grid)) for one in several]
    replaced = [(one, (other,)) for one, other in changed if other is not None]
    return replace_operations(program, replaced) if replaced else None


def _reorder_processes(one: Operation, grid: ProcessGrid) -> Operation | None:
    replicas, partitions = grid
    groups = one.attribute("replica_groups")
    if min(replicas, partitions) < 2 or not isinstance(groups, Dense) or not _mixes(one):
        return None
    flattened = [
        [replica * partitions + p for replica in group for p in range(partitions)]
        for group in listed_ids(groups)
    ]
    return one.with_attributes(replica_groups=pad_groups(flattened), use_global_device_ids=True)


def _mixes(operation: Operation) -> bool:
    """Return whether the groups contain replicas with all their partitions."""
    channel = operation.attribute("channel_id", 0)
    flat = operation.attribute("use_global_device_ids", False)
    takes = "use_global_device_ids" in OPS[operation.name].attributes
    return takes and not flat and isinstance(channel, int) and channel > 0

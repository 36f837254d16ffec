"""Process groups of replicas and partitions in another order than the specification's.

The specification's `cross_replica_and_partition` goes through the partitions, and in each through
the replicas of the group. XLA goes through the replicas, and in each through the partitions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.transforms.collective import collective_of
from conformance.transforms.replacing import with_operation
from generators.families.distribution import padded
from reference.ir.program import Dense, Operation, Program, attributes
from reference.ops.distribution.groups import listed_ids
from reference.ops.table import OPS

LABEL = "order of the process group"


def replica_by_replica(program: Program) -> Program | None:
    """The program with its collective's process groups in XLA's order; None where it is alike.

    The groups are written as flattened ids, which have an order of their own.
    """
    one, (replicas, partitions) = collective_of(program), program.process_grid or (1, 1)
    if one is None or min(replicas, partitions) < 2:
        return None
    groups = one.attribute("replica_groups")
    if not isinstance(groups, Dense) or not _mixes(one):
        return None
    flattened = [
        [replica * partitions + p for replica in group for p in range(partitions)]
        for group in listed_ids(groups)
    ]
    given: dict[str, Any] = dict(one.attributes)
    given |= {"replica_groups": padded(flattened), "use_global_device_ids": True}
    return with_operation(program, one, replace(one, attributes=attributes(**given)))


def _mixes(operation: Operation) -> bool:
    """Whether its groups are of replicas with all their partitions."""
    channel = operation.attribute("channel_id", 0)
    flat = operation.attribute("use_global_device_ids", False)
    takes = "use_global_device_ids" in OPS[operation.name].attributes
    return takes and not flat and isinstance(channel, int) and channel > 0

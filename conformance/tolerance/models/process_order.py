"""Process groups of replicas and partitions in another order than the specification's.

The specification's `cross_replica_and_partition` goes through the partitions, and in each through
the replicas of the group. XLA goes through the replicas, and in each through the partitions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from generators.families.distribution import padded
from reference.ir.program import Dense, Operation, Program, attributes
from reference.ops.distribution.groups import listed_ids
from reference.ops.table import OPS

LABEL = "order of the process group"


def replica_by_replica(program: Program) -> Program | None:
    """The program with its last operation's process groups in XLA's order; None where it is alike.

    The groups are written as flattened ids, which have an order of their own.
    """
    subject, (replicas, partitions) = program.subject, program.process_grid or (1, 1)
    groups = subject.attribute("replica_groups")
    if min(replicas, partitions) < 2 or not isinstance(groups, Dense) or not _mixes(subject):
        return None
    flattened = [
        [replica * partitions + p for replica in group for p in range(partitions)]
        for group in listed_ids(groups)
    ]
    given: dict[str, Any] = dict(subject.attributes)
    given |= {"replica_groups": padded(flattened), "use_global_device_ids": True}
    *before, _, end = program.main.body.operations
    operations = (*before, replace(subject, attributes=attributes(**given)), end)
    main = replace(program.main, body=replace(program.main.body, operations=operations))
    others = (one for one in program.functions if one is not program.main)
    return replace(program, functions=(main, *others))


def _mixes(operation: Operation) -> bool:
    """Whether its groups are of replicas with all their partitions."""
    channel = operation.attribute("channel_id", 0)
    flat = operation.attribute("use_global_device_ids", False)
    takes = "use_global_device_ids" in OPS[operation.name].attributes
    return takes and not flat and isinstance(channel, int) and channel > 0

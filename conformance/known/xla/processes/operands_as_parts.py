"""Several operands of all_to_all, taken for the parts of one operand that has been split already.

The specification splits every operand. XLA's instruction has two forms, one with a single operand
that it splits and one with an operand for every process of the group; a translation that writes
the operands of the specification as those of the second form gives each process whole operands.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.known.mistaken import gives
from conformance.known.xla.processes.misread_groups import without_device_ids
from conformance.transforms.collective import collective_of
from reference.ir.processes import Process
from reference.ir.program import Dense, Program
from reference.ir.types import Array
from reference.ops.distribution.groups import by_channel, group_of, listed_ids

LABEL = "operands taken for parts"


def explains(program: Program, inputs: Sequence[Array], actual: Sequence[Array]) -> bool:
    """Whether a program of several processes gives just what that mistake makes of its inputs."""
    plain = without_device_ids(program)
    return any(_makes(one, inputs, actual) for one in (program, plain) if one is not None)


def _makes(program: Program, inputs: Sequence[Array], actual: Sequence[Array]) -> bool:
    one = collective_of(program)
    if one is None or one.name != "all_to_all" or len(one.operands) < 2:
        return False
    groups, channel = one.attribute("replica_groups"), one.attribute("channel_id", 0)
    if one.attribute("split_count") != len(one.operands):
        return False
    assert isinstance(groups, Dense)
    assert isinstance(channel, int)
    by_process = by_channel(channel)(listed_ids(groups), program.process_grid or (1, 1))

    def taken(_: tuple[Array, ...], process: Process) -> Sequence[Array]:
        group = group_of(by_process, process.id) or []
        return [given[group.index(process.id)] for given in process.take(group)]

    return gives(program, inputs, actual, one, taken)

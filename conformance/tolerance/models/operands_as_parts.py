"""Several operands of all_to_all, taken for the parts of one operand that has been split already.

The specification splits every operand. XLA's instruction has two forms, one with a single operand
that it splits and one with an operand for every process of the group; a translation that writes
the operands of the specification as those of the second form gives each process whole operands.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.transforms.extract import returning
from reference.interpreter.evaluate import evaluate, shared_out
from reference.ir.processes import processes
from reference.ir.program import Dense, Program
from reference.ir.types import Array
from reference.ops.distribution.groups import by_channel, group_of, listed_ids
from reference.unspecified.reduction import differ

LABEL = "operands taken for parts"


def explains(program: Program, inputs: Sequence[Array], actual: Sequence[Array]) -> bool:
    """Whether a program of several processes gives just what that mistake makes of its inputs."""
    subject, grid = program.subject, program.process_grid or (1, 1)
    groups, channel = subject.attribute("replica_groups"), subject.attribute("channel_id", 0)
    count = len(subject.operands)
    if subject.name != "all_to_all" or count < 2 or subject.attribute("split_count") != count:
        return False
    assert isinstance(groups, Dense)
    assert isinstance(channel, int)
    shares = shared_out(program, evaluate(returning(program, subject.operands), inputs))
    given = dict(zip(processes(grid), shares, strict=True))
    by_process = by_channel(channel)(listed_ids(groups), grid)
    predicted: list[Array] = []
    for process in processes(grid):
        group = group_of(by_process, process)
        if group is None:
            return False
        predicted += [given[giver][group.index(process)] for giver in group]
    return len(predicted) == len(actual) and all(map(alike, predicted, actual))


def alike(mine: Array, got: Array) -> bool:
    """Whether two arrays have the same elements, whatever shape they are said to have."""
    if mine.dtype != got.dtype or mine.size != got.size:
        return False
    return not differ(mine.reshape(-1), got.reshape(-1)).any()

"""Several operands of one all_to_all, misread as parts of a single operand.

The specification splits every operand. XLA's instruction has two forms: with a single operand that
it splits, and with an operand for every process of the group. A translation to the second form
gives each process whole operands.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from conformance.known.writing import OperationWriter
from conformance.known.xla.processes.misread_groups import without_device_ids
from conformance.transforms.collective import collective_of
from conformance.transforms.replacing import replace_operation
from reference.ir.program import Operation, Program, tensor_of

LABEL = "operands taken for parts"


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield a program in which all operands of a collective are the parts of a single operand."""
    for one in (program, without_device_ids(program)):
        collective = None if one is None else collective_of(one)
        if one is None or collective is None or collective.name != "all_to_all":
            continue
        types = {value.type for value in collective.operands}
        if len(types) == 1 < len(collective.operands) == collective.attribute("split_count"):
            yield (replace_operation(one, collective, *_join_operands(collective)),)


def _join_operands(operation: Operation) -> list[Operation]:
    """Return an all_to_all of one operand, whose rows are the operands."""
    size, count = math.prod(tensor_of(operation.operands[0]).static_shape), len(operation.operands)
    writer = OperationWriter(operation.results[0].name)
    rows = [writer.add("reshape", (operand,), shape=(1, size)) for operand in operation.operands]
    whole = writer.add("concatenate", rows, shape=(count, size), dimension=0)
    split = replace(whole, name=f"{writer.prefix}.split")
    other = operation.with_attributes(split_dimension=0, concat_dimension=0)
    writer.operations.append(replace(other, operands=(whole,), results=(split,)))
    for number, result in enumerate(operation.results):
        part = writer.slice(split, (number, 0), (number + 1, size))
        writer.define(result, "reshape", (part,))
    return writer.operations

"""Several operands of one all_to_all, misread as parts of a single operand.

The specification splits every operand. XLA's instruction has two forms: with a single operand that
it splits, and with an operand for every process of the group. A translation to the second form
gives each process whole operands.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from conformance.known.xla.processes.misread_groups import without_device_ids
from conformance.transforms.collective import collective_of
from conformance.transforms.replacing import replace_operation
from reference.ir.program import Operation, Program, TensorType, Value, attributes

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


def _join_operands(operation: Operation) -> Iterator[Operation]:
    """Yield an all_to_all of one operand, whose rows are the operands."""
    of, count = operation.operands[0].type, len(operation.operands)
    assert isinstance(of, TensorType)
    name, size = operation.results[0].name, math.prod(of.static_shape)

    def value(what: str, *shape: int) -> Value:
        return Value(f"{name}.{what}", TensorType(shape, of.element_type))

    rows = tuple(value(f"row{number}", 1, size) for number in range(count))
    for operand, row in zip(operation.operands, rows, strict=True):
        yield Operation("reshape", (operand,), (row,))
    whole, split = value("whole", count, size), value("split", count, size)
    yield Operation("concatenate", rows, (whole,), attributes(dimension=0))
    other = operation.with_attributes(split_dimension=0, concat_dimension=0)
    yield replace(other, operands=(whole,), results=(split,))
    for number, result in enumerate(operation.results):
        part = value(f"part{number}", 1, size)
        limits = {"start_indices": (number, 0), "limit_indices": (number + 1, size)}
        yield Operation("slice", (split,), (part,), attributes(**limits, strides=(1, 1)))
        yield Operation("reshape", (part,), (result,))

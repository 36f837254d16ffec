"""Updates of a ragged_all_to_all whose offsets have two dimensions: only the first are sent.

XLA for GPUs takes the size of the first dimension, which is that of the processes, for the number
of all updates. It reads that many numbers from the beginning of each operand, one for each process.

Source: xla/backends/gpu/runtime/ragged_all_to_all_thunk.cc, `num_total_updates`, read; jaxlib
0.11.2 on an NVIDIA H200.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from conformance.known.writing import OperationWriter
from conformance.transforms.collective import collective_of
from conformance.transforms.replacing import replace_operation
from reference.ir.program import Operation, Program, Value, tensor_of

LABEL = "first updates sent"

_DATA = 2
"""The number of operands in front of offsets and sizes: input and output."""


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program that sends one update to each process."""
    collective = collective_of(program)
    if collective is not None and concerns(collective):
        yield (replace_operation(program, collective, *_send_first(collective)),)


def concerns(operation: Operation) -> bool:
    """Return whether an operation is a ragged_all_to_all with several updates for each process."""
    if operation.name != "mhlo.ragged_all_to_all":
        return False
    return any(count != 1 for count in tensor_of(operation.operands[_DATA]).static_shape[1:])


def _send_first(operation: Operation) -> list[Operation]:
    """Return the operation on the first numbers of its offsets and sizes."""
    first, writer = list[Value](), OperationWriter(operation.results[0].name)
    for value in operation.operands[_DATA:]:
        sizes = tensor_of(value).static_shape
        flat = writer.add("reshape", (value,), shape=(math.prod(sizes),))
        first.append(writer.slice(flat, (0,), sizes[:1]))
    other = replace(operation, operands=(*operation.operands[:_DATA], *first))
    return [*writer.operations, other]

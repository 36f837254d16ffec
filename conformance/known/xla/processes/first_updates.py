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

from conformance.transforms.collective import collective_of
from conformance.transforms.replacing import replace_operation
from reference.ir.program import Operation, Program, TensorType, Value, attributes

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
    return any(count != 1 for count in _sizes(operation.operands[_DATA])[1:])


def _sizes(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, TensorType)
    return value.type.static_shape


def _send_first(operation: Operation) -> Iterator[Operation]:
    """Yield the operation on the first numbers of its offsets and sizes."""
    first: list[Value] = []
    for number, value in enumerate(operation.operands[_DATA:]):
        assert isinstance(value.type, TensorType)
        count, element = _sizes(value)[0], value.type.element_type
        name, shape = f"{operation.results[0].name}.{number}", (math.prod(_sizes(value)),)
        flat = Value(f"{name}.flat", TensorType(shape, element))
        part = Value(f"{name}.first", TensorType((count,), element))
        given = attributes(start_indices=(0,), limit_indices=(count,), strides=(1,))
        yield Operation("reshape", (value,), (flat,))
        yield Operation("slice", (flat,), (part,), given)
        first.append(part)
    yield replace(operation, operands=(*operation.operands[:_DATA], *first))

"""Slices of values of dynamic size whose start is clamped too late.

The start of a slice is clamped so that the slice ends within the operand. If only a bound of the
operand's size is known, XLA clamps the start so that the slice ends within the bound, and so reads
padding. The bound follows from the preceding operations, and may be less than the stated bound.

Source: jaxlib 0.10.2 and 0.12, measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from conformance.known.writing import OperationWriter
from conformance.known.xla.memory import CONTENTS, Content, memory_value
from conformance.transforms.replacing import replace_operations
from reference.ir.program import Operation, Program, TensorType, Value, tensor_of

LABEL = "start clamped to the bound"

_SLICES, _CUTS, _JOINS = "dynamic_slice", "set_dimension_size", "concatenate"


def concerns(operation: Operation) -> bool:
    """Return whether an operation slices an operand with one dimension whose size has only a
    bound.
    """
    return operation.name == _SLICES and _bounded_dimension(operation) is not None


def rewrite(program: Program) -> Iterator[tuple[Program, ...]]:
    """Yield the program with late starts, for each content of the padding."""
    operations = program.main.body.operations
    slices = [one for one in operations if concerns(one)]
    if not slices:
        return
    makers = {value.name: one for one in operations for value in one.results}
    yield tuple(
        replace_operations(
            program, [(one, tuple(_slice_late(one, content, makers))) for one in slices]
        )
        for content in CONTENTS
    )


def _room(value: Value, dimension: int, makers: Mapping[str, Operation]) -> int:
    """Return the largest size of a dimension, derived from the operations that define a value."""
    of = tensor_of(value)
    size = of.shape[dimension]
    if size is not None:
        return size
    maker = makers.get(value.name)
    if maker is not None and maker.name == _CUTS:
        return _room(maker.operands[0], dimension, makers)
    if maker is not None and maker.name == _JOINS and maker.attribute("dimension") == dimension:
        return sum(_room(one, dimension, makers) for one in maker.operands)
    alike = (one for one in (maker.operands if maker is not None else ()) if _is_alike(one, of))
    same = next(alike, None)
    assert of.bounds
    return of.bounds[dimension] or 0 if same is None else _room(same, dimension, makers)


def _is_alike(value: Value, of: TensorType) -> bool:
    """Return whether a value has the shape and bounds of a type."""
    other = value.type
    return isinstance(other, TensorType) and (other.shape, other.bounds) == (of.shape, of.bounds)


def _bounded_dimension(operation: Operation) -> int | None:
    """Return the operand's dimension whose size has only a bound, or None."""
    of = operation.operands[0].type
    if not isinstance(of, TensorType) or not of.bounds:
        return None
    free = [number for number, size in enumerate(of.shape) if size is None]
    return free[0] if len(free) == 1 and of.bounds[free[0]] is not None else None


def _slice_late(
    operation: Operation, content: Content, makers: Mapping[str, Operation]
) -> list[Operation]:
    """Return the slice of the padded operand, with a start that fits the bound."""
    writer = OperationWriter(operation.results[0].name)
    operand, free = operation.operands[0], _bounded_dimension(operation)
    of, sizes = tensor_of(operand), operation.attribute("slice_sizes")
    assert free is not None
    assert of.bounds
    assert isinstance(sizes, tuple)
    bound, room = of.bounds[free] or 0, _room(operand, free, makers)
    full = tuple(bound if size is None else size for size in of.shape)
    padding = Value(f"{writer.prefix}.padding", TensorType(full, of.element_type))
    writer.operations.append(memory_value(padding, content))
    twice = tuple(2 * bound if number == free else None for number in range(len(full)))
    joined = Value(f"{writer.prefix}.joined", TensorType(of.shape, of.element_type, twice))
    writer.define(joined, "concatenate", (operand, padding), dimension=free)
    starts = [*operation.operands[1:]]
    number = tensor_of(starts[free]).element
    least, most = (writer.constant(np.array(n), number) for n in (0, room - int(sizes[free])))
    starts[free] = writer.add("clamp", (least, starts[free], most), shape=())
    return [*writer.operations, replace(operation, operands=(joined, *starts))]

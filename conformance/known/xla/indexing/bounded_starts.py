"""Slices of values of dynamic size whose start is clamped too late.

The start of a slice is clamped so that the slice ends within the operand. If only a bound of the
operand's size is known, XLA clamps the start so that the slice ends within the bound, and so reads
padding. The bound follows from the preceding operations, and may be less than the stated bound.

Source: jaxlib 0.10.2 and 0.12, measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.known.writing import constant
from conformance.known.xla.memory import CONTENTS, Content, memory_value
from conformance.transforms.replacing import replace_operations
from reference.ir.program import Operation, Program, TensorType, Value, attributes

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
    of = value.type
    assert isinstance(of, TensorType)
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
) -> Iterator[Operation]:
    """Yield the slice of the padded operand, with a start that fits the bound."""
    prefix = f"{operation.results[0].name}."
    operand, free = operation.operands[0], _bounded_dimension(operation)
    of, sizes = operand.type, operation.attribute("slice_sizes")
    assert isinstance(of, TensorType)
    assert free is not None
    assert of.bounds
    assert isinstance(sizes, tuple)
    bound, room = of.bounds[free] or 0, _room(operand, free, makers)
    full = tuple(bound if size is None else size for size in of.shape)
    padding = Value(f"{prefix}padding", TensorType(full, of.element_type))
    yield memory_value(padding, content)
    twice = tuple(2 * bound if number == free else None for number in range(len(full)))
    joined = Value(f"{prefix}joined", TensorType(of.shape, of.element_type, twice))
    yield Operation("concatenate", (operand, padding), (joined,), attributes(dimension=free))
    start = operation.operands[1 + free]
    assert isinstance(start.type, TensorType)
    least, most = (Value(f"{prefix}{name}", start.type) for name in ("least", "most"))
    yield constant(least, np.zeros((), start.type.storage))
    yield constant(most, np.array(room - int(sizes[free])).astype(start.type.storage))
    clamped = Value(f"{prefix}start", start.type)
    yield Operation("clamp", (least, start, most), (clamped,))
    starts = [*operation.operands[1:]]
    starts[free] = clamped
    yield Operation(_SLICES, (joined, *starts), operation.results, operation.attributes)

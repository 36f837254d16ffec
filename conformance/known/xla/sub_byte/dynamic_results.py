"""Results of less than a byte an element and of dynamic size, which GPUs write in part.

XLA computes on the whole memory of a value whose size set_dimension_size has set, and sets the size
of the results at the end. Its kernel has a thread for each element, and only the first element of a
byte is stored (packed_elements.py). The others are what memory held.

Source: jaxlib 0.11.2 on an NVIDIA H200, measured, and its optimised modules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from conformance.known.writing import constant
from conformance.known.xla.memory import CONTENTS, Content, memory_value
from conformance.known.xla.sub_byte.byte_copies import elements_per_byte
from conformance.known.xla.sub_byte.packed_elements import UNWRITTEN as LABEL
from conformance.transforms.replacing import replace_operations
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.types import element_type

__all__ = ["LABEL", "concerns", "rewrite"]

_CUTS = "set_dimension_size"


def concerns(operation: Operation) -> bool:
    """Return whether an operation sets a size of elements narrower than a byte."""
    return operation.name == _CUTS and _is_packed(operation.results[0])


def rewrite(program: Program) -> Iterator[tuple[Program, ...]]:
    """Yield the program with memory behind the first element of each byte of its dynamic results,
    for each content of the memory.
    """
    *operations, end = program.main.body.operations
    sized = _sized_values(operations)
    found = [one for one in dict.fromkeys(end.operands) if one.name in sized and _is_packed(one)]
    if found:
        yield tuple(
            replace_operations(program, [(end, tuple(_keep_first(end, found, content)))])
            for content in CONTENTS
        )


def _sized_values(operations: list[Operation]) -> set[str]:
    """Return the names of values with a size that set_dimension_size has set.

    Results of a sized operand's shape have its size.
    """
    sized: set[str] = set()
    for one in operations:
        shapes = [_shape(value) for value in one.operands if value.name in sized]
        sized.update(
            value.name for value in one.results if one.name == _CUTS or _shape(value) in shapes
        )
    return sized


def _shape(value: Value) -> tuple[int | None, ...] | None:
    return value.type.shape if isinstance(value.type, TensorType) else None


def _is_packed(value: Value) -> bool:
    """Return whether a value is static, and a byte has several of its elements."""
    of = value.type
    if not isinstance(of, TensorType) or not of.is_static:
        return False
    return elements_per_byte(np.zeros(0, of.storage)) > 1


def _keep_first(end: Operation, found: list[Value], content: Content) -> Iterator[Operation]:
    """Yield the end of a function, with memory behind the first element of each byte."""
    kept: Mapping[Value, Value] = {one: replace(one, name=f"{one.name}.kept") for one in found}
    for one, result in kept.items():
        yield from _memory_behind_first(one, result, content)
    yield replace(end, operands=tuple(kept.get(one, one) for one in end.operands))


def _memory_behind_first(one: Value, result: Value, content: Content) -> Iterator[Operation]:
    of = one.type
    assert isinstance(of, TensorType)
    is_first = Value(f"{one.name}.first", TensorType(of.shape, element_type("i1")))
    memory = replace(one, name=f"{one.name}.memory")
    places = np.arange(int(np.prod(of.static_shape))).reshape(of.static_shape)
    count = elements_per_byte(np.zeros(0, of.storage))
    yield constant(is_first, places % count == 0)
    yield memory_value(memory, content)
    yield Operation("select", (is_first, one, memory), (result,))

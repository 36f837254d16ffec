"""Results of other shapes than stated, as computed by XLA's CPU compiler.

An i1 has a byte. So a bitcast from or to i1 has the shape that 8 bits for each give it, and its
results are the operand's bytes as they lie in memory.

Source: jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from conformance.known.writing import OperationWriter
from conformance.transforms.inferred import inferred_programs
from conformance.transforms.retype import element_of
from reference.ir.program import Operation, Program, TensorType, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES, ElementType, bits_dtype, from_bits

BYTES = "one truth value a byte"
"""The class of results of another shape that are the bytes of i1 values."""

_BYTE, _SIX_BITS = 8, 6
_MEMORY = ELEMENT_TYPES["ui8"]


def bitcast_all_by_bytes(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with all bitcasts from or to i1 by bytes, and the shapes that follow."""
    return inferred_programs(program, bitcast_by_bytes)


def concerns(operation: Operation) -> bool:
    """Return whether an operation is a bitcast from or to i1."""
    return bool(bitcast_by_bytes(operation))


def bitcast_by_bytes(bitcast: Operation) -> list[Operation]:
    """Return operations that bitcast from or to i1 through bytes; none for other operations."""
    if bitcast.name != "bitcast_convert":
        return []
    (value,), (result,) = bitcast.operands, bitcast.results
    of, to = element_of(value), element_of(result)
    if of is None or to is None or not (of.is_boolean or to.is_boolean):
        return []
    sizes, writer = tensor_of(value).static_shape, OperationWriter(result.name)
    if of.is_boolean and to.bits == _SIX_BITS:  # has a byte, too
        codes = (from_bits(np.full(sizes, code, bits_dtype(to)), to) for code in (1, 0))
        one, zero = (writer.constant(array, to) for array in codes)
        made = replace(result, type=TensorType(sizes, to))
        writer.define(made, "select", (value, one, zero))
        return writer.operations
    if to.is_complex or any(one.bits < _BYTE and _BYTE % one.bits for one in (of, to)):
        return []
    shape = bitcast_shape(sizes, of, to)
    if shape is None:
        return []
    if of.is_boolean:
        value = writer.add("convert", (value,), _MEMORY)
    made = replace(result, type=TensorType(shape, to))
    if to.is_boolean:
        define_truth(writer, made, value)
    else:
        writer.define(made, "bitcast_convert", (value,))
    return writer.operations


def define_truth(writer: OperationWriter, result: Value, value: Value) -> None:
    """Add operations that define an i1 value as whether bytes of a value are not zero."""
    shape = tensor_of(result).static_shape
    bytes_ = writer.add("bitcast_convert", (value,), _MEMORY, shape)
    zero = writer.constant(np.zeros(shape), _MEMORY)
    writer.define(result, "compare", (bytes_, zero), comparison_direction="NE")


def _bits(of: ElementType) -> int:
    """Return how many bits an element has for XLA."""
    return _BYTE if of.is_boolean else of.bits


def bitcast_shape(
    shape: tuple[int, ...], of: ElementType, to: ElementType
) -> tuple[int, ...] | None:
    """Return the shape of a bitcast if an i1 occupies a byte; None if there is no such shape."""
    old, new = _bits(of), _bits(to)
    if new <= old:
        return shape if new == old else (*shape, old // new)
    return shape[:-1] if shape and shape[-1] == new // old else None

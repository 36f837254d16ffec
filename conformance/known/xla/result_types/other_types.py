"""Results of other shapes than stated, as computed by XLA's CPU compiler.

An i1 has a byte. So a bitcast from or to i1 has the shape that 8 bits for each give it, and its
results are the operand's bytes as they lie in memory.

Source: jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from conformance.known.writing import constant
from conformance.transforms.inferred import replace_and_infer
from conformance.transforms.retype import element_of
from reference.ir.program import Operation, Program, TensorType, Value, attributes
from reference.ir.types import ELEMENT_TYPES, ElementType, bits_dtype, from_bits

BYTES = "one truth value a byte"
"""The class of results of another shape that are the bytes of i1 values."""

_BYTE, _SIX_BITS = 8, 6
_MEMORY = ELEMENT_TYPES["ui8"]


def bitcast_all_by_bytes(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with all bitcasts from or to i1 by bytes, and the shapes that follow."""
    if any(map(concerns, program.walk())):
        whole = replace_and_infer(program, lambda one: [*bitcast_by_bytes(one)])
        if whole is not None:
            yield (whole,)


def concerns(operation: Operation) -> bool:
    """Return whether an operation is a bitcast from or to i1."""
    return any(True for _ in bitcast_by_bytes(operation))


def bitcast_by_bytes(bitcast: Operation) -> Iterator[Operation]:
    """Yield operations that bitcast from or to i1 through bytes."""
    if bitcast.name != "bitcast_convert":
        return
    (value,), (result,) = bitcast.operands, bitcast.results
    of, to = element_of(value), element_of(result)
    if of is None or to is None or not (of.is_boolean or to.is_boolean):
        return
    before = value.type
    assert isinstance(before, TensorType)
    if of.is_boolean and to.bits == _SIX_BITS:  # has a byte, too
        yield from _truth_codes(value, replace(result, type=TensorType(before.shape, to)), to)
        return
    if to.is_complex or any(one.bits < _BYTE and _BYTE % one.bits for one in (of, to)):
        return
    shape = bitcast_shape(before.static_shape, of, to)
    if shape is None:
        return
    if of.is_boolean:
        taken = Value(f"{result.name}.taken", TensorType(before.shape, _MEMORY))
        yield Operation("convert", (value,), (taken,))
        value = taken
    made = replace(result, type=TensorType(shape, to))
    if not to.is_boolean:
        yield Operation("bitcast_convert", (value,), (made,))
        return
    bytes_, zero = (
        Value(f"{result.name}.{n}", TensorType(shape, _MEMORY)) for n in ("bytes", "no")
    )
    yield Operation("bitcast_convert", (value,), (bytes_,))
    yield constant(zero, np.zeros(shape, np.uint8))
    given = attributes(comparison_direction="NE")
    yield Operation("compare", (bytes_, zero), (made,), given)


def _truth_codes(value: Value, made: Value, to: ElementType) -> Iterator[Operation]:
    """Yield code 1 for true and 0 for false, as numbers of a type."""
    assert isinstance(made.type, TensorType)
    one, zero = (Value(f"{made.name}.{n}", made.type) for n in ("one", "zero"))
    shape = made.type.static_shape
    for code, constant_value in ((1, one), (0, zero)):
        codes = np.full(shape, code, bits_dtype(to))
        yield constant(constant_value, from_bits(codes, to))
    yield Operation("select", (value, one, zero), (made,))


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

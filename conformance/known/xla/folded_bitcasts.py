"""Constants whose bits are converted from or to a sub-byte type, and folded wrongly.

- Each element of such a type is read as a byte: ui8 0xE4 as two ui4 is 4 (of 0xE4) and whatever
  stands in memory behind it; two ui4 as a ui8 are the first of them.
- A constant that repeats one negative element is packed with that element's sign extended over the
  elements above it: two of -2 in si4 are 0xFE, and should be 0xEE; eight of them 0xFFFFFFFE.

Source: jaxlib 0.10.2 (both) and 0.12.0 (the second), measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from conformance.known.xla.memory import constant
from conformance.known.xla.other_types import bitcast_shape
from conformance.transforms.extract import with_body, with_results
from conformance.transforms.values import evaluate_values
from reference.ir.program import Operation, Program, TensorType
from reference.ir.types import Array, bits_dtype, element_type_of, from_bits, to_bits

BY_BYTES = "one element a byte"
SIGN_ABOVE = "sign over the elements above"

_BYTE = 8
_BEHIND = (0, 0x6B)
"""Candidates for the bytes after a constant: each of their low 4, 2 and 1 bits differs."""


def concerns(operation: Operation) -> bool:
    """Return whether an operation is a bitcast."""
    return operation.name == "bitcast_convert"


def read_elements_as_bytes(program: Program) -> Iterator[tuple[Program, ...]]:
    """Yield a program of one bitcast of a constant that reads each element from its own byte.

    Beyond the constant's own bytes, memory may contain anything.
    """
    folded = _folded_constant(program)
    if folded is None:
        return
    to = _result(program).element
    shape = bitcast_shape(folded.shape, element_type_of(folded), to)
    if shape is None or to.is_boolean:  # an i1 has a byte in any case
        return
    own, low = to_bits(folded).reshape(-1).view(np.uint8), (1 << min(to.part.bits, _BYTE)) - 1
    parts = (*shape, 2) if to.is_complex else shape
    size = math.prod(parts) * bits_dtype(to).itemsize
    memories = (np.append(own, np.full(size, byte, np.uint8))[:size] & low for byte in _BEHIND)
    yield tuple(
        _returning_array(program, from_bits(memory.view(bits_dtype(to)).reshape(parts), to))
        for memory in memories
    )


def extend_sign(program: Program) -> Iterator[tuple[Program]]:
    """Yield a program of one bitcast of a constant with one negative element, sign-extended."""
    folded = _folded_constant(program)
    if folded is None or not folded.size:
        return
    first, to = folded.reshape(-1)[0], _result(program)
    is_one = element_type_of(folded).is_signed and bool((folded == first).all())
    if is_one and int(first) < 0 and not to.element.is_complex:
        word = int(first) & ((1 << to.element.bits) - 1)
        bits = np.full(to.static_shape, word, bits_dtype(to.element))
        yield (_returning_array(program, from_bits(bits, to.element)),)


def _folded_constant(program: Program) -> Array | None:
    """Return the constant that a single-bitcast program converts; None for any other program."""
    *before, end = program.main.body.operations
    if not before or program.main.arguments:
        return None
    if not concerns(before[-1]) or end.operands != before[-1].results:
        return None
    of = before[-1].operands[0].type
    types = (of, _result(program))
    if not any(isinstance(one, TensorType) and one.stored.bits < _BYTE for one in types):
        return None
    return evaluate_values(program, ())[before[-1].operands[0].name]


def _result(program: Program) -> TensorType:
    of = program.subject.results[0].type
    assert isinstance(of, TensorType)
    return of


def _returning_array(program: Program, array: Array) -> Program:
    """Return the program with an array as its result, in place of its last operation."""
    (result,) = program.subject.results
    value = replace(result, type=TensorType(array.shape, element_type_of(array)))
    *before, _, end = program.main.body.operations
    return with_results(with_body(program, (*before, constant(value, array), end)), [value])

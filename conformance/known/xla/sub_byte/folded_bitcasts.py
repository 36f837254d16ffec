"""Constants whose bits are converted from or to a sub-byte type, and folded wrongly.

- Each element of such a type is read as a byte: ui8 0xE4 as two ui4 is 4 (of 0xE4) and the element
  behind it in memory; two ui4 as a ui8 are the first of the two.
- A constant that repeats one negative element is packed with that element's sign extended over the
  elements above it: two elements of -2 in si4 are 0xFE, and should be 0xEE; eight are 0xFFFFFFFE.

Source: jaxlib 0.10.2 (both) and 0.12.0 (the second), measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from conformance.known.writing import constant
from conformance.known.xla.result_types.other_types import bitcast_shape
from conformance.transforms.dead_code import remove_unused
from conformance.transforms.extract import extract, replace_results
from conformance.transforms.inferred import replace_and_infer
from conformance.transforms.values import foldable_values
from reference.interpreter.evaluate import evaluate
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
    """Yield a program whose bitcasts of constants read each element from its own byte.

    Beyond the constants' own bytes, memory may contain anything.
    """
    reads = (partial(_read_by_bytes, behind=byte) for byte in _BEHIND)
    programs = tuple(one for read in reads if (one := _replace_bitcasts(program, read)))
    if programs:
        yield programs


def _read_by_bytes(folded: Array, result: TensorType, *, behind: int) -> Array | None:
    """Return the result of a bitcast that reads a byte for each element. Beyond the end of the
    constant it reads bytes of the value `behind`.
    """
    to = result.element
    shape = bitcast_shape(folded.shape, element_type_of(folded), to)
    if shape is None or to.is_boolean:  # an i1 has a byte in any case
        return None
    own, low = to_bits(folded).reshape(-1).view(np.uint8), (1 << min(to.part.bits, _BYTE)) - 1
    parts = (*shape, 2) if to.is_complex else shape
    size = math.prod(parts) * bits_dtype(to).itemsize
    memory = np.append(own, np.full(size, behind, np.uint8))[:size] & low
    return from_bits(memory.view(bits_dtype(to)).reshape(parts), to)


def extend_sign(program: Program) -> Iterator[tuple[Program]]:
    """Yield programs whose bitcasts of constants with one negative element are sign-extended: to
    the bits of a result's element, or of a byte.
    """
    for read in (_sign_extended, _sign_extended_bytes):
        other = _replace_bitcasts(program, read)
        if other is not None:
            yield (other,)


def _sign_extended(folded: Array, result: TensorType) -> Array | None:
    word, to = _repeated_negative(folded), result.element
    if word is None or to.is_complex:
        return None
    bits = np.full(result.static_shape, word & ((1 << to.bits) - 1), bits_dtype(to))
    return from_bits(bits, to)


def _sign_extended_bytes(folded: Array, result: TensorType) -> Array | None:
    word, to = _repeated_negative(folded), result.element
    if word is None or not element_type_of(folded).bits < to.bits < _BYTE:
        return None
    elements = [(word >> low) & ((1 << to.bits) - 1) for low in range(0, _BYTE, to.bits)]
    bits = np.resize(np.array(elements, bits_dtype(to)), result.static_shape)
    return from_bits(bits, to)


def _repeated_negative(folded: Array) -> int | None:
    """Return the negative integer that all elements of a constant are, or None."""
    if not folded.size or not element_type_of(folded).is_signed:
        return None
    first = folded.reshape(-1)[0]
    return int(first) if int(first) < 0 and bool((folded == first).all()) else None


def _replace_bitcasts(
    program: Program, read: Callable[[Array, TensorType], Array | None]
) -> Program | None:
    """Return the program with each bitcast of a constant replaced by the array that `read` returns.

    None if no bitcast is replaced, or if an array has a shape that later operations do not accept.
    """
    folded, constants = foldable_values(program), dict[str, Operation]()
    for operation in program.main.body.operations[:-1]:
        array = _read_bitcast(program, operation, read) if _is_narrow(operation, folded) else None
        if array is not None:
            (result,) = operation.results
            value = replace(result, type=TensorType(array.shape, element_type_of(array)))
            constants[result.name] = constant(value, array)

    def replacement(operation: Operation) -> list[Operation]:
        return [constants[one.name] for one in operation.results if one.name in constants]

    return replace_and_infer(program, replacement) if constants else None


def _is_narrow(operation: Operation, folded: frozenset[str]) -> bool:
    """Return whether an operation converts a constant from or to a type narrower than a byte."""
    if not concerns(operation) or operation.operands[0].name not in folded:
        return False
    types = (operation.operands[0].type, operation.results[0].type)
    tensors = [one for one in types if isinstance(one, TensorType) and one.is_static]
    return len(tensors) == len(types) and any(one.stored.bits < _BYTE for one in tensors)


def _read_bitcast(
    program: Program, operation: Operation, read: Callable[[Array, TensorType], Array | None]
) -> Array | None:
    """Return what `read` makes of the constant that a bitcast converts."""
    of = operation.results[0].type
    assert isinstance(of, TensorType)
    before = remove_unused(replace_results(program, operation.operands))
    places = range(len(before.main.body.operations) - 1)
    alone = extract(before, places, operation.operands)  # parameters that it uses, no others
    if alone.main.arguments:  # they have no elements
        return None
    (array,) = evaluate(alone, ())
    return read(array, of)

"""Bitcasts of numbers of six bits, which have a byte each on GPUs.

XLA computes the shape of the result from the eight bits of that byte: four integers of two bits in
place of three, one i1 value in place of six. The result has the bits of the byte, whose upper
two bits are zeros. An i1 value is true if any bit is set.

Source: jaxlib 0.11.2 on an NVIDIA H200, and the optimised modules: a bitcast and a copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from conformance.known.writing import constant
from conformance.transforms.inferred import replace_and_infer
from conformance.transforms.retype import element_of
from reference.ir.program import Operation, Program, TensorType, Value, attributes
from reference.ir.types import ELEMENT_TYPES

LABEL = "six bits read as a byte"

_SIX_BITS, _BYTE = 6, 8
_PAIRS, _MEMORY = ELEMENT_TYPES["ui2"], ELEMENT_TYPES["ui8"]
_READ, _STORED = _SIX_BITS // _PAIRS.bits, _BYTE // _PAIRS.bits


def concerns(operation: Operation) -> bool:
    """Return whether an operation is a bitcast from a type of six bits to another width."""
    if operation.name != "bitcast_convert":
        return False
    of, to = element_of(operation.operands[0]), element_of(operation.results[0])
    return of is not None and to is not None and to.bits != of.bits == _SIX_BITS


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with all bitcasts of numbers of six bits by bytes, and the shapes that
    follow.
    """
    if any(map(concerns, program.walk())):
        whole = replace_and_infer(program, lambda one: [*_bitcast_bytes(one)])
        if whole is not None:
            yield (whole,)


def _bitcast_bytes(bitcast: Operation) -> Iterator[Operation]:
    """Yield operations that bitcast the bytes of numbers of six bits."""
    if not concerns(bitcast):
        return
    (operand,), (result,) = bitcast.operands, bitcast.results
    assert isinstance(operand.type, TensorType)
    to, shape = element_of(result), operand.type.static_shape
    assert to is not None
    rank = len(shape)
    pairs, padded, bytes_, none = (
        Value(f"{result.name}.{name}", kind)
        for name, kind in (
            ("pairs", TensorType((*shape, _READ), _PAIRS)),
            ("padded", TensorType((*shape, _STORED), _PAIRS)),
            ("bytes", TensorType(shape, _MEMORY)),
            ("none", TensorType((), _PAIRS)),
        )
    )
    behind = attributes(
        edge_padding_low=(0,) * (rank + 1),
        edge_padding_high=(*(0,) * rank, _STORED - _READ),
        interior_padding=(0,) * (rank + 1),
    )
    yield Operation("bitcast_convert", (operand,), (pairs,))
    yield constant(none, np.zeros((), _PAIRS.storage))
    yield Operation("pad", (pairs, none), (padded,), behind)
    if not to.is_boolean:
        made = replace(result, type=TensorType((*shape, _BYTE // to.bits), to))
        yield Operation("bitcast_convert", (padded,), (made,))
        return
    zero = Value(f"{result.name}.zero", bytes_.type)
    yield Operation("bitcast_convert", (padded,), (bytes_,))
    yield constant(zero, np.zeros(shape, _MEMORY.storage))
    made = replace(result, type=TensorType(shape, to))
    given = attributes(comparison_direction="NE")
    yield Operation("compare", (bytes_, zero), (made,), given)

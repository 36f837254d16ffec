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

from conformance.known.writing import OperationWriter
from conformance.known.xla.result_types.other_types import define_truth
from conformance.transforms.inferred import inferred_programs
from conformance.transforms.retype import element_of
from reference.ir.program import Operation, Program, TensorType, tensor_of
from reference.ir.types import ELEMENT_TYPES

LABEL = "six bits read as a byte"

_SIX_BITS, _BYTE = 6, 8
_PAIRS = ELEMENT_TYPES["ui2"]
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
    return inferred_programs(program, _bitcast_bytes)


def _bitcast_bytes(bitcast: Operation) -> list[Operation]:
    """Return operations that bitcast the bytes of numbers of six bits."""
    if not concerns(bitcast):
        return []
    (operand,), (result,) = bitcast.operands, bitcast.results
    shape, to = tensor_of(operand).static_shape, tensor_of(result).element
    writer = OperationWriter(result.name)
    none = (0,) * (len(shape) + 1)
    pairs = writer.add("bitcast_convert", (operand,), _PAIRS, (*shape, _READ))
    zero = writer.constant(np.zeros(()), _PAIRS)
    padded = writer.add(
        "pad", (pairs, zero), shape=(*shape, _STORED), edge_padding_low=none,
        edge_padding_high=(*none[1:], _STORED - _READ), interior_padding=none,
    )  # fmt: skip
    if to.is_boolean:
        define_truth(writer, replace(result, type=TensorType(shape, to)), padded)
    else:
        made = replace(result, type=TensorType((*shape, _BYTE // to.bits), to))
        writer.define(made, "bitcast_convert", (padded,))
    return writer.operations

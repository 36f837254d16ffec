"""Updates of elements of less than a byte on GPUs, copied in whole bytes.

XLA's GPU compiler makes one copy of an update that is contiguous in the operand
(indexing/whole_offsets.py). It copies the bytes of the update, the unused bits of the last byte
included, which are zeros. They replace the elements that follow the update in that byte. The stride
of a dimension whose slices are no whole bytes is -1 byte.

A scatter of one window without indices is such an update at the beginning.

Source: jaxlib 0.11.2 on an NVIDIA H200, measured, and offsets in optimised modules.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from conformance.known.hypothesis import Operands, Results, any_outcome_hypothesis
from conformance.known.xla.indexing.whole_offsets import copy_offset, is_contiguous
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of, from_bits, to_bits

LABEL = "update copied in whole bytes"

_BYTE = 8
_UNKNOWN = -1
"""Stride in bytes of slices that are no whole bytes."""


def elements_per_byte(array: Array) -> int:
    """Return the number of elements in a byte, 1 for types that have a byte or more, and for i1."""
    of = element_type_of(array)
    return 1 if of.is_boolean or _BYTE % of.bits else max(1, _BYTE // of.bits)


def pack_bytes(array: Array) -> Array:
    """Return the bytes of an array, with zeros for elements behind it in the last byte."""
    count = elements_per_byte(array)
    codes = to_bits(array).reshape(-1)
    rows = np.pad(codes, (0, -codes.size % count)).reshape(-1, count)
    return np.bitwise_or.reduce(rows << _positions(count), axis=1).astype(np.uint8)


def unpack_bytes(memory: Array, like: Array) -> Array:
    """Return the array of the type and shape of `like` that these bytes hold."""
    count = elements_per_byte(like)
    codes = (memory[:, None] >> _positions(count)) & ((1 << (_BYTE // count)) - 1)
    return from_bits(codes.reshape(-1)[: like.size].reshape(like.shape), element_type_of(like))


def _positions(count: int) -> Array:
    """Return the positions of the lowest bits of the elements of a byte."""
    return np.arange(0, _BYTE, _BYTE // count, dtype=np.uint8)


def _update_results(operation: Operation, operands: Operands) -> Iterator[Results]:
    """Yield the operand with the bytes of a contiguous update."""
    del operation
    operand, update, *starts = operands
    if not starts or elements_per_byte(operand) == 1:
        return
    if not is_contiguous(operand.shape, update.shape):
        return
    bits = element_type_of(operand).bits
    sizes = [bits * int(np.prod(operand.shape[at + 1 :])) for at in range(operand.ndim)]
    strides = [_UNKNOWN if size % _BYTE else size // _BYTE for size in sizes]
    memory, part = pack_bytes(operand), pack_bytes(update)
    offset = copy_offset(operand.shape, update.shape, [*map(int, starts)], strides)
    offset = min(max(offset, 0), memory.size - part.size)
    memory[offset : offset + part.size] = part
    yield (unpack_bytes(memory, operand),)


def _scatter_results(operation: Operation, operands: Operands) -> Iterator[Results]:
    """Yield the results with zeros for elements that follow the window in its last byte, if windows
    have no indices.
    """
    if not dict(operation.attributes).get("scatter_dims_to_operand_dims"):
        updates = operands[len(operands) // 2 + 1 :]
        pairs = zip(apply(operation, operands), updates, strict=True)
        yield tuple(_without_next(*pair) for pair in pairs)


def _without_next(result: Array, update: Array) -> Array:
    """Return a result without the elements that follow a contiguous window in its last byte."""
    count = elements_per_byte(result)
    if update.ndim != result.ndim or not is_contiguous(result.shape, update.shape):
        return result
    flat = result.reshape(-1).copy()
    flat[update.size : -(-update.size // count) * count] = 0
    return flat.reshape(result.shape)


COPIED = any_outcome_hypothesis(LABEL, _update_results)
"""The class of updates copied in whole bytes."""

SCATTERED = any_outcome_hypothesis(LABEL, _scatter_results)
"""The class of scattered windows copied in whole bytes."""

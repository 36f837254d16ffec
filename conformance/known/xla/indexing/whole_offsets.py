"""In-place updates at an offset that is clamped as a whole, not by dimension.

XLA's GPU compiler makes one copy of an update that is contiguous in the operand, at an offset in
bytes: the sum of the start indices, each times its stride, modulo 2^64. The sum is clamped so that
the update fits into the operand. So an index out of bounds moves the update along other dimensions,
and an index whose product overflows moves it to the beginning.

A scatter with a single window out of bounds writes back the elements at the clamped position of the
window (see out_of_bounds.py), as such an update.

Source: jaxlib 0.11.2 on an NVIDIA H200, measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.known.hypothesis import Results, exact_hypothesis
from conformance.known.xla.indexing.out_of_bounds import window_sizes
from reference.interpreter.evaluate import given_attributes
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.ops.indexed.update_orders import update_positions

LABEL = "offset clamped as a whole"

_BYTE = 8


def _predict_update(_: Operation, operands: tuple[Array, ...], expected: Results) -> Results | None:
    """Return the operand with the update at an offset that is clamped as a whole.

    None if the update is not contiguous in the operand.
    """
    del expected
    operand, update, *starts = operands
    result = _copy_to_offset(operand, update, [int(start) for start in starts])
    return None if result is None else (result,)


def _predict_dropped_window(
    operation: Operation, operands: tuple[Array, ...], expected: Results
) -> Results | None:
    """Return the inputs with the elements at the clamped position of a single dropped window, at an
    offset that is clamped as a whole; None if the window is in bounds, or not contiguous.
    """
    del expected
    count = len(operands) // 2
    inputs, indices, updates = operands[:count], operands[count], operands[count + 1]
    given: dict[str, Any] = given_attributes(operation)
    dims = given["scatter_dims_to_operand_dims"]
    if not dims or indices.size != len(dims) or not updates.size:
        return None
    if (update_positions(operation, inputs[0], indices, updates) >= 0).all():
        return None
    starts = [0] * inputs[0].ndim
    for dimension, start in zip(dims, indices.reshape(-1), strict=True):
        starts[dimension] = int(start)
    window = window_sizes(given, inputs[0], updates)
    sizes = [window.get(at, 1) for at in range(inputs[0].ndim)]
    limits = zip(starts, inputs[0].shape, sizes, strict=True)
    first = [min(max(start, 0), size - taken) for start, size, taken in limits]
    kept = tuple(slice(at, at + taken) for at, taken in zip(first, sizes, strict=True))
    results = [_copy_to_offset(one, one[kept], starts) for one in inputs]
    found = tuple(one for one in results if one is not None)
    return found if len(found) == count else None


def _copy_to_offset(operand: Array, update: Array, starts: Sequence[int]) -> Array | None:
    """Return an operand with an update at an offset clamped as a whole; None if the update is not
    contiguous in the operand.
    """
    of = element_type_of(operand)
    if not starts or of.bits < _BYTE or not is_contiguous(operand.shape, update.shape):
        return None
    width = operand.dtype.itemsize
    strides = [width * int(np.prod(operand.shape[at + 1 :])) for at in range(operand.ndim)]
    total = copy_offset(operand.shape, update.shape, starts, strides)
    offset = min(max(total, 0), operand.nbytes - update.nbytes) // width
    result = operand.reshape(-1).copy()
    result[offset : offset + update.size] = update.reshape(-1)
    return result.reshape(operand.shape)


def copy_offset(
    shape: Sequence[int], part: Sequence[int], starts: Sequence[int], strides: Sequence[int]
) -> int:
    """Return the offset in bytes of a copy of a part, modulo 2^64, before it is clamped.

    Start indices of dimensions that the part has as a whole do not count.
    """
    pairs = zip(shape, part, starts, strides, strict=True)
    total = sum(start * stride for size, own, start, stride in pairs if own != size)
    return (total + 2**63) % 2**64 - 2**63


def is_contiguous(shape: tuple[int, ...], part: tuple[int, ...]) -> bool:
    """Return whether a part of a shape is contiguous: complete after the first dimension of more
    than one element.
    """
    first = next((at for at, size in enumerate(part) if size != 1), len(part))
    return part[first + 1 :] == shape[first + 1 :]


MOVED = replace(exact_hypothesis(LABEL, _predict_update), constants=("start_indices",))
WRITTEN_BACK = replace(
    exact_hypothesis(LABEL, _predict_dropped_window), constants=("scatter_indices",)
)
"""The class of scatters whose dropped window is written back at another offset."""

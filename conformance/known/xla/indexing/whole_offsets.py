"""In-place updates at an offset that is clamped as a whole, not by dimension.

XLA's GPU compiler makes one copy of an update that is contiguous in the operand, at an offset in
bytes: the sum of the start indices, each by its stride, modulo 2^64. The sum is clamped to what the
operand has room for. So an index out of bounds moves the update along other dimensions, and one
whose product overflows moves it to the beginning.

Source: jaxlib 0.11.2 on an NVIDIA H200, measured.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.known.hypothesis import Results, exact_hypothesis
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of

LABEL = "offset clamped as a whole"

_BYTE = 8


def _predict_update(_: Operation, operands: tuple[Array, ...], expected: Results) -> Results | None:
    """Return the operand with the update at an offset that is clamped as a whole.

    None if the update is not contiguous in the operand.
    """
    del expected
    operand, update, *starts = operands
    of = element_type_of(operand)
    if not starts or of.bits < _BYTE or not _is_contiguous(operand.shape, update.shape):
        return None
    width = operand.dtype.itemsize
    strides = [width * int(np.prod(operand.shape[at + 1 :])) for at in range(operand.ndim)]
    total = sum(int(start) * stride for start, stride in zip(starts, strides, strict=True))
    wrapped = (total + 2**63) % 2**64 - 2**63
    offset = min(max(wrapped, 0), operand.nbytes - update.nbytes) // width
    result = operand.reshape(-1).copy()
    result[offset : offset + update.size] = update.reshape(-1)
    return (result.reshape(operand.shape),)


def _is_contiguous(shape: tuple[int, ...], part: tuple[int, ...]) -> bool:
    """Return whether a part of a shape is contiguous: complete after the first dimension of more
    than one element.
    """
    first = next((at for at, size in enumerate(part) if size != 1), len(part))
    return part[first + 1 :] == shape[first + 1 :]


MOVED = replace(exact_hypothesis(LABEL, _predict_update), constants=("start_indices",))

"""What the specification leaves open of the results of this family: fft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.products import wide
from reference.ops.fft import inner_inverse
from reference.unspecified.reasons import Open, Reason

_NOISE = 8
"""Roundings of the other dimensions' transforms may leave imaginary parts of so many u log2 N."""


def _transformed(operation: Operation, operand: Array) -> tuple[tuple[int, ...], int]:
    """The dimensions that are transformed, and how many elements they have (of real transforms,
    the real tensor)."""
    lengths: Any = operation.attribute("fft_length")
    axes = tuple(range(operand.ndim - len(lengths), operand.ndim))
    count = 1
    for axis in axes:
        count *= operand.shape[axis]
    if operation.attribute("fft_type") == "IRFFT" and operand.shape[-1]:
        count = count // operand.shape[-1] * int(lengths[-1])
    return axes, count


def _not_finite(operation: Operation, operands: Sequence[Array], _: Array, __: int) -> list[Open]:
    """Spec "fft" gives the transform of numbers. What an infinity, a NaN or a sum that overflows
    does to which element depends on the order of the sums, which is nowhere said."""
    axes, _count = _transformed(operation, operands[0])
    limit = element_type_of(operands[0]).float_format.max_finite
    total = np.abs(wide(operands[0])).sum(axis=axes, keepdims=True)
    return [("infinities, NaNs or overflow in a transform", np.asarray(~(2 * total <= limit)))]


def _not_real(operation: Operation, operands: Sequence[Array], _: Array, __: int) -> list[Open]:
    """Spec "fft": `irfft` is the inverse of `rfft`, whose results have real first and (for an
    even length) last elements; what has others is the transform of no real numbers."""
    if operation.attribute("fft_type") != "IRFFT" or not operands[0].size:
        return []
    lengths: Any = operation.attribute("fft_length")
    axes, count = _transformed(operation, operands[0])
    x = wide(operands[0])
    lines = inner_inverse(x, len(lengths))
    off = np.abs(np.imag(lines[..., :1]))
    if lengths[-1] % 2 == 0:
        off = np.maximum(off, np.abs(np.imag(lines[..., -1:])))
    unit = 0.5 ** element_type_of(operands[0]).float_format.precision
    size = np.sqrt((np.abs(lines) ** 2).sum(axis=axes, keepdims=True))
    return [("imaginary parts where rfft has none", off > _NOISE * unit * np.log2(count) * size)]


REASONS: dict[str, tuple[Reason, ...]] = {"fft": (_not_finite, _not_real)}
"""The reasons by op."""

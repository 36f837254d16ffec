"""Unspecified results of fft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.products import to_wide_type
from reference.ops.fft import inner_inverse
from reference.unspecified.reasons import Reason, Unspecified

_NOISE = 8
"""Tolerance for rounding errors in the other dimensions, in units of u log2 N."""


def _transformed_axes(operation: Operation, operand: Array) -> tuple[tuple[int, ...], int]:
    """Return the transformed dimensions and their number of elements (for real FFTs, of the real
    tensor)."""
    lengths: Any = operation.attribute("fft_length")
    axes = tuple(range(operand.ndim - len(lengths), operand.ndim))
    count = 1
    for axis in axes:
        count *= operand.shape[axis]
    if operation.attribute("fft_type") == "IRFFT" and operand.shape[-1]:
        count = count // operand.shape[-1] * int(lengths[-1])
    return axes, count


def _nonfinite_transforms(
    operation: Operation, operands: Sequence[Array], _: Array, __: int
) -> list[Unspecified]:
    """Return transforms with infinities, NaNs or sums that overflow.

    Spec, "fft", transforms numbers. Which elements an exception affects depends on the order of the
    sums, which is not specified.
    """
    axes, _count = _transformed_axes(operation, operands[0])
    limit = element_type_of(operands[0]).float_format.max_finite
    total = np.abs(to_wide_type(operands[0])).sum(axis=axes, keepdims=True)
    return [("infinities, NaNs or overflow in a transform", np.asarray(~(2 * total <= limit)))]


def _unreal_inverses(
    operation: Operation, operands: Sequence[Array], _: Array, __: int
) -> list[Unspecified]:
    """Return inverse real transforms of operands that no real transform produces.

    Spec, "fft": `irfft` is the inverse of `rfft`, whose results have real first and (for an even
    length) last elements.
    """
    if operation.attribute("fft_type") != "IRFFT" or not operands[0].size:
        return []
    lengths: Any = operation.attribute("fft_length")
    axes, count = _transformed_axes(operation, operands[0])
    x = to_wide_type(operands[0])
    lines = inner_inverse(x, len(lengths))
    off = np.abs(np.imag(lines[..., :1]))
    if lengths[-1] % 2 == 0:
        off = np.maximum(off, np.abs(np.imag(lines[..., -1:])))
    unit = 0.5 ** element_type_of(operands[0]).float_format.precision
    size = np.sqrt((np.abs(lines) ** 2).sum(axis=axes, keepdims=True))
    return [("imaginary parts where rfft has none", off > _NOISE * unit * np.log2(count) * size)]


REASONS: dict[str, tuple[Reason, ...]] = {"fft": (_nonfinite_transforms, _unreal_inverses)}
"""The reasons by op."""

"""Unspecified results of the instructions that StableHLO lacks, by XLA's page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import to_float64
from reference.ops.mhlo import top_k
from reference.unspecified.reasons import Reason, Unspecified


def _unordered_slices(
    operation: Operation, operands: Sequence[Array], result: Array, number: int
) -> list[Unspecified]:
    """Return slices of TopK with NaNs, or with zeros of both signs.

    The page compares elements as largest, smallest and equal, but does not define the order of NaN,
    or whether zeros of both signs are equal.
    """
    del operation, number
    (operand,) = operands
    if not element_type_of(operand).is_float:
        return []
    numbers = to_float64(operand)
    nan = np.isnan(numbers).any(axis=-1, keepdims=True)
    zero, negative = numbers == 0, np.signbit(numbers)
    both = [(zero & side).any(axis=-1, keepdims=True) for side in (negative, ~negative)]
    rows = {"order of NaN": nan, "order of zeros": both[0] & both[1]}
    return [(label, np.broadcast_to(mask, result.shape)) for label, mask in rows.items()]


def _equal_elements(
    operation: Operation, operands: Sequence[Array], result: Array, number: int
) -> list[Unspecified]:
    """Return the indices of equal elements, unless the order must be stable.

    "If false, the relative order of equal elements is implementation-defined."
    """
    if number == 0 or operation.attribute("is_stable", True):
        return []
    (operand,) = operands
    values, _ = top_k(operand, k=result.shape[-1])
    count = (values[..., :, None] == operand[..., None, :]).sum(axis=-1)
    return [("order of equal elements", count > 1)]


REASONS: dict[str, tuple[Reason, ...]] = {
    "chlo.top_k": (_unordered_slices, _equal_elements),
    "mhlo.topk": (_unordered_slices,),
}
"""The reasons by op."""

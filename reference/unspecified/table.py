"""Unspecified elements of results, which no backend can get wrong.

Each reason gives its source, in the file of its family. Families without a file have none: data
movement clamps start indices, and comparisons ignore which NaN is moved.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.interpreter import quantized
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.numerics.arithmetic import quiet
from reference.unspecified import (
    contraction,
    control_flow,
    dynamism,
    elementwise,
    fft,
    gathering,
    linear_algebra,
    mhlo,
    quantization,
    ragged,
    random,
    reduction,
    scaled,
    sorting,
)
from reference.unspecified.reasons import Reason, Unspecified

_FAMILIES = (
    dynamism, gathering, sorting, reduction, contraction, control_flow, linear_algebra, fft,
    random, quantization, mhlo, ragged, scaled,
)  # fmt: skip

_REASONS: dict[str, tuple[Reason, ...]] = {
    op: reasons for family in _FAMILIES for op, reasons in family.REASONS.items()
}


def _plain_reasons(
    operation: Operation, operands: Sequence[Array], result: Array, number: int
) -> list[Unspecified]:
    found = elementwise.unspecified_elements(operation, operands, result)
    for reason in _REASONS.get(operation.name, ()):
        found += reason(operation, operands, result, number)
    return found


@quiet
def unspecified_elements(
    operation: Operation, operands: Sequence[Array], result: Array, number: int = 0
) -> list[Unspecified]:
    """Return the reasons why elements are unspecified, each with a mask of the result's shape.

    Args:
        operation: the operation, for its name, attributes and regions.
        operands: the values of its operands.
        result: its result `number` as the reference evaluates it.
        number: the index of the result.

    Returns:
        (label, mask) pairs, without empty masks.
    """
    if quantized.is_quantized_operation(operation):
        found = quantization.unspecified_codes(operation, operands, result, number, _plain_reasons)
    else:
        found = _plain_reasons(operation, operands, result, number)
    shaped = ((label, np.broadcast_to(mask, result.shape)) for label, mask in found)
    return [(label, mask) for label, mask in shaped if mask.any()]


def unspecified_mask(
    operation: Operation,
    operands: Sequence[Array],
    result: Array,
    number: int = 0,
    apart_from: str = "",
) -> Array:
    """Return a mask of the elements that are unspecified for any reason but that of this label, of
    the result's shape.
    """
    found = np.zeros(result.shape, np.bool_)
    for label, mask in unspecified_elements(operation, operands, result, number):
        if label != apart_from:
            found |= mask
    return found

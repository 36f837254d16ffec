"""NaNs of f32 that become infinities in TF32.

Tensor cores read the sign, the exponent and ten bits of the mantissa of an f32 number. A NaN whose
other thirteen bits are its only ones is read as infinity. The specification has NaN for products
and sums with NaN, at any precision.

Source: jaxlib 0.11.2 on an NVIDIA H200, measured.
"""

from __future__ import annotations

import numpy as np

from conformance.known.hypothesis import Operands, Results
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of

LABEL = "NaN truncated to infinity"

_F32 = ELEMENT_TYPES["f32"]
_READ = np.uint32(0xFFFF_E000)
"""The bits of f32 that TF32 has."""


def rewrite(
    operation: Operation, operands: Operands, expected: Results
) -> tuple[Operation, Operands] | None:
    """Return the product with infinities for such NaNs; None if there are none."""
    del expected
    factors = tuple(map(_truncate_nans, operands[:2]))
    if all(new is old for new, old in zip(factors, operands, strict=False)):
        return None
    return operation, (*factors, *operands[2:])


def _truncate_nans(array: Array) -> Array:
    """Return an array with infinities for NaNs without bits in TF32's mantissa."""
    if element_type_of(array) is not _F32:
        return array
    truncated = (np.ascontiguousarray(array).view(np.uint32) & _READ).view(np.float32)
    lost = np.isnan(array) & np.isinf(truncated)
    return np.where(lost, truncated, array) if lost.any() else array

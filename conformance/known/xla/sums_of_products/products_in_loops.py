"""Products of eight bits in a loop of a GPU's kernel: rounded to f16, then added in f32.

XLA converts operands of types that cuBLAS does not have to f16. If the result has f32, the kernel
multiplies in f16, where a product may overflow or underflow, and adds in f32.

Source: jaxlib 0.11.2 on an NVIDIA H200, and the PTX of these kernels.
"""

from __future__ import annotations

from conformance.known.hypothesis import Operands, Results, predict_nothing
from conformance.known.xla.sums_of_products.ragged_groups import misread_sizes
from conformance.known.xla.sums_of_products.rounded_products import (
    MOST,
    errors_of_intervals,
    rounded_hypothesis,
    sums_of_rounded,
)
from conformance.tolerance.bounds.contraction import matrices_of
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, element_type_of

_F16, _F32 = ELEMENT_TYPES["f16"], ELEMENT_TYPES["f32"]
_BYTE = 8


def _sums_of_a_loop(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    types = [element_type_of(one) for one in operands[:2]]
    is_of_bytes = all(one.is_float and one.bits <= _BYTE for one in types)
    if element_type_of(expected[0]) is not _F32 or not is_of_bytes:
        return predict_nothing(expected)
    product: tuple[Operation, Operands] | None = operation, operands
    if len(operands) > 2:
        product = misread_sizes(operation, operands, expected)
    if product is None:
        return predict_nothing(expected)
    lhs, rhs, _ = matrices_of(*product)
    if lhs.size * rhs.shape[-1] > MOST:
        return predict_nothing(expected)
    return errors_of_intervals([sums_of_rounded(lhs, rhs, _F16)], expected, actual)


OF_LOOPS = rounded_hypothesis(_sums_of_a_loop)
"""The class of sums of products rounded to f16, of operands of eight bits."""

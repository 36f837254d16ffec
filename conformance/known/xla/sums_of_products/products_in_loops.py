"""Sums of products in a loop of a GPU's kernel, where cuBLAS and cuDNN have none.

- Operands of eight bits are converted to f16. If the result has f32, the kernel multiplies in f16,
  where a product may overflow or underflow, and adds in f32.
- A convolution of f16 with a window reversed in some dimensions only is a loop over the positions
  in the window, then over the features. It rounds each product and each sum to f16. The results
  are predicted to the bit.

Source: jaxlib 0.11.2 on an NVIDIA H200, and the PTX of these kernels.
"""

from __future__ import annotations

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    exact_hypothesis,
    predict_nothing,
)
from conformance.known.xla.sums_of_products.ragged_groups import misread_sizes
from conformance.known.xla.sums_of_products.rounded_products import (
    MOST,
    interval_errors,
    rounded_hypothesis,
    rounded_product_sums,
    stepwise_sums,
)
from conformance.tolerance.bounds.contraction import matrices_of
from conformance.tolerance.bounds.convolution import depth_of, geometry_of
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import round_to
from reference.ops.convolution import convolve

IN_F16 = "sums kept in f16"

_F16, _F32 = ELEMENT_TYPES["f16"], ELEMENT_TYPES["f32"]
_BYTE = 8


def _f16_product_errors(
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
    return interval_errors([rounded_product_sums(lhs, rhs, _F16)], expected, actual)


F16_PRODUCTS = rounded_hypothesis(_f16_product_errors)
"""The class of sums of products rounded to f16, of operands of eight bits."""


@quiet
def _predict_f16_convolution(
    operation: Operation, operands: Operands, expected: Results
) -> Results | None:
    """Return a convolution of f16 with each step rounded; None for other types."""
    lhs, rhs = operands[:2]
    types = {element_type_of(one) for one in (lhs, rhs, expected[0])}
    if types != {_F16} or depth_of(operation, operands) * expected[0].size > MOST:
        return None

    def sum_products(left: Array, right: Array) -> Array:
        return stepwise_sums(left, right, _F16)[0]

    return (round_to(convolve(lhs, rhs, geometry_of(operation, operands), sum_products), _F16),)


F16_CONVOLUTIONS: Hypothesis = exact_hypothesis(IN_F16, _predict_f16_convolution)
"""The class of convolutions of f16 that round each step."""

"""Unspecified results of contractions, convolutions and batch normalizations, which sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, TensorType
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of
from reference.unspecified.formats import is_limited, not_encodable
from reference.unspecified.reasons import Reason, Unspecified

_F64 = ELEMENT_TYPES["f64"]

FACTORS = 2
"""Number of factors of a sum of products; further operands hold sizes."""


def no_zero(
    operation: Operation, operands: Sequence[Array], result: Array, number: int
) -> Sequence[Unspecified]:
    """Return sums that start with a zero that their type lacks: sums in f8E8M0FNU.

    Source: the specification's `dot_general` reduces from `constant(0, element_type(result))`, as
    `compute_sum` of `batch_norm_grad` and `compute_mean` of `batch_norm_training` do, and
    `convolution` pads with `constant(0, element_type(lhs))`; no number of f8E8M0FNU is 0.
    """
    del operation, operands, number  # only the result's type matters
    element_type = element_type_of(result)
    if element_type.is_float and not element_type.float_format.has_zero:
        return [("sum of a type without zero", np.ones((), np.bool_))]
    return []


def complex_exception(
    operation: Operation, operands: Sequence[Array], result: Array, number: int
) -> Sequence[Unspecified]:
    """Return sums of complex products with non-finite factors, or that may overflow in some order.

    Source: the specification defines `dot_general` by `multiply` and `add`, and its section
    "Floating-point exceptions" leaves exceptions of complex arithmetic to the implementation. No
    exception is possible if the sum of the magnitudes is finite.
    """
    del number
    if not element_type_of(result).is_complex:
        return []
    sizes = [np.abs(operand.astype(np.complex128)) for operand in operands[:FACTORS]]
    total = apply(operation, (*sizes, *operands[FACTORS:]))[0]
    return [("exception in complex arithmetic", ~np.isfinite(total))]


def sum_not_encodable(
    operation: Operation, operands: Sequence[Array], result: Array, number: int
) -> Sequence[Unspecified]:
    """Return the sums that overflow a type without infinity, or are NaN in a type without NaN.

    Source: as for the `multiply` and `add` that define a sum of products, and for the conversion to
    the result's type: "convert" does not yet define the result for a value that the type cannot
    represent (stablehlo#180).
    """
    del number
    if not is_limited(element_type_of(result)):
        return []
    results = [
        replace(value, type=replace(value.type, element_type=_F64))
        for value in operation.results
        if isinstance(value.type, TensorType)
    ]
    (total,) = apply(replace(operation, results=tuple(results)), operands)
    return not_encodable(total, result)


SUMS_OF_PRODUCTS: tuple[Reason, ...] = (no_zero, complex_exception, sum_not_encodable)
"""The reasons for sums of products, including convolutions."""

REASONS: dict[str, tuple[Reason, ...]] = {
    "batch_norm_grad": (no_zero,),
    "batch_norm_training": (no_zero,),
    "convolution": SUMS_OF_PRODUCTS,
    "dot": SUMS_OF_PRODUCTS,
    "dot_general": SUMS_OF_PRODUCTS,
    "dynamic_conv": SUMS_OF_PRODUCTS,
    "einsum": SUMS_OF_PRODUCTS,
    "unary_einsum": SUMS_OF_PRODUCTS,
}
"""The reasons by op. They hold for all results of an op."""

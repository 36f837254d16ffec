"""Tolerance rules of the ops of reference/ops/convolution.py."""

from __future__ import annotations

from math import prod

from conformance.tolerance.bounds.product_rule import sum_of_products_rule
from reference.interpreter.evaluate import given_attributes
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.numerics.products import Multiply
from reference.ops.convolution import Geometry, convolve, geometry


def geometry_of(operation: Operation, operands: tuple[Array, ...]) -> Geometry:
    """Return the geometry from the attributes, and from operands of a dynamic convolution."""
    padding = operands[2] if operation.name == "dynamic_conv" else None
    return geometry(given_attributes(operation), operands[0].ndim - 2, padding)


def convolution_sums(
    operation: Operation, operands: tuple[Array, ...], multiply: Multiply, padding: float = 0.0
) -> Array:
    """Return the sums of a convolution that a multiplication of matrices gives."""
    lhs, rhs = operands[:2]
    return convolve(lhs, rhs, geometry_of(operation, operands), multiply, padding)


def depth_of(operation: Operation, operands: tuple[Array, ...]) -> int:
    """Return the number of products in an element of the result, those with padding included."""
    of, rhs = geometry_of(operation, operands), operands[1]
    return prod(rhs.shape[d] for d in (*of.kernel_spatial, of.kernel_input_feature))


CONVOLVED = sum_of_products_rule("convolution", convolution_sums, depth_of)

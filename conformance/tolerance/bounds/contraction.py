"""Tolerance rules of the ops of reference/ops/contraction.py."""

from __future__ import annotations

from math import prod

import numpy as np

from conformance.tolerance.bounds.product_rule import sum_of_products_rule
from reference.interpreter.evaluate import given_attributes
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.numerics.products import Multiply, magnitudes, unrounded_products
from reference.ops.contraction import Dimensions, arrange_matrices, dot_dimensions, einsum_sums
from reference.ops.ragged import products_of_groups, ragged_numbers


def dimensions_of(operation: Operation, lhs: Array) -> Dimensions:
    """Return the dimension numbers of a `dot` or a `dot_general`."""
    if operation.name == "dot":
        return dot_dimensions(lhs.ndim)
    given = given_attributes(operation)
    return Dimensions(
        given.get("lhs_batching_dimensions", ()),
        given.get("rhs_batching_dimensions", ()),
        given.get("lhs_contracting_dimensions", ()),
        given.get("rhs_contracting_dimensions", ()),
    )


def matrices_of(
    operation: Operation, operands: tuple[Array, ...]
) -> tuple[Array, Array, tuple[int, ...]]:
    """Return the operands as stacks of wide matrices, and the result's shape."""
    lhs, rhs = operands
    return arrange_matrices(lhs, rhs, dimensions_of(operation, lhs))


def contraction_sums(
    operation: Operation,
    operands: tuple[Array, ...],
    multiply: Multiply,
    _: float = 0.0,
) -> Array:
    """Return the sums of a contraction that a multiplication of matrices gives.

    An `einsum` has sums before rounding and sums of magnitudes; infinity for anything else.
    """
    if "einsum_config" in given_attributes(operation):
        if multiply not in (magnitudes, unrounded_products):
            return np.full(1, np.inf)
        config = str(operation.attribute("einsum_config"))
        return einsum_sums(operands, config, magnitudes=multiply is magnitudes)
    if operation.attribute("lhs_ragged_dimensions") is not None:
        lhs, rhs, group_sizes = operands
        numbers = ragged_numbers(**given_attributes(operation))
        return products_of_groups(lhs, rhs, group_sizes, numbers, multiply)
    a, b, shape = matrices_of(operation, operands)
    return multiply(a, b).reshape(shape)


def depth_of(operation: Operation, operands: tuple[Array, ...]) -> int:
    """Return the number of products in an element of the result."""
    config = operation.attribute("einsum_config")
    if config is not None:
        ones = tuple(np.ones(operand.shape, np.float32) for operand in operands)
        return int(einsum_sums(ones, str(config), magnitudes=True).max(initial=0))
    lhs = operands[0]
    return prod(lhs.shape[d] for d in dimensions_of(operation, lhs).lhs_contracting)


CONTRACTED = sum_of_products_rule("sum of products", contraction_sums, depth_of)

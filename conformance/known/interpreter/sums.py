"""Sums of products added in order in the result's type, with each step rounded."""

from __future__ import annotations

from functools import partial
from math import prod

import numpy as np

from conformance.known.hypothesis import Results, exact_hypothesis
from conformance.known.xla.sums_of_products.products import NOT_KEPT
from conformance.tolerance.bounds.contraction import matrices_of
from reference.interpreter.evaluate import given_attributes
from reference.ir.program import Operation
from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics import arithmetic
from reference.numerics.conversion import complex_
from reference.numerics.products import round_sums
from reference.numerics.rounding import round_to, to_float64
from reference.ops.contraction import arrange_matrices, rounds_operands
from reference.ops.convolution import convolve, geometry
from reference.ops.ragged import products_of_groups, ragged_numbers
from reference.ops.xla.contraction import dimensions_of
from reference.ops.xla.scaled import BF16, spread


def stepwise_products(lhs: Array, rhs: Array, to: ElementType, order: Array) -> Array:
    """Return matrix products of wide elements, (..., m, k) and (..., k, n), added in the order of
    k.
    """
    left, right = round_sums(lhs, to), round_sums(rhs, to)
    total = np.zeros((*lhs.shape[:-1], rhs.shape[-1]), np.float64).astype(to.storage)
    for k in order.tolist():
        a, b = (
            np.ascontiguousarray(np.broadcast_to(side, total.shape))
            for side in (left[..., :, k, None], right[..., None, k, :])
        )
        total = arithmetic.add(total, _product(a, b))
    return total


def _product(lhs: Array, rhs: Array) -> Array:
    """Return the textbook product of complex numbers: four products and two sums."""
    if not element_type_of(lhs).is_complex:
        return arithmetic.multiply(lhs, rhs)
    a, b, c, d = (
        np.ascontiguousarray(part(side)) for side in (lhs, rhs) for part in (np.real, np.imag)
    )
    times = arithmetic.multiply
    return complex_(
        arithmetic.subtract(times(a, c), times(b, d)), arithmetic.add(times(a, d), times(b, c))
    )


def _predict_contraction(
    operation: Operation, operands: tuple[Array, ...], expected: Results
) -> Results | None:
    to = element_type_of(expected[0])
    if not (to.is_float or to.is_complex):
        return None
    lhs, rhs, *rest = operands
    given = given_attributes(operation)
    for group_sizes in rest:  # products with zeros in the others' places change no sum
        numbers = ragged_numbers(**given)
        return (products_of_groups(lhs, rhs, group_sizes, numbers, partial(_sum_all_products, to)),)
    a, b, shape = matrices_of(operation, (lhs, rhs))
    return (_sum_all_products(to, a, b).reshape(shape),)


def _without_algorithm(
    operation: Operation, operands: tuple[Array, ...], expected: Results
) -> Results | None:
    """Return results without the rounding of operands that the stated algorithm requires."""
    if not rounds_operands(given_attributes(operation)):
        return None
    return _predict_contraction(operation, operands, expected)


def _sum_all_products(to: ElementType, lhs: Array, rhs: Array) -> Array:
    return stepwise_products(lhs, rhs, to, np.arange(lhs.shape[-1]))


def _predict_convolution(
    operation: Operation, operands: tuple[Array, ...], expected: Results
) -> Results | None:
    to = element_type_of(expected[0])
    if not (to.is_float or to.is_complex):
        return None
    lhs, rhs, *padding = operands
    of = geometry(given_attributes(operation), lhs.ndim - 2, *padding)
    # a window that is reversed is reversed itself: its last place meets the kernel's first
    sizes = [rhs.shape[d] for d in (*of.kernel_spatial, of.kernel_input_feature)]
    places = np.arange(prod(sizes)).reshape(sizes)
    order = np.flip(places, tuple(d for d, reverse in enumerate(of.reversal) if reverse)).reshape(
        -1
    )
    return (convolve(lhs, rhs, of, lambda a, b: stepwise_products(a, b, to, order)),)


def _predict_scaled_product(
    operation: Operation, operands: tuple[Array, ...], expected: Results
) -> Results:
    """Return the result of scaled operands by the decomposition, with its steps rounded to bf16."""
    lhs, lhs_scale, rhs, rhs_scale = operands
    sides = [
        round_to(_as_bf16(one) * _as_bf16(spread(scale, one.shape)), BF16)
        for one, scale in ((lhs, lhs_scale), (rhs, rhs_scale))
    ]
    numbers = given_attributes(operation)["dimension_numbers"]
    a, b, shape = arrange_matrices(sides[0], sides[1], dimensions_of(numbers))
    return (_sum_all_products(element_type_of(expected[0]), a, b).reshape(shape),)


def _as_bf16(operand: Array) -> Array:
    """Return an operand as bf16, with infinities for NaNs of f8E8M0FNU."""
    numbers = to_float64(operand)
    if not element_type_of(operand).float_format.has_zero:
        numbers = np.where(np.isnan(numbers), np.inf, numbers)
    return to_float64(round_to(numbers, BF16))


ALGORITHM_IGNORED = exact_hypothesis(NOT_KEPT, _without_algorithm)
STEP_BY_STEP = exact_hypothesis("products added one by one", _predict_contraction)
WINDOWS_STEP_BY_STEP = exact_hypothesis("products added one by one", _predict_convolution)
SCALED_STEP_BY_STEP = exact_hypothesis("products added one by one", _predict_scaled_product)

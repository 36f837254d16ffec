"""Unspecified results of `chlo.ragged_dot`, by StableHLO's description."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.products import to_wide_type
from reference.ops.contraction import arrange_matrices
from reference.ops.ragged import Mode, Ragged, products_of_groups, ragged_numbers
from reference.unspecified.contraction import SUMS_OF_PRODUCTS
from reference.unspecified.reasons import Reason, Unspecified


def _dimension_numbers(operation: Operation) -> Ragged:
    given: Any = dict(operation.attributes)
    return ragged_numbers(**given)


def _ungrouped_rows(
    operation: Operation, operands: Sequence[Array], result: Array, number: int
) -> Sequence[Unspecified]:
    """Return rows of no group, which neither text defines (the decomposition gives zeros)."""
    del result, number
    numbers = _dimension_numbers(operation)
    if numbers.mode is not Mode.ROWS:
        return []
    lhs, rhs, group_sizes = operands
    held = products_of_groups(lhs, rhs, group_sizes, numbers, _count_products)
    return [("rows of no group", held == 0)]


def _count_products(lhs: Array, rhs: Array) -> Array:
    return np.ones((*lhs.shape[:-1], rhs.shape[-1]))


def _other_group(
    operation: Operation, operands: Sequence[Array], result: Array, number: int
) -> Sequence[Unspecified]:
    """Return results with a non-finite element in another group, which the decomposition multiplies
    by 0."""
    del result, number
    numbers = _dimension_numbers(operation)
    lhs, rhs, group_sizes = operands
    element_type = element_type_of(lhs)
    if numbers.mode is Mode.BATCH or not (element_type.is_float or element_type.is_complex):
        return []
    bad = [(~np.isfinite(to_wide_type(one))).astype(np.float64) for one in (lhs, rhs)]
    if not any(one.any() for one in bad):
        return []
    ones = [np.ones(operand.shape) for operand in operands[:2]]

    def products_of_own_group(left: Array, right: Array) -> Array:
        return products_of_groups(left, right, group_sizes, numbers, np.matmul)

    if numbers.mode is Mode.ROWS:
        every = np.broadcast_to(bad[1].sum(axis=numbers.group, keepdims=True), rhs.shape)
        others = products_of_own_group(ones[0], every) - products_of_own_group(ones[0], bad[1])
    else:
        pairs = (bad[0], ones[1]), (ones[0], bad[1])
        others = sum(_dot_sums(*pair, numbers) - products_of_own_group(*pair) for pair in pairs)
    return [("no number in another group", np.asarray(others) > 0)]


def _dot_sums(lhs: Array, rhs: Array, numbers: Ragged) -> Array:
    a, b, shape = arrange_matrices(lhs, rhs, numbers.dot)
    return np.matmul(a, b).reshape(shape)


def _negative_size(
    operation: Operation, operands: Sequence[Array], result: Array, number: int
) -> Sequence[Unspecified]:
    """Return all elements if a group size is negative."""
    del operation, result, number
    return [("negative group size", np.asarray((operands[2] < 0).any()))]


REASONS: dict[str, tuple[Reason, ...]] = {
    "chlo.ragged_dot": (*SUMS_OF_PRODUCTS, _ungrouped_rows, _other_group, _negative_size)
}
"""The reasons by op."""

"""Sums of a convolution by hand: their depth, their magnitudes, their padding, their bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.tolerance.bounds.convolution import (
    CONVOLVED,
    convolution_sums,
    depth_of,
    geometry_of,
)
from generators.families.reduction import padding_of
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.numerics.products import magnitudes, unrounded_products
from suites.meta.support.ops.contractions import ONE_SPATIAL
from suites.meta.support.small_programs import array, op_program, tensor_of

U = 2.0**-24
LHS = array([1.0, -2.0, 3.0]).reshape(1, 3, 1)
KERNEL = array([10.0, -1.0]).reshape(2, 1, 1)


def convolution(lhs: Array, kernel: Array, size: int, **given: Any) -> Operation:
    """Return a convolution along one dimension; unless given, the padding is (1, 0)."""
    attributes: dict[str, Any] = {"padding": padding_of(((1, 0),)), **ONE_SPATIAL, **given}
    types = tensor_of(*lhs.shape), tensor_of(*kernel.shape)
    result = tensor_of(lhs.shape[0], size, kernel.shape[2])
    return op_program("convolution", types, result, **attributes).subject


def test_sums_are_those_of_the_padded_windows() -> None:
    operation = convolution(LHS, KERNEL, 3)
    sums = convolution_sums(operation, (LHS, KERNEL), unrounded_products)
    assert sums.ravel().tolist() == [0 * 10 - 1, 10 + 2, -20 - 3]
    sizes = convolution_sums(operation, (LHS, KERNEL), magnitudes)
    assert sizes.ravel().tolist() == [1, 12, 23]


def test_another_padding_is_a_term_of_the_first_window() -> None:
    operation = convolution(LHS, KERNEL, 3)
    sizes = convolution_sums(operation, (LHS, KERNEL), magnitudes, 1.0)
    assert sizes.ravel().tolist() == [10 + 1, 12, 23]


def test_depth_is_the_window_times_the_features_of_a_group() -> None:
    lhs, kernel = np.ones((1, 5, 6), np.float32), np.ones((3, 2, 9), np.float32)
    operation = convolution(lhs, kernel, 4, feature_group_count=3)
    assert depth_of(operation, (lhs, kernel)) == 3 * 2


def test_padding_of_a_dynamic_convolution_is_an_operand() -> None:
    types = tensor_of(1, 3, 1), tensor_of(2, 1, 1), tensor_of(1, 2, of="si32")
    operation = op_program("dynamic_conv", types, tensor_of(1, 7, 1), **ONE_SPATIAL).subject
    padding = np.array([[2, 3]], np.int32)
    assert geometry_of(operation, (LHS, KERNEL, padding)).padding == ((2, 3),)
    sums = convolution_sums(operation, (LHS, KERNEL, padding), unrounded_products)
    assert sums.ravel().tolist() == [0, -1, 12, -23, 30, 0, 0]


@pytest.mark.parametrize(("ulps", "within"), [(3, True), (5, False)])
def test_bound_is_that_of_a_sum_of_two_products(ulps: int, within: bool) -> None:
    """Higham, 3.1 and 3.5: u |e| + gamma(2) S. 2 e = 2 S here, so the bound is 3 u S, and the sum
    is just above a power of two: an ulp is nearly 2 u S.
    """
    lhs, kernel = array([1.1, 1.1]).reshape(1, 2, 1), array([0.95, 0.95]).reshape(2, 1, 1)
    operation = convolution(lhs, kernel, 1, padding=padding_of(((0, 0),)))
    exact = 2 * float(lhs[0, 0, 0]) * float(kernel[0, 0, 0])
    expected = np.full((1, 1, 1), exact, np.float32)
    assert CONVOLVED.bound is not None
    assert CONVOLVED.measure is not None
    (bound,) = CONVOLVED.bound(operation, (lhs, kernel), (expected,))
    assert bound is not None
    off = abs(float(expected.item()) - exact)
    assert float(bound.item()) == pytest.approx(3 * U * exact + off, rel=1e-6)
    moved = expected + np.float32(ulps * U * exact)
    (units,) = CONVOLVED.measure(operation, (lhs, kernel), (expected,), (moved,))
    assert bool(units.item() <= 1) is within

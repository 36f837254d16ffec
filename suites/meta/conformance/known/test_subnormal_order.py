"""Selections among numbers that are equal if subnormal numbers are zeros."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.known.subnormal_order import explained_elements, operations
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.ir.types import Array
from suites.meta.support.small_programs import array, op_program, tensor_of

T = 2.0**-130
"""A subnormal number of f32."""


def explained(operation: Operation, operands: tuple[Array, ...], *actual: Array) -> list[list]:
    rule = CATALOG[operation.name].tolerance
    return [one.tolist() for one in explained_elements(operation, operands, actual, rule)]


@pytest.mark.parametrize(
    ("lhs", "rhs", "got", "is_explained"),
    [
        (T, -T, T, True),
        (T, -T, -T, True),
        (T, 0.0, 0.0, True),
        (T, -T, -0.0, True),  # the selected number is flushed, too
        (T, 2 * T, -0.0, False),
        (T, -T, 2 * T, False),
        (2 * T, 1.0, 2 * T, False),
    ],
)
def test_maximum_may_be_either_of_two_subnormal_numbers(
    lhs: float, rhs: float, got: float, is_explained: bool
) -> None:
    operation = op_program("maximum", [tensor_of(1)] * 2, tensor_of(1)).subject
    operands = (array([lhs]), array([rhs]))
    assert explained(operation, operands, array([got])) == [[is_explained]]


REDUCED = """
func.func @main(%x: tensor<2x3xf32>, %i: tensor<f32>) -> tensor<2xf32> {
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.OP across dimensions = [1]
    : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"""
ROWS = array([[-T, T, 2 * T], [1, T, 2]])


@pytest.mark.parametrize(
    ("got", "is_explained"),
    [
        ([-T, 2], [True, True]),
        ([T, 1], [True, False]),
        ([2 * T, T], [True, False]),
        ([0, 2], [True, True]),  # the init value
        ([3 * T, 2], [False, True]),
    ],
)
def test_extremum_may_be_any_of_its_subnormal_elements(
    got: list[float], is_explained: list[bool]
) -> None:
    operation = parse_module(REDUCED.replace("OP", "maximum")).subject
    assert explained(operation, (ROWS, array(0.0)), array(got)) == [is_explained]


def test_sums_compare_nothing() -> None:
    operation = parse_module(REDUCED.replace("OP", "add")).subject
    operands = (ROWS, array(0.0))
    assert operations(operation, operands) == ()
    assert explained(operation, operands, *apply(operation, operands)) == [[False, False]]


SORTED = """
func.func @main(%x: tensor<3xf32>, %y: tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>) {
  %0:2 = "stablehlo.sort"(%x, %y) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true}
    : (tensor<3xf32>, tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>)
  return %0#0, %0#1 : tensor<3xf32>, tensor<3xi32>
}"""


def test_stable_sort_keeps_the_order_of_subnormal_numbers() -> None:
    operation = parse_module(SORTED).subject
    x, y = array([T, -1.0, -T]), np.array([0, 1, 2], np.int32)
    kept = array([-1.0, T, -T]), np.array([1, 0, 2], np.int32)
    assert explained(operation, (x, y), *kept) == [[True] * 3, [True] * 3]
    (flushed,) = operations(operation, (x, y))
    assert [one.tolist() for one in apply(flushed, (x, y))] == [one.tolist() for one in kept]
    normal = array([1.0, -1.0, 0.5])
    assert operations(operation, (normal, y)) == ()
    assert explained(operation, (normal, y), *kept) == [[False] * 3, [False] * 3]

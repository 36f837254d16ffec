"""Operands of wrong sums of products: every element that the sum reads, and no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.judging.summands import MOST
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Element
from reference.interpreter.evaluate import evaluate
from suites.meta.support.small_programs import array

PRODUCT = """
func.func @main(%a: tensor<2xMx3xf32>, %b: tensor<2x3x4xf32>) -> tensor<2xMx4xf32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2xMx3xf32>, tensor<2x3x4xf32>) -> tensor<2xMx4xf32>
  return %0 : tensor<2xMx4xf32>
}"""
CONVOLUTION = """
func.func @main(%a: tensor<1x4x1xi32>, %b: tensor<12x1x1xi32>) -> tensor<1x3x1xi32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {pad = [[5, 5]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x4x1xi32>, tensor<12x1x1xi32>) -> tensor<1x3x1xi32>
  return %0 : tensor<1x3x1xi32>
}"""
DIAGONAL = """
func.func @main(%a: tensor<9x9xf32>) -> tensor<f32> {
  %0 = "stablehlo.unary_einsum"(%a) {einsum_config = "ii->"} : (tensor<9x9xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}"""


def wrong_element(text: str, inputs: list[Any], index: tuple[int, ...]) -> Element:
    """Return the element that a judgement records where one element of a result is wrong."""
    program = parse_module(text)
    expected = evaluate(program, inputs)
    actual = expected[0].copy()
    actual[index] += 7
    (element,) = judge_operation(program, inputs, expected, [actual]).elements
    assert element.index == index
    return element


def test_row_and_column_of_wrong_product_are_recorded() -> None:
    inputs = [
        array(np.arange(12).reshape(2, 2, 3), "f32"),
        array(np.arange(24).reshape(2, 3, 4), "f32"),
    ]
    element = wrong_element(PRODUCT.replace("M", "2"), inputs, (1, 0, 2))
    assert [one[:2] for one in element.inputs] == [
        ("lhs", "6.0, 7.0, 8.0"), ("rhs", "14.0, 18.0, 22.0"),
    ]  # fmt: skip
    assert element.inputs[0][2] == "0x40C00000, 0x40E00000, 0x41000000"


def test_window_of_wrong_convolution_is_recorded_without_its_padding() -> None:
    inputs = [
        array(np.arange(1, 5).reshape(1, 4, 1), "si32"),
        array(np.arange(12).reshape(12, 1, 1), "si32"),
    ]
    element = wrong_element(CONVOLUTION, inputs, (0, 1, 0))
    assert [one[1] for one in element.inputs] == ["1, 2, 3, 4", "4, 5, 6, 7"]


def test_many_factors_are_clipped() -> None:
    element = wrong_element(DIAGONAL, [array(np.arange(81).reshape(9, 9), "f32")], ())
    ((_, values, _),) = element.inputs
    assert values == "0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0 and 1 more"


@pytest.mark.parametrize("rows", [MOST // 6, MOST // 6 + 1])
def test_large_operands_are_not_searched(rows: int) -> None:
    inputs = [array(np.ones((2, rows, 3)), "f32"), array(np.ones((2, 3, 4)), "f32")]
    element = wrong_element(PRODUCT.replace("M", str(rows)), inputs, (1, rows - 1, 3))
    assert bool(element.inputs) is (rows * 6 <= MOST)

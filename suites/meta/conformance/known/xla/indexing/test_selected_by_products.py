"""Rows selected by a product, in which the other rows are multiplied by 0."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.indexing.selected_by_products import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array

SELECT = """
func.func @main(%x: tensor<3x4xf16>, %i: tensor<2xi32>) -> tensor<2x4xf16> {
  %0 = "stablehlo.torch_index_select"(%x, %i) {batch_dims = 0 : i64, dim = 0 : i64}
    : (tensor<3x4xf16>, tensor<2xi32>) -> tensor<2x4xf16>
  return %0 : tensor<2x4xf16>
}"""
GATHER = """
func.func @main(%x: tensor<3x4xf16>, %i: tensor<2xi32>) -> tensor<2x4xf16> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf16>, tensor<2xi32>) -> tensor<2x4xf16>
  return %0 : tensor<2x4xf16>
}"""
DYNAMIC = """
func.func @main(%x: tensor<3x4xf16>, %i: tensor<2xi32>) -> tensor<2x4xf16> {
  %sizes = stablehlo.constant dense<[1, 4]> : tensor<2xi32>
  %0 = "stablehlo.dynamic_gather"(%x, %i, %sizes) <{dimension_numbers = #stablehlo.gather<
      offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}>
    : (tensor<3x4xf16>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x4xf16>
  return %0 : tensor<2x4xf16>
}"""
OPERAND = np.array([[1, -0.0, 3, np.inf], [5, 6, np.nan, 8], [9, 10, 11, 12]], np.float16)
INDICES = np.array([0, 1], np.int32)
PRODUCT = np.array([[1, 0.0, np.nan, np.inf], [5, 6, np.nan, np.nan]], np.float16)


def kinds(text: str, actual: Array, hardware: str = Hardware.TPU) -> set[str]:
    program, inputs = parse_module(text), (OPERAND, INDICES)
    expected = evaluate(program, inputs)
    judged = judge_operation(program, inputs, expected, (actual,), hardware)
    return {one.kind for one in judged.failing}


@pytest.mark.parametrize("text", [SELECT, GATHER, DYNAMIC])
def test_other_rows_times_zero_are_of_the_class_on_a_tpu_only(text: str) -> None:
    assert kinds(text, PRODUCT) == {LABEL}
    assert LABEL not in kinds(text, PRODUCT, Hardware.GPU)


@pytest.mark.parametrize(("row", "column"), [(0, 0), (0, 3), (1, 1)])
def test_nan_beside_finite_rows_is_not_of_the_class(row: int, column: int) -> None:
    actual = PRODUCT.copy()
    actual[row, column] = np.nan
    assert "NaN" in kinds(SELECT, actual)

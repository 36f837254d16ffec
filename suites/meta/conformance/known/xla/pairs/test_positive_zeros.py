"""Zeros of sums and products of f64 in bodies."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.known.xla.pairs.positive_zeros import POSITIVE_ZEROS
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate

PRODUCTS = """
func.func @main(%x: tensor<2xf64>, %y: tensor<2xf64>, %i: tensor<f64>, %j: tensor<f64>)
    -> (tensor<1xf64>, tensor<1xf64>) {
  %0:2 = "stablehlo.reduce_window"(%x, %y, %i, %j) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>, %c: tensor<f64>, %d: tensor<f64>):
    %1 = stablehlo.multiply %a, %c : tensor<f64>
    %2 = stablehlo.multiply %b, %c : tensor<f64>
    %3 = stablehlo.add %2, %d : tensor<f64>
    stablehlo.return %1, %3 : tensor<f64>, tensor<f64>
  }) : (tensor<2xf64>, tensor<2xf64>, tensor<f64>, tensor<f64>) -> (tensor<1xf64>, tensor<1xf64>)
  return %0#0, %0#1 : tensor<1xf64>, tensor<1xf64>
}"""


@pytest.mark.parametrize(
    ("actual", "platform", "kind"),
    [
        (0.0, Hardware.TPU, POSITIVE_ZEROS.label),
        (1.0, Hardware.TPU, "wrong value"),
        (0.0, Hardware.CPU, "signed zero"),
    ],
)
def test_a_zero_without_its_sign_is_of_the_class(actual: float, platform: str, kind: str) -> None:
    """The product of 1, 0 and -1 is -0."""
    program = parse_module(PRODUCTS)
    inputs = [np.array([0.0, -1.0]), np.ones(2), np.array(1.0), np.array(-0.0)]
    product, total = evaluate(program, inputs)
    assert np.signbit(product[0])
    got, rule = [np.array([actual]), total], CATALOG["reduce_window"].tolerance
    found = judge(program, inputs, (product, total), got, rule, platform=platform)
    assert found.kind == kind


SUMS = """
func.func @main(%x: tensor<2xf64>, %y: tensor<2xf64>) -> tensor<2xf64> {
  %i = stablehlo.constant dense<[[0], [1]]> : tensor<2x1xi32>
  %0 = "stablehlo.scatter"(%x, %i, %y) <{scatter_dimension_numbers = #stablehlo.scatter<
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %1 : tensor<f64>
  }) : (tensor<2xf64>, tensor<2x1xi32>, tensor<2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}"""


@pytest.mark.parametrize(
    ("actual", "platform", "kind"),
    [
        ([0.0, 1.25], Hardware.TPU, POSITIVE_ZEROS.label),
        ([-0.0, 1.5], Hardware.TPU, "wrong value"),
        ([0.0, 1.25], Hardware.CPU, "signed zero"),
    ],
)
def test_the_sum_of_negative_zeros_is_of_the_class(
    actual: list[float], platform: str, kind: str
) -> None:
    program = parse_module(SUMS)
    inputs = [np.array([-0.0, 1.5]), np.array([-0.0, -0.25])]
    expected, rule = evaluate(program, inputs), CATALOG["scatter"].tolerance
    found = judge(program, inputs, expected, [np.array(actual)], rule, platform=platform)
    assert found.kind == kind

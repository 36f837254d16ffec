"""Gradients of a normalization with the root factored out of sums, as loops add them."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.normalization_gradients import (
    factor_out_root,
    factor_out_root_of_loops,
)
from conformance.known.xla.normalization_steps import Machine, NormalizationOperands
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.types import element_type

GRADIENT = """
func.func @main(%x: tensor<2x1x2xf16>, %g: tensor<2x1x2xf16>)
    -> (tensor<2x1x2xf16>, tensor<1xf16>, tensor<1xf16>) {
  %one = stablehlo.constant dense<1.0> : tensor<1xf16>
  %zero = stablehlo.constant dense<0.0> : tensor<1xf16>
  %0:3 = "stablehlo.batch_norm_grad"(%x, %one, %zero, %one, %g)
    <{epsilon = 0.0 : f32, feature_index = 1 : i64}>
    : (tensor<2x1x2xf16>, tensor<1xf16>, tensor<1xf16>, tensor<1xf16>, tensor<2x1x2xf16>)
    -> (tensor<2x1x2xf16>, tensor<1xf16>, tensor<1xf16>)
  return %0#0, %0#1, %0#2 : tensor<2x1x2xf16>, tensor<1xf16>, tensor<1xf16>
}"""
X = np.array([[[2**13, 1]], [[1, 2**13]]], np.float16)
G = np.array([[[2**12, 1]], [[2, -(2**12)]]], np.float16)


def kinds(totals: list[float], scale: float) -> set[str]:
    """Return the kinds of the elements of gradients that are computed from `totals`."""
    program = parse_module(GRADIENT)
    expected = evaluate(program, (X, G))
    inner = 4 * G.astype(np.float32) - 3 - np.reshape(totals, X.shape) * X
    operand = (inner / 4).astype(np.float16)
    results = operand, np.array([scale], np.float16), expected[2]
    judged = judge_operation(program, (X, G), expected, results, Hardware.CPU)
    return {one.kind for one in judged.failing}


@pytest.mark.parametrize("total", [0, 3, 2])
def test_products_may_be_added_in_order_or_rounded_once_or_in_vectors(total: float) -> None:
    """2^25 + 1 + 2 - 2^25 is 0 in f32 in order, and 2 if rows are added first."""
    assert kinds([total] * 4, total) == {"order of the factors"}


@pytest.mark.parametrize(
    ("totals", "scale"),
    [([1, 1, 1, 1], 1), ([2, 2, 2, 2], 1), ([2, 3, 2, 2], 2), ([2, 1, 2, 2], 2)],
)
def test_sums_in_vectors_give_all_elements_of_all_results(
    totals: list[float], scale: float
) -> None:
    assert "NaN" in kinds(totals, scale)


def test_unusual_sums_need_the_results_of_the_backend() -> None:
    one, zero, shape = np.ones((1, 1, 1), np.float32), np.zeros((1, 1, 1), np.float32), (2, 1, 2)
    machine = Machine(element_type("f32"), flushes=False, narrow=element_type("f16"))
    operands = [X.astype(np.float32), one, zero, one, G.astype(np.float32)]
    results = np.ones(shape, np.float16), np.ones(1, np.float16), np.ones(1, np.float16)
    epsilon, count = np.array(0, np.float32), np.array(4, np.float32)
    given = NormalizationOperands(machine, operands, epsilon, count, (0, 2), results)
    assert {round(scale.item()) for _, scale, _ in factor_out_root(given)} == {0, 3}
    assert not list(factor_out_root_of_loops(given))

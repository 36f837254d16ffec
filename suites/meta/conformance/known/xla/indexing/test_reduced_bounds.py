"""Reductions of an element that set_dimension_size has cut off."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.known.xla.indexing.reduced_bounds import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.table import RULES
from reference.interpreter.evaluate import evaluate

PROGRAM = """
func.func @main(%x: tensor<BOUNDxf32>, %n: tensor<i32>) -> tensor<f32> {
  %0 = stablehlo.set_dimension_size %x, %n, dim = 0
    : (tensor<BOUNDxf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<BOUND>>
  %1 = stablehlo.negate %0 : tensor<?xf32, #stablehlo.bounds<BOUND>>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [0]
    : (tensor<?xf32, #stablehlo.bounds<BOUND>>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}
"""


@pytest.mark.parametrize(
    ("bound", "actual", "platform", "kind"),
    [
        (1, 0.0, Hardware.GPU, ""),
        (1, -5.0, Hardware.GPU, LABEL),
        (1, -3.0, Hardware.GPU, "wrong value"),
        (2, -5.0, Hardware.GPU, "wrong value"),
        (1, -5.0, Hardware.CPU, "wrong value"),
    ],
)
def test_elements_reduced_though_cut_have_the_class(
    bound: int, actual: float, platform: str, kind: str
) -> None:
    program = parse_module(PROGRAM.replace("BOUND", str(bound)))
    inputs = (np.full(bound, 5, np.float32), np.array(0, np.int32))
    got, rule = (np.array(actual, np.float32),), RULES["data"]
    judged = judge(program, inputs, evaluate(program, inputs), got, rule, platform=platform)
    assert judged.kind == kind

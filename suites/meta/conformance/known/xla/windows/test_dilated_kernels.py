"""Convolutions whose dilated kernels have zeros in their holes."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.windows.dilated_kernels import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate

PROGRAM = """
func.func @main(%x: tensor<1x1x5xf32>, %k: tensor<1x1x2xf32>) -> tensor<1x1x3xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0],
    window = {rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> tensor<1x1x3xf32>
  return %0 : tensor<1x1x3xf32>
}
"""


@pytest.mark.parametrize(
    ("platform", "first", "kind"),
    [
        (Hardware.GPU, np.nan, LABEL),
        (Hardware.CPU, np.nan, "NaN"),
        (Hardware.GPU, 4.0, "wrong value"),
    ],
)
def test_infinity_in_a_hole_of_the_kernel(platform: str, first: float, kind: str) -> None:
    program = parse_module(PROGRAM)
    image = np.array([[[1.0, np.inf, 2.0, 3.0, 4.0]]], np.float32)
    inputs = [image, np.ones((1, 1, 2), np.float32)]
    expected = evaluate(program, inputs)
    assert expected[0].ravel().tolist() == [3.0, np.inf, 6.0]
    got = [np.array([[[first, np.inf, 6.0]]], np.float32)]
    assert judge_operation(program, inputs, expected, got, platform).kind == kind

"""NaNs of f32 that become infinities in TF32, as in tensor cores of an NVIDIA H200."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.sums_of_products.truncated_nans import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate

PROGRAM = parse_module("""
func.func @main(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
    : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}""")


@pytest.mark.parametrize(
    ("bits", "got", "platform", "is_explained"),
    [
        (0x7F800001, -np.inf, Hardware.GPU, True),
        (0xFF801FFF, np.inf, Hardware.GPU, True),
        (0xFF801FFF, -np.inf, Hardware.GPU, False),
        (0x7F802000, -np.inf, Hardware.GPU, False),
        (0x7F800001, -np.inf, Hardware.CPU, False),
        (0x7F800001, -2.0, Hardware.GPU, False),
    ],
)
def test_nan_without_leading_bits_is_infinite(
    bits: int, got: float, platform: str, is_explained: bool
) -> None:
    y = np.array([[bits, 0], [0, 0]], np.uint32).view(np.float32)
    inputs = np.array([[1, 3], [-2, 1]], np.float32), y
    expected = evaluate(PROGRAM, inputs)
    assert np.isnan(expected[0][:, 0]).all()
    actual = np.array([[np.nan, 0], [got, 0]], np.float32)
    judged = judge_operation(PROGRAM, inputs, expected, (actual,), platform)
    assert judged.verdict.fails
    assert (judged.kind == LABEL) == is_explained

"""Convolutions by batch groups whose groups are added up, as an NVIDIA H200 does."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.known.xla.windows.added_groups import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.table import RULES
from reference.interpreter.evaluate import evaluate

IMAGE = np.arange(1, 9, dtype=np.float32).reshape(2, 4, 1)
KERNEL = np.array([1, 10, 100, 1000], np.float32).reshape(2, 1, 2)
MEASURED = np.array([608, 6080, 810, 8100, 1012, 10120], np.float32).reshape(1, 3, 2)

PROGRAM = """
func.func @main(%x: tensor<2x4x1xf32>, %y: tensor<2x1x2xf32>) -> tensor<1x3x2xf32> {{
  %0 = "stablehlo.convolution"(%x, %y) {{batch_group_count = 2 : i64, feature_group_count = 1 : i64,
    window_reversal = array<i1: {}>,
    dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>}}
    : (tensor<2x4x1xf32>, tensor<2x1x2xf32>) -> tensor<1x3x2xf32>
  return %0 : tensor<1x3x2xf32>
}}"""


def class_of(actual: np.ndarray, reversal: str = "true", hardware: str = Hardware.GPU) -> str:
    program = parse_module(PROGRAM.format(reversal))
    inputs = IMAGE, KERNEL
    expected = evaluate(program, inputs)
    rule = RULES["convolution"]
    return judge(program, inputs, expected, (actual,), rule, platform=hardware).kind


def test_result_measured_on_device_is_predicted() -> None:
    assert class_of(MEASURED) == LABEL


@pytest.mark.parametrize(
    "given", [{"reversal": "false"}, {"hardware": Hardware.CPU}, {"actual": MEASURED + 1}]
)
def test_nothing_else_is(given: dict[str, object]) -> None:
    assert class_of(**{"actual": MEASURED, **given}) not in (LABEL, "")  # type: ignore[arg-type]

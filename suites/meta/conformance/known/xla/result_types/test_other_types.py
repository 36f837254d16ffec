"""Results in other shapes than stated: predicted values have a class, other values do not."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.result_types.other_types import BYTES
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array


def failing_classes(text: str, inputs: list[Array], actual: Array) -> dict[str, tuple[int, int]]:
    """Return the classes of failures, with their wrong and their predicted elements."""
    program = parse_module(text)
    found = judge_operation(program, inputs, evaluate(program, inputs), [actual])
    return {one.kind: (one.wrong, one.predicted) for one in found.failing}


@pytest.mark.parametrize(
    ("of", "to", "operand", "right"),
    [
        ("1xi16", "1x16xi1", np.array([0x7922], np.int16),
         np.array([[0x22, 1]], np.uint8).view(np.bool_)),
        ("2x6xi1", "2xf6E3M2FN", np.eye(2, 6, dtype=np.bool_),
         (np.eye(2, 6) / 16).astype(ml_dtypes.float6_e3m2fn)),
        ("2x8xi1", "2xi8", np.eye(2, 8, dtype=np.bool_), np.eye(2, 8, dtype=np.int8)),
        ("2x4xi1", "2xi4", np.eye(2, 4, dtype=np.bool_),
         np.stack([np.eye(2, 4), np.zeros((2, 4))], axis=-1).astype(ml_dtypes.int4)),
        ("2xi4", "2x4xi1", np.array([4, 7], ml_dtypes.int4),
         np.array(0x74, np.uint8).view(np.bool_)),
    ],
)  # fmt: skip
def test_a_truth_value_has_a_byte(of: str, to: str, operand: Array, right: Array) -> None:
    text = f"""
func.func @main(%x: tensor<{of}>) -> tensor<{to}> {{
  %0 = stablehlo.bitcast_convert %x : (tensor<{of}>) -> tensor<{to}>
  return %0 : tensor<{to}>
}}"""
    assert failing_classes(text, [operand], right) == {BYTES: (right.size, right.size)}
    wrong = right.copy().reshape(-1)
    wrong[-1] = False if wrong.dtype == bool else 5
    found = failing_classes(text, [operand], wrong.reshape(right.shape))
    assert found == {"wrong value": (1, 0), BYTES: (right.size, right.size - 1)}


def test_constants_that_are_bytes_of_truth_values_are_no_memory() -> None:
    text = """
func.func @main() -> tensor<f8E4M3> {
  %c = stablehlo.constant dense<[false, false, true, true, true, false, true, true]> : tensor<8xi1>
  %0 = stablehlo.bitcast_convert %c : (tensor<8xi1>) -> tensor<f8E4M3>
  return %0 : tensor<f8E4M3>
}"""
    actual = np.array([0, 0, 1, 1, 1, 0, 1, 1], np.uint8).view(ml_dtypes.float8_e4m3)
    assert failing_classes(text, [], actual) == {BYTES: (8, 8)}


@pytest.mark.parametrize(("platform", "is_known"), [(Hardware.TPU, True), (Hardware.GPU, False)])
def test_truth_values_of_f64_are_bytes_of_a_pair_on_a_tpu(platform: str, is_known: bool) -> None:
    text = """
func.func @main(%x: tensor<2xf64>) -> tensor<2x64xi1> {
  %0 = stablehlo.bitcast_convert %x : (tensor<2xf64>) -> tensor<2x64xi1>
  return %0 : tensor<2x64xi1>
}"""
    program, operand = parse_module(text), np.array([1.0, 1e300])
    pairs = np.array([[0.0, 1.0], [0.0, np.inf]], np.float32)
    actual = pairs.view(np.uint8) != 0
    expected = evaluate(program, [operand])
    found = judge_operation(program, [operand], expected, [actual], platform)
    assert ({one.kind for one in found.failing} == {BYTES}) is is_known
    if is_known:
        assert [one.predicted for one in found.failing] == [actual.size]
    actual[0, 7] = False
    found = judge_operation(program, [operand], expected, [actual], platform)
    assert "wrong value" in {one.kind for one in found.failing}

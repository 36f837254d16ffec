"""Results in other types than stated: predicted values have a class, other values do not."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.other_types import BYTES
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array

REDUCE = """
func.func @main(%x: tensor<2x3xf32>, %i: tensor<f32>) -> tensor<2xf64> {
  %0 = "stablehlo.reduce"(%x, %i) ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %1 : tensor<f64>
  }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}"""
SCATTER = """
func.func @main(%x: tensor<3xNARROW>, %i: tensor<2x1xi64>, %u: tensor<2xNARROW>) -> tensor<3xWIDE> {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<WIDE>, %b: tensor<WIDE>):
    %1 = stablehlo.maximum %a, %b : tensor<WIDE>
    stablehlo.return %1 : tensor<WIDE>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<3xNARROW>, tensor<2x1xi64>, tensor<2xNARROW>) -> tensor<3xWIDE>
  return %0 : tensor<3xWIDE>
}"""
TYPE, SHAPE = "wrong element type", BYTES


def failing_classes(text: str, inputs: list[Array], actual: Array) -> dict[str, tuple[int, int]]:
    """Return the classes of failures, with their wrong and their predicted elements."""
    program = parse_module(text)
    found = judge_operation(program, inputs, evaluate(program, inputs), [actual])
    return {one.kind: (one.wrong, one.predicted) for one in found.failing}


def test_a_body_of_a_wider_type_is_one_of_the_operands_type() -> None:
    x, zero = np.array([[1, 2, 3], [4, 5, 6]], np.float32), np.array(0, np.float32)

    def classes_of(*numbers: float) -> dict[str, tuple[int, int]]:
        return failing_classes(REDUCE, [x, zero], np.array(numbers, np.float32))

    assert classes_of(6, 15) == {TYPE: (2, 2)}
    assert classes_of(6, 16) == {"wrong value": (1, 0), TYPE: (2, 1)}
    assert classes_of(6, np.nan) == {"NaN": (1, 0), TYPE: (2, 1)}
    other = failing_classes(REDUCE, [x, zero], np.array([6, 15], np.float16))
    assert other == {TYPE: (2, 0)}


@pytest.mark.parametrize(
    ("narrow", "storage", "wide", "predicted"),
    [("f32", np.float32, "f64", 3), ("f8E4M3FN", ml_dtypes.float8_e4m3fn, "bf16", 0)],
)
def test_bodies_of_updates_in_narrow_types_predict_nothing(
    narrow: str, storage: type, wide: str, predicted: int
) -> None:
    x, updates = np.array([1, 2, 3], storage), np.array([4, 1], storage)
    text = SCATTER.replace("NARROW", narrow).replace("WIDE", wide)
    actual = np.array([4, 2, 3], storage)
    found = failing_classes(text, [x, np.array([[0], [1]]), updates], actual)
    assert found == {TYPE: (3, predicted)}
    actual[2] = 7
    found = failing_classes(text, [x, np.array([[0], [1]]), updates], actual)
    assert ("wrong value" in found) is bool(predicted)


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
    assert failing_classes(text, [operand], right) == {SHAPE: (right.size, right.size)}
    wrong = right.copy().reshape(-1)
    wrong[-1] = False if wrong.dtype == bool else 5
    found = failing_classes(text, [operand], wrong.reshape(right.shape))
    assert found == {"wrong value": (1, 0), SHAPE: (right.size, right.size - 1)}


def test_constants_that_are_bytes_of_truth_values_are_no_memory() -> None:
    text = """
func.func @main() -> tensor<f8E4M3> {
  %c = stablehlo.constant dense<[false, false, true, true, true, false, true, true]> : tensor<8xi1>
  %0 = stablehlo.bitcast_convert %c : (tensor<8xi1>) -> tensor<f8E4M3>
  return %0 : tensor<f8E4M3>
}"""
    actual = np.array([0, 0, 1, 1, 1, 0, 1, 1], np.uint8).view(ml_dtypes.float8_e4m3)
    assert failing_classes(text, [], actual) == {SHAPE: (8, 8)}


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
    assert ({one.kind for one in found.failing} == {SHAPE}) is is_known
    if is_known:
        assert [one.predicted for one in found.failing] == [actual.size]
    actual[0, 7] = False
    found = judge_operation(program, [operand], expected, [actual], platform)
    assert "wrong value" in {one.kind for one in found.failing}

"""Bodies of a wider type than the operands: predicted values have a class, other values do not."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.entry_prediction import EntryPrediction
from conformance.known.in_force import in_force
from conformance.known.xla.result_types.narrow_bodies import LABEL, rewrite, rewrite_updates
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
    %1 = stablehlo.OP %a, %b : tensor<WIDE>
    stablehlo.return %1 : tensor<WIDE>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<3xNARROW>, tensor<2x1xi64>, tensor<2xNARROW>) -> tensor<3xWIDE>
  return %0 : tensor<3xWIDE>
}"""
SELECT = """
func.func @main(%x: tensor<4xNARROW>, %s: tensor<3xNARROW>, %i: tensor<NARROW>) -> tensor<4xWIDE> {
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) ({
  ^bb0(%a: tensor<NARROW>, %b: tensor<NARROW>):
    %1 = stablehlo.compare GE, %a, %b : (tensor<NARROW>, tensor<NARROW>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<WIDE>, %b: tensor<WIDE>):
    %1 = stablehlo.multiply %a, %b : tensor<WIDE>
    stablehlo.return %1 : tensor<WIDE>
  }) {window_dimensions = array<i64: 2>} :
    (tensor<4xNARROW>, tensor<3xNARROW>, tensor<NARROW>) -> tensor<4xWIDE>
  return %0 : tensor<4xWIDE>
}"""
BRANCH = """
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<3xi8>, %n: tensor<i32>) -> tensor<3xi32> {
    %0 = "stablehlo.case"(%n) ({
      %1 = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %2 = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %2 : tensor<i32>
      }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<3xi8>) -> tensor<3xi32>
      stablehlo.return %1 : tensor<3xi32>
    }) : (tensor<i32>) -> tensor<3xi32>
    return %0 : tensor<3xi32>
  }
}"""


def failing_classes(
    text: str, inputs: list[Array], *actual: Array, platform: str = Hardware.CPU
) -> dict[str, tuple[int, int]]:
    """Return the classes of failures, with their wrong and their predicted elements."""
    program = parse_module(text)
    expected = evaluate(program, inputs)
    found = judge_operation(program, inputs, expected, actual, platform)
    return {one.kind: (one.wrong, one.predicted) for one in found.failing}


def assert_each_element_counts(text: str, inputs: list[Array], actual: Array) -> None:
    """Assert that these results are of the class, and are not if any element is another one."""
    size = actual.size
    assert failing_classes(text, inputs, actual) == {LABEL: (size, size)}
    for place in range(size):
        wrong = actual.copy()
        wrong.reshape(-1)[place] = 7
        found = failing_classes(text, inputs, wrong)
        assert found[LABEL] == (size, size - 1)
        assert set(found) != {LABEL}


def test_a_body_of_a_wider_type_is_one_of_the_operands_type() -> None:
    x, zero = np.array([[1, 2, 3], [4, 5, 6]], np.float32), np.array(0, np.float32)

    def classes_of(*numbers: float) -> dict[str, tuple[int, int]]:
        return failing_classes(REDUCE, [x, zero], np.array(numbers, np.float32))

    assert classes_of(6, 15) == {LABEL: (2, 2)}
    assert classes_of(6, 16) == {"wrong value": (1, 0), LABEL: (2, 1)}
    assert classes_of(6, np.nan) == {"NaN": (1, 0), LABEL: (2, 1)}


def test_results_of_a_third_type_are_of_no_known_class() -> None:
    inputs: list[Array] = [np.ones((2, 3), np.float32), np.array(0, np.float32)]
    found = failing_classes(REDUCE, inputs, np.array([3, 3], np.float16))
    assert found == {"wrong element type": (2, 0)}


def scattered(op: str, narrow: str, wide: str) -> str:
    """Return the scatter by an op, of a type, with a body in another type."""
    return SCATTER.replace("OP", op).replace("NARROW", narrow).replace("WIDE", wide)


def test_updates_in_an_implemented_type_are_of_the_operands_type() -> None:
    x, updates = np.array([1, 2, 3], np.float32), np.array([4, 1], np.float32)
    inputs: list[Array] = [x, np.array([[0], [1]]), updates]
    text = scattered("maximum", "f32", "f64")
    assert_each_element_counts(text, inputs, np.array([4, 2, 3], np.float32))


@pytest.mark.parametrize(
    ("indices", "halves"),
    [([0, 1], {0: 0x3FC0, 1: 0x3E40}), ([0, 0], {0: 0x3E3A}), ([9, 9], {})],
)
def test_updates_of_bf16_are_bits_of_f16(indices: list[int], halves: dict[int, int]) -> None:
    """1.5 and 0.1875 have the bits 0x3FC0 and 0x3E40 as bf16, which are 1.9375 and 1.5625 as f16.

    A second update multiplies 1.9375 by 0.09375, which is 0x3E3A.
    """
    of = ml_dtypes.float8_e4m3
    x, updates = np.array([1, 2, 3]).astype(of), np.array([1.5, 0.09375]).astype(of)
    inputs: list[Array] = [x, np.array(indices).reshape(2, 1), updates]
    actual = x.copy()
    for place, bits in halves.items():
        actual[place] = np.array(bits, np.uint16).view(np.float16)
    text = scattered("multiply", "f8E4M3", "bf16")
    assert_each_element_counts(text, inputs, actual)
    on_gpu = failing_classes(text, inputs, actual, platform=Hardware.GPU)
    assert (on_gpu == {LABEL: (3, 3)}) is not bool(halves)


def test_updates_of_f8e8m0fnu_change_the_lower_half_of_f32() -> None:
    """The lower 16 bits do not change a power of two that is rounded."""
    of = ml_dtypes.float8_e8m0fnu
    x, updates = np.array([1, 2, 4]).astype(of), np.array([8, 16]).astype(of)
    inputs: list[Array] = [x, np.array([[0], [1]]), updates]
    text = scattered("maximum", "f8E8M0FNU", "bf16")
    assert failing_classes(text, inputs, x) == {LABEL: (3, 3)}
    found = failing_classes(text, inputs, np.array([1, 2, 64]).astype(of))
    assert found == {LABEL: (3, 2), "wrong value": (1, 0)}


def test_entries_about_the_conversion_of_results_predict_the_whole() -> None:
    """An entry in force computes every result of the conversion as 64."""
    of = ml_dtypes.float8_e8m0fnu
    inputs: list[Array] = [np.array([1, 2, 4]).astype(of), np.array([[0], [1]])]
    inputs.append(np.array([8, 16]).astype(of))
    text, actual = scattered("maximum", "f8E8M0FNU", "bf16"), np.array([1, 2, 64]).astype(of)
    stated = EntryPrediction(
        "mine", ("convert",), ("*",), "%0 = stablehlo.constant dense<64.0> : $T"
    )
    with in_force([stated]):
        assert failing_classes(text, inputs, actual) == {LABEL: (4, 3)}
        actual = np.array([1, 32, 64]).astype(of)
        found = failing_classes(text, inputs, actual)
    assert found == {LABEL: (4, 2), "wrong value": (1, 0)}


@pytest.mark.parametrize(
    ("wide", "right"), [("f32", [1, 1.5 * 1.25, 1, 0.875]), ("bf16", [1, 2, 1, 1.75])]
)
def test_selected_updates_are_applied_one_after_another(wide: str, right: list[float]) -> None:
    """1.5, then 1.25 are scattered to the second element, 0.875 to the fourth.

    The bits of 1.5, 0x3FC0, are 1.9375 as f16; 1.25 times that is 0x401B, which is 2.05.
    """
    text = SELECT.replace("NARROW", "f8E5M2").replace("WIDE", wide)
    inputs: list[Array] = [
        np.array(numbers).astype(ml_dtypes.float8_e5m2)
        for numbers in ([1, 3, 2, 4], [1.5, 1.25, 0.875], 1)
    ]
    assert_each_element_counts(text, inputs, np.array(right).astype(ml_dtypes.float8_e5m2))


def test_a_body_in_a_branch_is_predicted() -> None:
    inputs: list[Array] = [
        np.array([1, 2, 100], np.int8), np.array(0, np.int32),
        np.array([3, 4, 100], np.int8), np.array(0, np.int32),
    ]  # fmt: skip
    sums = np.array([4, 6, 200 - 256], np.int8)
    assert failing_classes(BRANCH, inputs, sums, sums) == {LABEL: (6, 6)}
    wrong = failing_classes(BRANCH, inputs, sums, np.array([4, 7, -56], np.int8))
    assert wrong == {LABEL: (6, 5), "wrong value": (1, 0)}


def test_nothing_is_predicted_for_updates_of_dynamic_sizes() -> None:
    text = scattered("multiply", "f8E4M3", "bf16").replace("tensor<2x", "tensor<?x")
    assert not [*rewrite_updates(parse_module(text))]
    assert len([*rewrite(parse_module(text))]) == 1

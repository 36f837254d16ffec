"""Ragged products of XLA's GPU compiler, with batch_count rotated or group sizes misread."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import unquantized_rule
from conformance.judging.compare import judge
from conformance.known.xla.sums_of_products.ragged_groups import MISREAD, ROTATED
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array

DEPTH = """
func.func @main(%x: tensor<2x2x1x2xi32>, %y: tensor<2x2x2x1xi32>, %n: tensor<2x2x1xi32>)
    -> tensor<1x2x2x1x1xi32> {
  %0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<
    lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [BATCHES],
    lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [2],
    lhs_ragged_dimensions = [3]>}>
    : (tensor<2x2x1x2xi32>, tensor<2x2x2x1xi32>, tensor<2x2x1xi32>) -> tensor<1x2x2x1x1xi32>
  return %0 : tensor<1x2x2x1x1xi32>
}"""

ROWS = """
func.func @main(%x: tensor<2x2x1x1xi32>, %y: tensor<1x2x2x1x1xi32>, %n: tensor<2x2x1xi32>)
    -> tensor<2x2x1x1xi32> {
  %0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<
    lhs_batching_dimensions = [BATCHES], rhs_batching_dimensions = [2, 1],
    lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3],
    lhs_ragged_dimensions = [2], rhs_group_dimensions = [0]>}>
    : (tensor<2x2x1x1xi32>, tensor<1x2x2x1x1xi32>, tensor<2x2x1xi32>) -> tensor<2x2x1x1xi32>
  return %0 : tensor<2x2x1x1xi32>
}"""

SIZES = [[[2], [1]], [[2], [0]]]
OF_TERMS = np.array([[[[1, 2]], [[3, 4]]], [[[5, 6]], [[7, 8]]]]), np.ones((2, 2, 2, 1)), SIZES
OF_ROWS = np.ones((2, 2, 1, 1)), np.ones((1, 2, 2, 1, 1)), [[[1], [0]], [[1], [1]]]

Inputs = tuple[object, ...]


def class_of(
    text: str, batch_count: str, given: Inputs, actual: list[int], on: str = Hardware.GPU
) -> str:
    program = parse_module(text.replace("BATCHES", batch_count))
    inputs = [np.asarray(one, np.int32) for one in given]
    expected = evaluate(program, inputs)
    results: tuple[Array, ...] = (np.array(actual, np.int32).reshape(expected[0].shape),)
    rule = unquantized_rule(program.subject)
    assert rule is not None
    return judge(program, inputs, expected, results, rule, platform=on).kind


@pytest.mark.parametrize(
    ("batch_count", "right", "wrong"),
    [("0, 1", [3, 3, 11, 0], [3, 11, 3, 0]), ("1, 0", [3, 3, 11, 0], [3, 5, 3, 0])],
)
def test_first_of_two_batching_dimensions_becomes_the_last(
    batch_count: str, right: list[int], wrong: list[int]
) -> None:
    assert class_of(DEPTH, batch_count, OF_TERMS, right) == ""
    assert class_of(DEPTH, batch_count, OF_TERMS, wrong) == ROTATED
    assert class_of(DEPTH, batch_count, OF_TERMS, wrong, on=Hardware.CPU) not in (ROTATED, "")
    assert class_of(DEPTH, batch_count, OF_TERMS, [one + 1 for one in wrong]) not in (ROTATED, "")


def test_sizes_of_rows_are_read_in_the_order_of_the_dimensions() -> None:
    assert class_of(ROWS, "1, 0", OF_ROWS, [1, 0, 1, 1]) == ""
    assert class_of(ROWS, "1, 0", OF_ROWS, [1, 1, 0, 1]) == MISREAD
    assert class_of(ROWS, "1, 0", OF_ROWS, [1, 1, 0, 1], on=Hardware.CPU) not in (MISREAD, "")
    assert class_of(ROWS, "0, 1", OF_ROWS, [1, 1, 0, 1]) not in (MISREAD, "")

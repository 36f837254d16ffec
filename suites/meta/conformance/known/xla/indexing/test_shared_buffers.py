"""Scatters of which two inputs are one value: results in one buffer have the class, others not."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.judging.judgement import Judgement
from conformance.known.xla.indexing.shared_buffers import LABEL, SHARED
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate

TEXT = """
func.func @main(%x: tensor<5xi32>, %y: tensor<5xi32>, %i: tensor<3x1xi64>, %u: tensor<3xi32>,
    %v: tensor<3xi32>) -> (tensor<5xi32>, tensor<5xi32>) {
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) <{
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %1 = stablehlo.add %a, %c : tensor<i32>
    %2 = stablehlo.multiply %b, %d : tensor<i32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<i32>
  }) : (tensor<5xi32>, tensor<5xi32>, tensor<3x1xi64>, tensor<3xi32>, tensor<3xi32>)
    -> (tensor<5xi32>, tensor<5xi32>)
  return %0#0, %0#1 : tensor<5xi32>, tensor<5xi32>
}"""
PROGRAM = parse_module(TEXT)
X = [4, 15, 7, 8, 1]
ADDED, MULTIPLIED = [11, 15, 7, 12, 2], [12, 15, 7, 40, 7]


def judge_result(y: list[int], *actual: list[int]) -> Judgement:
    inputs = (
        np.array(X, np.int32), np.array(y, np.int32), np.array([[0], [3], [4]]),
        np.array([7, 4, 1], np.int32), np.array([3, 5, 7], np.int32),
    )  # fmt: skip
    results = tuple(np.array(one, np.int32) for one in actual)
    return judge_operation(PROGRAM, inputs, evaluate(PROGRAM, inputs), results)


def test_results_that_are_the_same_share_a_buffer() -> None:
    found = judge_result(X, ADDED, ADDED)  # what jaxlib 0.10.2 gives, where it gives results
    assert (found.kind, found.wrong) == (LABEL, 3)
    damaged = [11, 0, 7, 12, 2]
    assert judge_result(X, damaged, damaged).kind == LABEL
    assert SHARED.unsteady


@pytest.mark.parametrize(
    ("y", "actual"),
    [
        (X, (MULTIPLIED, ADDED)),  # swapped
        (X, (ADDED, X)),  # nothing written
        (X, (ADDED, [12, 15, 7, 40, 8])),
        ([*X[:4], 2], (ADDED, ADDED)),  # the inputs are not one value
    ],
)
def test_other_wrong_results_are_of_no_buffer(
    y: list[int], actual: tuple[list[int], list[int]]
) -> None:
    found = judge_result(y, *actual)
    assert found.verdict.fails
    assert found.kind != LABEL


def test_results_in_one_buffer_are_predicted() -> None:
    operands = tuple(np.array(one) for one in (X, X, [[0], [3], [4]], [7, 4, 1], [3, 5, 7]))
    operands = tuple(one.astype(np.int64 if one.ndim > 1 else np.int32) for one in operands)
    right = evaluate(PROGRAM, operands)
    damaged = np.array([11, 0, 7, 12, 2], np.int32)
    assert SHARED.ulps is not None
    errors = SHARED.ulps(PROGRAM.subject, operands, right, (damaged, damaged))
    for one in errors:
        assert (one == 0).tolist() == [True, False, True, True, True]

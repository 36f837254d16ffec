"""Reshapes that read padding as elements, in isolation and in a program."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.known.xla.indexing.reshaped_padding import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.table import RULES
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate

PROGRAM = """
func.func @main(%x: tensor<3x2x4xf32>, %n: tensor<i32>, %m: tensor<2xi64>) -> tensor<2x2xf32> {
  %0 = stablehlo.set_dimension_size %x, %n, dim = 0
    : (tensor<3x2x4xf32>, tensor<i32>) -> tensor<?x2x4xf32, #stablehlo.bounds<3, ?, ?>>
  %1 = stablehlo.dynamic_reshape %0, %m : (tensor<?x2x4xf32, #stablehlo.bounds<3, ?, ?>>,
    tensor<2xi64>) -> tensor<?x?xf32, #stablehlo.bounds<4, 6>>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %2 = stablehlo.dynamic_slice %1, %z, %z, sizes = [2, 2] : (tensor<?x?xf32,
    #stablehlo.bounds<4, 6>>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}
"""
NUMBERS = np.arange(24, dtype=np.float32).reshape(3, 2, 4)
SIZES = (np.array(1, np.int32), np.array([4, 2]))
RIGHT, PADDED = [[0, 1], [2, 3]], [[0, 1], [6, 7]]


@pytest.mark.parametrize(
    ("actual", "kind"), [(RIGHT, ""), (PADDED, LABEL), ([[0, 1], [6, 8]], "wrong value")]
)
def test_elements_cut_with_padding_have_the_class(actual: list[list[int]], kind: str) -> None:
    program = parse_module(PROGRAM)
    inputs, results = (NUMBERS, *SIZES), (np.array(actual, np.float32),)
    judged = judge(program, inputs, evaluate(program, inputs), results, RULES["data"])
    assert judged.kind == kind
    judged = judge_program(PermittedResults(program, inputs), results)
    assert judged.kind == kind
    assert judged.verdict is (Verdict.DIVERGENT if kind else Verdict.PASS)

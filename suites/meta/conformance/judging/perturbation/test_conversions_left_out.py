"""A conversion that the backend leaves out is detected."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.known.hypothesis import LEFT_OUT
from conformance.stablehlo.parse import parse_module
from conformance.triage.audit import audit
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import Array

THERE_AND_BACK = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xbf16>
  %1 = stablehlo.convert %0 : (tensor<3xbf16>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}"""
REDUCED = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.reduce_precision %x, format = e8m7 : tensor<3xf32>
  %1 = stablehlo.negate %0 : tensor<3xf32>
  %2 = stablehlo.negate %1 : tensor<3xf32>
  return %2 : tensor<3xf32>
}"""
COMPARED = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xi1> {
  %0 = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xbf16>
  %1 = stablehlo.convert %0 : (tensor<3xbf16>) -> tensor<3xf32>
  %2 = stablehlo.compare EQ, %1, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  return %2 : tensor<3xi1>
}"""
SUM_CONVERTED = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xbf16> {
  %0 = stablehlo.multiply %x, %x : tensor<3xf32>
  %1 = stablehlo.add %0, %x : tensor<3xf32>
  %2 = stablehlo.convert %1 : (tensor<3xf32>) -> tensor<3xbf16>
  return %2 : tensor<3xbf16>
}"""
X = np.array([1.0, 0.9999, 3.001], np.float32)


def judge_result(text: str, actual: Array):
    return judge_program(PermittedResults(parse_module(text), (X,)), (actual,))


@pytest.mark.parametrize("text", [THERE_AND_BACK, REDUCED])
def test_a_conversion_left_out_has_a_class(text: str) -> None:
    (expected,) = evaluate(parse_module(text), (X,))
    assert not np.array_equal(expected, X)
    assert judge_result(text, expected).verdict is Verdict.PASS
    judgement = judge_result(text, X)
    assert (judgement.verdict, judgement.kind) == (Verdict.DIVERGENT, LEFT_OUT)
    assert judge_result(text, X + np.float32(0.1)).kind != LEFT_OUT


def test_truth_values_that_depend_on_a_conversion_left_out_have_the_class() -> None:
    judgement = judge_result(COMPARED, np.ones(3, np.bool_))
    assert (judgement.verdict, judgement.kind) == (Verdict.DIVERGENT, LEFT_OUT)


def test_rounding_before_conversion_may_change_its_result() -> None:
    (expected,) = evaluate(parse_module(SUM_CONVERTED), (X,))
    fused = (X.astype(np.float64) * X + X).astype(expected.dtype)
    assert judge_result(SUM_CONVERTED, fused).verdict is Verdict.PASS


NARROWED = """
func.func @main(%x: tensor<ui16>) -> tensor<ui16> {
  %0 = stablehlo.convert %x : (tensor<ui16>) -> tensor<ui8>
  %1 = stablehlo.convert %0 : (tensor<ui8>) -> tensor<ui16>
  return %1 : tensor<ui16>
}"""


def test_an_unspecified_value_excuses_nothing_that_contradicts_the_backends_value() -> None:
    """Eight bits cannot represent 1007, so the conversion is unspecified; 1007 itself is not."""
    program, inputs = parse_module(NARROWED), (np.array(1007, np.uint16),)

    def run(subject: Program, sets: list[tuple[Array, ...]]) -> list[list[Array]]:
        names = [value.name for value in subject.main.body.operations[-1].operands]
        last = program.main.body.operations[-1].operands[0].name
        found = [list(evaluate(subject, one)) for one in sets]
        return [
            [one[0] if name == last else array for name, array in zip(names, arrays, strict=True)]
            for one, arrays in zip(sets, found, strict=True)
        ]

    made = audit(run, "cpu", program, inputs, [0])
    assert made is not None
    assert [one.operation for one in made.wrong] == [program.main.body.operations[1]]

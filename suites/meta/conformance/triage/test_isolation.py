"""Judgements on an operation by itself, on the operands that it had in its program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from conformance.backends.base import BackendError
from conformance.catalog import rule_of
from conformance.judging.compare import judge
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.transforms.extract import extract_operation
from conformance.triage.audit import WrongOperation
from conformance.triage.isolation import judge_by_rule, judge_folded, judge_in_isolation
from conformance.triage.localise import Search
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import Array
from suites.meta.support.checking import values_of
from suites.meta.support.small_programs import array

PROGRAM = parse_module("""
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<2xf32>
  %0 = stablehlo.add %x, %c : tensor<2xf32>
  %1 = stablehlo.negate %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}""")
FOLDABLE = parse_module("""
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<-2.0> : tensor<2xf32>
  %0 = stablehlo.negate %c : tensor<2xf32>
  %1 = stablehlo.add %x, %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}""")
X = array([1.0, 2.0])
VALUES = values_of(PROGRAM, (X,))
ADD = PROGRAM.main.body.operations[1]
RIGHT, WRONG, OTHER = array([3.0, 4.0]), array([3.0, 9.0]), array([8.0, 4.0])


def search(*results: Array, only_folded: bool = False) -> Search:
    """Return a search on a backend that gives these results, or right results with an input for
    each operand.
    """

    def run(program: Program, inputs: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        for one in inputs:
            if not results:
                raise BackendError("refused")
            folded = len(program.main.arguments) < 2
            yield list(results if folded or not only_folded else evaluate(program, one))

    return Search(run, Hardware.CPU)


def wrong_with(result: Array) -> WrongOperation:
    values = {**VALUES, ADD.results[0].name: result}
    taken = extract_operation(PROGRAM, ADD, values)
    assert taken is not None
    rule = rule_of(ADD)
    assert rule is not None
    judgement = judge(*taken, evaluate(*taken), [result], rule, platform=Hardware.CPU)
    return WrongOperation(ADD, judgement, PROGRAM, values)


def test_operation_that_is_wrong_in_isolation_has_that_judgement() -> None:
    found = judge_in_isolation(search(WRONG), wrong_with(WRONG))
    assert found is not None
    assert found.verdict is Verdict.DIVERGENT


def test_operation_that_is_right_in_isolation_has_none() -> None:
    assert judge_in_isolation(search(RIGHT), wrong_with(WRONG)) is None


def test_operation_that_the_backend_refuses_has_none() -> None:
    assert judge_in_isolation(search(), wrong_with(WRONG)) is None


def test_another_failure_in_isolation_is_not_the_programs() -> None:
    nan = array([np.nan, 4.0])
    assert judge_in_isolation(search(nan), wrong_with(WRONG)) is None
    assert judge_in_isolation(search(OTHER), wrong_with(WRONG)) is not None  # of the same class


@pytest.mark.parametrize("got", [[array([3.0])], [array([3, 4], "si32")], []])
def test_results_that_cannot_be_compared_have_no_judgement(got: list[Array]) -> None:
    taken = extract_operation(PROGRAM, ADD, VALUES)
    assert taken is not None
    assert judge_by_rule(search(), ADD, taken, got) is None
    found = judge_by_rule(search(), ADD, taken, [RIGHT])
    assert found is not None
    assert found.verdict is Verdict.PASS


def test_constants_are_folded_if_the_results_are_those_of_the_program() -> None:
    folding, add = search(WRONG, only_folded=True), FOLDABLE.main.body.operations[2]
    values = values_of(FOLDABLE, (X,))
    found = judge_folded(folding, FOLDABLE, add, values, [WRONG])
    assert found is not None
    assert found.verdict is Verdict.DIVERGENT
    assert judge_folded(folding, FOLDABLE, add, values, [OTHER]) is None
    assert judge_folded(search(RIGHT), FOLDABLE, add, values, [RIGHT]) is None
    assert judge_folded(search(), FOLDABLE, add, values, [WRONG]) is None


def test_operands_that_are_constants_already_are_not_tried_again() -> None:
    assert judge_folded(search(WRONG), PROGRAM, ADD, VALUES, [WRONG]) is None

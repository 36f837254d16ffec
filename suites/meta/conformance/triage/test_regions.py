"""Loops and branches that fail as a whole are explained by their regions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from conformance.judging.judgement import passing_judgement
from conformance.stablehlo.parse import parse_module
from conformance.triage.region_judge import FAULTY_ITERATIONS, WrongOperation
from conformance.triage.regions import Explain, match_in_regions
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import Array
from suites.meta.support.checking import values_of
from suites.meta.support.small_programs import array

BRANCH = parse_module("""
func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.negate %x : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }, {
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  return %0 : tensor<f32>
}""")
LOOP = parse_module("""
func.func @main(%n: tensor<i32>) -> tensor<i32> {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = "stablehlo.while"(%i, %n) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %d = stablehlo.add %a, %one : tensor<i32>
    stablehlo.return %d, %b : tensor<i32>, tensor<i32>
  }) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  return %0#0 : tensor<i32>
}""")


def run(program: Program, inputs: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
    """Return results of a backend without faults."""
    yield from (list(evaluate(program, one)) for one in inputs)


def match(program: Program, inputs: tuple[Array, ...], explain: Explain, **changed: Array):
    (operation,) = (one for one in program.main.body.operations if one.regions)
    values = {**values_of(program, inputs), **changed}
    return match_in_regions(
        run, WrongOperation(operation, passing_judgement(1), program, values), explain
    )


def always(*ids: str) -> Explain:
    return lambda *_: ids


YES, X = np.array(True), array(2.0)


def test_the_branch_that_was_taken_is_explained() -> None:
    asked: list[str] = []

    def explain(program: Program, *_: object) -> tuple[str, ...]:
        asked.append(program.main.body.operations[0].name)
        return ("entry",)

    assert match(BRANCH, (YES, X), explain) == ("entry",)
    assert asked == ["negate"]


def test_a_branch_with_other_results_explains_nothing() -> None:
    result = BRANCH.main.body.operations[0].results[0].name
    assert match(BRANCH, (YES, X), always("entry"), **{result: array(5.0)}) == ()


@pytest.mark.parametrize("explain", [always(), lambda *_: None])
def test_regions_that_are_right_or_not_explained_match_nothing(explain: Explain) -> None:
    assert match(BRANCH, (YES, X), explain) == ()
    assert match(LOOP, (array(3, "si32"),), explain) == ()


def test_every_iteration_is_explained_with_the_condition() -> None:
    asked: list[str] = []

    def explain(program: Program, *_: object) -> tuple[str, ...]:
        asked.append(program.main.body.operations[-2].name)
        return (program.main.body.operations[-2].name,)

    assert set(match(LOOP, (array(2, "si32"),), explain)) == {"compare", "add"}
    assert asked == ["compare", "add"] * 2 + ["compare"]


@pytest.mark.parametrize(
    ("trips", "found"), [(FAULTY_ITERATIONS, ("entry",)), (FAULTY_ITERATIONS + 1, ())]
)
def test_loops_with_many_wrong_iterations_are_not_explained(
    trips: int, found: tuple[str, ...]
) -> None:
    def explain(program: Program, *_: object) -> tuple[str, ...]:
        return ("entry",) if program.main.body.operations[-2].name == "add" else ()

    assert match(LOOP, (array(trips, "si32"),), explain) == found


def test_other_operations_have_no_regions_to_explain() -> None:
    program = parse_module("""
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.negate %x : tensor<f32>
  return %0 : tensor<f32>
}""")
    operation = program.main.body.operations[0]
    wrong = WrongOperation(operation, passing_judgement(1), program, values_of(program, (X,)))
    assert match_in_regions(run, wrong, always("entry")) == ()

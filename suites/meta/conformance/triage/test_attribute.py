"""Operations that fail in programs and not in isolation, and rewritings of groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from conformance.gate.expectations import Cause, Expectation
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.localize.rewriting import UNEXPLAINED, ModuleExplanation, Rewriting
from conformance.stablehlo.parse import parse_module
from conformance.triage.attribute import Explainer
from conformance.triage.audit import Run, audit
from conformance.triage.fault import Explanation, FailedProgram
from conformance.triage.localise import Search
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.numerics.alike import flush_subnormals
from suites.meta.support.faults.changed_backend import compose_changes, run_changed


def explain_results(
    run: Run, text: str, inputs: Sequence[Array], known: Expectation
) -> Explanation:
    """Return the cause of a program's results, with one expectation."""
    program = parse_module(text)
    actual = next(run(program, [inputs]))
    judgement = judge_program(PermittedResults(program, inputs), actual)
    assert judgement.verdict.fails
    found = audit(run, "cpu", program, inputs, range(len(actual)))
    explainer = Explainer(Search(run, "cpu"), (known,), "cpu")
    return explainer.explain(FailedProgram(program, inputs, actual, judgement, found))


LOGARITHM = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.exponential %x : tensor<2xf32>
  %1 = stablehlo.log %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}"""


@pytest.mark.parametrize(
    ("change", "is_known"), [("log(exponential(*)) => *", True), ("log(C) => C", False)]
)
def test_rewriting_of_the_whole_program_is_matched_by_its_cause(
    change: str, is_known: bool
) -> None:
    program = parse_module(LOGARITHM)
    inputs = (np.array([200.0, 1.0], np.float32),)
    judgement = judge_program(PermittedResults(program, inputs), inputs)
    assert judgement.verdict.fails
    made = Rewriting("algsimp", "log(exponential(a)) => a", program.subject)
    explanation = ModuleExplanation((made,))

    known = Expectation("log", ("*",), "", cause=Cause("algsimp", change))
    search = Search(run_changed(compose_changes()), "cpu", lambda *_: explanation)
    failed = FailedProgram(program, inputs, inputs, judgement)
    found = Explainer(search, (known,), "cpu").explain(failed)
    assert (found.is_known, found.known) == (is_known, ("log",) if is_known else ())


MASKED = """
func.func @main(%p: tensor<2xi1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.convert %p : (tensor<2xi1>) -> tensor<2xf32>
  %1 = stablehlo.multiply %0, %x : tensor<2xf32>
  %2 = stablehlo.exponential %1 : tensor<2xf32>
  %3 = stablehlo.divide %2, %1 : tensor<2xf32>
  return %3 : tensor<2xf32>
}"""


@pytest.mark.parametrize(
    ("change", "explains", "is_known"),
    [
        ("multiply(*) => *select<*>(*)", True, True),
        ("multiply(*) => *select<*>(*)", False, False),
        ("multiply(*) => C", True, False),
    ],
)
def test_rewriting_of_a_group_is_matched_by_its_cause(
    change: str, explains: bool, is_known: bool
) -> None:
    """The module of the whole program may be too long to be judged; that of the group is not."""

    def select(program: Program, operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        is_whole = any(one.name == "convert" for one in program.walk())
        if operation.name != "multiply" or not is_whole:
            return results
        return (np.where(results[0] == 0, np.float32(0), results[0]),)

    run = run_changed(select)

    def explain(program: Program, *_: object) -> ModuleExplanation:
        names = [one.name for one in program.main.body.operations[:-1]]
        if not explains or names != ["convert", "multiply"]:
            return UNEXPLAINED
        text = "multiply(convert<f32>(a), b) => select<f32>(a, b, C)"
        return ModuleExplanation((Rewriting("algsimp", text, program.subject),))

    program = parse_module(MASKED)
    inputs = (np.array([False, True]), np.array([-2.0, 1.0], np.float32))
    (actual,) = run(program, [inputs])
    judgement = judge_program(PermittedResults(program, inputs), actual)
    assert judgement.verdict.fails  # 1 / -0
    known = Expectation("mask", ("multiply",), "", cause=Cause("algsimp", change))
    steps = audit(run, "cpu", program, inputs, range(1))
    explainer = Explainer(Search(run, "cpu", explain), (known,), "cpu")
    found = explainer.explain(FailedProgram(program, inputs, actual, judgement, steps))
    assert found.is_known is is_known


SMALL = """
func.func @main(%x: tensor<bf16>, %y: tensor<bf16>) -> tensor<bf16> {
  %0 = stablehlo.subtract %x, %y : tensor<bf16>
  %1 = stablehlo.negate %0 : tensor<bf16>
  return %1 : tensor<bf16>
}"""


@pytest.mark.parametrize("verdict", ["flushed", "divergent"])
def test_flushing_is_known_if_no_operation_shows_it(verdict: str) -> None:
    def run(program: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        """Flushed where a program has one result."""
        for inputs in sets:
            results = [np.asarray(one) for one in evaluate(program, inputs)]
            yield results if len(results) > 1 else [*map(flush_subnormals, results)]

    known = Expectation("flushed", ("*",), "", verdicts=(verdict,))
    inputs = tuple(np.array(one, ml_dtypes.bfloat16) for one in (3e-39, 1e-39))
    found = explain_results(run, SMALL, inputs, known)
    assert found.is_known == (verdict == "flushed")


SUM = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>, %z: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<2xf32>
  %1 = stablehlo.add %0, %z : tensor<2xf32>
  return %1 : tensor<2xf32>
}"""


def sums(first: float, *, is_hidden: bool = False) -> Run:
    """Return a backend that flushes sums; the first is `first` in programs that have a product, if
    `is_hidden` only where the product is no result.
    """

    def compute_wrongly(program: Program, operation: Operation, results: Any) -> tuple[Any, ...]:
        if operation.name != "add":
            return results
        found = flush_subnormals(results[0])
        has_product = any(one.name == "multiply" for one in program.main.body.operations)
        if has_product and not (is_hidden and len(program.main.result_types) > 1):
            found[0] = first
        return (found,)

    return run_changed(compute_wrongly)


@pytest.mark.parametrize(("first", "is_known"), [(-0.0, True), (-1.0, False)])
def test_signed_zero_is_known_beside_flushing(first: float, is_known: bool) -> None:
    known = Expectation("sums", ("add",), "", kinds=("signed zero", "flushed"))
    given = ([1e-25, 1.0], [-1e-35, -0.0], [0.0, -9e-39])
    inputs = tuple(np.array(one, np.float32) for one in given)
    found = explain_results(sums(first, is_hidden=True), SUM, inputs, known)
    assert found.is_known == is_known


@pytest.mark.parametrize(
    ("first", "is_known"),
    [
        (0.0, True),  # as in isolation
        (-0.0, True),  # flushed otherwise
        (1.0, False),
        (np.nan, False),
    ],
)
def test_operation_is_new_if_it_is_worse_in_the_program_than_in_isolation(
    first: float, is_known: bool
) -> None:
    known = Expectation("flushed", ("add",), "", verdicts=("flushed",))
    given = ([1e-20, 1.0], [1e-20, 2.0], [1e-40, 3.0])
    inputs = tuple(np.array(one, np.float32) for one in given)
    assert explain_results(sums(first), SUM, inputs, known).is_known == is_known


LOOP = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %start = stablehlo.constant dense<0> : tensor<ui8>
  %0:2 = stablehlo.while(%i = %start, %sum = %x) : tensor<ui8>, tensor<2xf32>
  cond {
    %limit = stablehlo.constant dense<2> : tensor<ui8>
    %more = stablehlo.compare LT, %i, %limit : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %step = stablehlo.constant dense<1> : tensor<ui8>
    %next = stablehlo.add %i, %step : tensor<ui8>
    %twice = stablehlo.add %sum, %sum : tensor<2xf32>
    stablehlo.return %next, %twice : tensor<ui8>, tensor<2xf32>
  }
  %1 = stablehlo.negate %0#1 : tensor<2xf32>
  return %1 : tensor<2xf32>
}"""


@pytest.mark.parametrize(
    ("change", "is_known"), [("add(*) => multiply(*)", True), ("add(*) => C", False)]
)
def test_loop_with_right_iterations_is_matched_by_the_rewriting_of_its_own_module(
    change: str, is_known: bool
) -> None:
    def rewrite(_: Program, operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        return (results[0], results[1] + 1) if operation.name == "while" else results

    def explain(program: Program, *_: object) -> ModuleExplanation:
        names = [one.name for one in program.main.body.operations]
        if "while" not in names or "negate" in names:
            return UNEXPLAINED
        return ModuleExplanation((Rewriting("algsimp", "add(a, a) => multiply(a, C)", looped),))

    program, inputs = parse_module(LOOP), (np.array([1, 2], np.float32),)
    looped = next(one for one in program.walk() if one.name == "while")
    run = run_changed(rewrite)
    (actual,) = run(program, [inputs])
    judgement = judge_program(PermittedResults(program, inputs), actual)
    known = Expectation("twice", ("while",), "", cause=Cause("algsimp", change))
    explainer = Explainer(Search(run, "cpu", explain), (known,), "cpu")
    steps = audit(run, "cpu", program, inputs, range(1))
    found = explainer.explain(FailedProgram(program, inputs, actual, judgement, steps))
    assert found.is_known is is_known

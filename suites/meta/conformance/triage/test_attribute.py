"""Operations that fail in programs and not in isolation, and results that no run repeats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from conformance.gate.expectations import Cause, Expectation
from conformance.judging.judgement import passing_judgement
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.known.entry_prediction import EntryPrediction
from conformance.known.in_force import in_force
from conformance.localize.rewriting import UNEXPLAINED, ModuleExplanation, Rewriting
from conformance.stablehlo.parse import parse_module
from conformance.transforms.values import foldable_values
from conformance.triage.attribute import Explainer
from conformance.triage.audit import Run, audit
from conformance.triage.fault import Explanation, FailedProgram
from conformance.triage.localise import Search
from conformance.triage.region_judge import WrongOperation
from conformance.triage.regions import Explain, match_in_regions
from conformance.triage.unpredictable import follows_from_unpredictable
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.numerics.alike import flush_subnormals
from suites.meta.support.checking import values_of
from suites.meta.support.faults.changed_backend import compose_changes, run_changed
from suites.meta.support.small_programs import array


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


FOLDED = """
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = stablehlo.negate %0 : tensor<2xf32>
  %2 = stablehlo.cosine %1 : tensor<2xf32>
  %3 = stablehlo.cosine %x : tensor<2xf32>
  return %2, %3 : tensor<2xf32>, tensor<2xf32>
}"""


@pytest.mark.parametrize("steady", [True, False])
def test_folded_operation_is_judged_with_constant_operands(steady: bool) -> None:
    def compute_wrongly(program: Program, operation: Operation, results: Any) -> tuple[Any, ...]:
        """Folded, cosine has the other sign; or, where negate is in the program, something else."""
        names = [one.name for one in program.main.body.operations]
        folded = foldable_values(program)
        if operation.name != "cosine" or operation.operands[0].name not in folded:
            return results
        return (-results[0] if steady or "negate" in names else results[0] * 0,)

    known = Expectation("folded", ("cosine",), "", verdicts=("divergent",))
    found = explain_results(run_changed(compute_wrongly), FOLDED, (np.ones(2, np.float32),), known)
    assert found.is_known == steady


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
func.func @main(%x: tensor<2xf32>) -> (tensor<ui8>, tensor<2xf32>) {
  %start = stablehlo.constant dense<0> : tensor<ui8>
  %0:2 = stablehlo.while(%i = %start, %sum = %x) : tensor<ui8>, tensor<2xf32>
  cond {
    %limit = stablehlo.constant dense<2> : tensor<ui8>
    %more = stablehlo.compare LT, %i, %limit : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %step = stablehlo.constant dense<STEP> : tensor<ui8>
    %next = stablehlo.add %i, %step : tensor<ui8>
    %number = stablehlo.convert %i : (tensor<ui8>) -> tensor<f32>
    %all = stablehlo.broadcast_in_dim %number, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %more = stablehlo.add %sum, %all : tensor<2xf32>
    stablehlo.return %next, %more : tensor<ui8>, tensor<2xf32>
  }
  return %0#0, %0#1 : tensor<ui8>, tensor<2xf32>
}"""


def loops(got: float, *, folds: bool) -> Run:
    """Return a backend that leaves a zero out of sums (with `folds` only a constant zero), and
    whose loops give `got`.
    """

    def compute_wrongly(program: Program, operation: Operation, results: Any) -> tuple[Any, ...]:
        folded, main = foldable_values(program), program.main.body.operations
        if operation.name == "while":
            return (results[0], np.array([got, 1.0], np.float32))
        is_sum = operation.name == "add" and results[0].dtype == np.float32
        if is_sum and (not folds or (operation in main and operation.operands[1].name in folded)):
            return (np.where(results[0] == 0, np.float32(-0.0), results[0]),)
        return results

    return run_changed(compute_wrongly)


@pytest.mark.parametrize(
    ("turns", "got", "folds", "is_known"),
    [
        (1, -0.0, True, True),  # written out, what it carries is a constant
        (1, -1.0, True, False),
        (2, -0.0, True, False),
        (1, -0.0, False, True),
        (1, -1.0, False, False),  # something else than what the turn comes to
    ],
)
def test_loops_are_known_by_operations_in_their_bodies(
    turns: int, got: float, folds: bool, is_known: bool
) -> None:
    known = Expectation("sums", ("add",), "", kinds=("signed zero",))
    text = LOOP.replace("STEP", str(2 // turns))
    inputs = (np.array([-0.0, 1.0], np.float32),)
    assert explain_results(loops(got, folds=folds), text, inputs, known).is_known == is_known


PART = """
func.func @main(%x: tensor<8xcomplex<f32>>)
    -> (tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>) {
  %0 = stablehlo.fft %x, type = FFT, length = [4]
    : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  %1 = stablehlo.add %0, %x : tensor<8xcomplex<f32>>
  %2 = stablehlo.negate %x : tensor<8xcomplex<f32>>
  return %0, %1, %2 : tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>
}"""

WRITTEN = EntryPrediction(
    "part", ("fft",), ("*",),
    """
    %i = stablehlo.iota dim = 0 : tensor<$Sxi32>
    %four = stablehlo.constant dense<4> : tensor<$Sxi32>
    %written = stablehlo.compare LT, %i, %four
      : (tensor<$Sxi32>, tensor<$Sxi32>) -> tensor<$Sxi1>
    %part = stablehlo.slice %operand [0:4] : ($operand) -> tensor<4x$E>
    %rest = stablehlo.slice %operand [4:8] : ($operand) -> tensor<4x$E>
    %first = stablehlo.fft %part, type = FFT, length = [4] : (tensor<4x$E>) -> tensor<4x$E>
    %all = stablehlo.concatenate %first, %rest, dim = 0 : (tensor<4x$E>, tensor<4x$E>) -> $T
    return %all, %written : $T, tensor<$Sxi1>
    """,
    within=2.0, unpredictable=True,
)  # fmt: skip
"""A transform of the first four elements; what is behind them is not written."""


@pytest.mark.parametrize(
    ("result", "element", "is_known"),
    [
        (None, 0, True),
        (0, 6, True),  # behind the transform
        (1, 6, True),  # added to an element behind it
        (0, 2, False),
        (1, 2, False),
        (2, 6, False),
    ],
)
def test_only_elements_that_depend_on_unwritten_memory_may_differ_in_each_run(
    result: int | None, element: int, is_known: bool
) -> None:
    random = np.random.default_rng(0)

    def partial(_: Program, operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Transform four elements; what is behind them differs in each run."""
        if operation.name != "fft":
            return results
        begun = np.fft.fft(inputs[0][:4])
        return (np.concatenate([begun, random.normal(size=4) * 1e9]).astype(np.complex64),)

    run = run_changed(partial)
    program, inputs = parse_module(PART), (np.arange(8).astype(np.complex64),)
    actual = next(run(program, [inputs]))
    if result is not None:
        actual[result][element] = 77
    judgement = judge_program(PermittedResults(program, inputs), actual)
    with in_force([WRITTEN]):
        found = audit(run, "cpu", program, inputs, range(3))
        assert found is not None
        failed = FailedProgram(program, inputs, actual, judgement, found)
        given = failed, found, "cpu"
        assert follows_from_unpredictable(*given, lambda _: False) == is_known
        # an entry that predicts no element of the transform says nothing about the third result
        assert follows_from_unpredictable(*given, lambda _: True) == (result != 2)


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


def match_regions(program: Program, inputs: tuple[Array, ...], explain: Explain, **changed: Array):
    (operation,) = (one for one in program.main.body.operations if one.regions)
    values = {**values_of(program, inputs), **changed}
    return match_in_regions(
        run_changed(compose_changes()),
        WrongOperation(operation, passing_judgement(1), program, values),
        explain,
    )


def always(*ids: str) -> Explain:
    return lambda *_: ids


YES, TWO = np.array(True), array(2.0)


def test_the_branch_that_was_taken_is_explained() -> None:
    asked: list[str] = []

    def explain(program: Program, *_: object) -> tuple[str, ...]:
        asked.append(program.main.body.operations[0].name)
        return ("entry",)

    assert match_regions(BRANCH, (YES, TWO), explain) == ("entry",)
    assert asked == ["negate"]


def test_a_branch_with_other_results_explains_nothing() -> None:
    result = BRANCH.main.body.operations[0].results[0].name
    assert match_regions(BRANCH, (YES, TWO), always("entry"), **{result: array(5.0)}) == ()

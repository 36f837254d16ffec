"""Findings name the pass that causes them; the search leaves out no more passes than needed."""

from __future__ import annotations

import pickle
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.backends.passes import PRINTING, Passes
from conformance.backends.registry import parse
from conformance.backends.session import open_session
from conformance.executors.backend_workers import executor_of
from conformance.fuzzing.attribution import asking, third_vote
from conformance.fuzzing.attribution.asking import explain_finding, plan, try_variant
from conformance.fuzzing.attribution.cause import (
    AGAINST_BACKEND,
    AGAINST_REFERENCE,
    ALL_DIFFER,
    NO_ANSWER,
    NO_VOTE,
    RIGHT,
    WRONG,
    Cause,
)
from conformance.fuzzing.attribution.isolation import explain_in_isolation
from conformance.fuzzing.attribution.passes_at_crash import observe_passes
from conformance.fuzzing.attribution.search import search_cause
from conformance.fuzzing.attribution.stages import (
    AS_OPTIMISED,
    cause_by_stages,
    name_after_pass,
    name_before_pass,
)
from conformance.fuzzing.attribution.variants import UNOPTIMIZED, CompileVariant, Plan, rewritings
from conformance.fuzzing.execution import judge_in_isolation
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.minimisation import unminimised_finding
from conformance.fuzzing.trial import FailingProgram, Trial
from conformance.gate.counterexamples import parse_inputs
from conformance.gate.reading import load
from conformance.results.versions import versions
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from suites.meta.support.small_programs import array, op_program, tensor_of


def known_divergence(id: str) -> tuple[Program, tuple]:  # noqa: A002
    """Return the counterexample of a known divergence of XLA on CPU that this jaxlib has."""
    entries = {entry.id: entry for entry in load("cpu", ("cpu",), versions())}
    if id not in entries:
        pytest.skip(f"this jaxlib is not known to have {id}")
    given = entries[id].counterexample
    assert given is not None
    program = parse_module(given.program)
    return program, parse_inputs(program, given.inputs)


def find_finding(backend: str, program: Program, inputs: tuple) -> tuple[Trial, Finding]:
    trial = Trial(backend, 0, 0, 1)
    outcome = judge_in_isolation(trial, open_session(backend), program, inputs)
    assert outcome is not None
    assert outcome.verdict.fails
    return trial, unminimised_finding(trial, FailingProgram(0, program, inputs, outcome))


@pytest.mark.x86
def test_the_pass_that_rewrites_a_product_is_named() -> None:
    cause = explain_finding(
        *find_finding("cpu", *known_divergence("truth-value-as-a-selection")), 60.0
    ).cause
    assert cause.ways[name_before_pass("algsimp")] == RIGHT
    assert cause.ways[name_after_pass("algsimp")] == WRONG
    assert cause.ways["with xla_backend_optimization_level=0"] == WRONG
    assert cause.culprit == "rewriting: pass algsimp of pipeline simplification changes the meaning"
    assert "gone before pass algsimp" in cause.line


@pytest.mark.x86
def test_an_inaccurate_function_is_a_matter_of_code_generation() -> None:
    trial, finding = find_finding("cpu", *known_divergence("exponential-accuracy"))
    cause = cause_by_stages(trial, finding)
    assert cause is not None
    assert cause.ways == {AS_OPTIMISED: RIGHT}
    assert cause.culprit.startswith("code generation or run time")


@pytest.mark.x86
def test_passes_are_left_out_one_by_one_where_the_stages_do_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asking, "cause_by_stages", lambda *_: None)
    cause = explain_finding(
        *find_finding("cpu", *known_divergence("truth-value-as-a-selection")), 60.0
    ).cause
    assert "without pass algsimp" in cause.passing_variants


@pytest.mark.x86
def test_crash_is_attributed_in_workers() -> None:
    program, inputs = known_divergence("dilated-convolution-of-one")
    expected = tuple(evaluate(program, inputs))
    finding = Finding(
        Verdict.CRASHED, "abnormal exit", program=program, text="", inputs=inputs,
        expected=expected, actual=(), backend="cpu",
    )  # fmt: skip
    with executor_of(parse("cpu"), jobs=1) as executor:
        told = explain_in_isolation(executor, Trial("cpu", 0, 0, 1), finding, 30.0)
    assert told.cause.passing_variants == ["without pass algsimp"]
    assert "the process crashes in algsimp" in told.cause.note
    assert "stablehlo.convolution" in told.text
    assert told.vote.words == AGAINST_BACKEND


FAULTY = "reference:floor_division"
QUOTIENT = op_program("divide", [tensor_of(2, of="si32")] * 2, tensor_of(2, of="si32"))
SEVENS = (array([-7, 7], "si32"), array([2, 2], "si32"))


def test_a_backend_without_a_compiler_says_so_and_the_interpreter_votes() -> None:
    trial, finding = find_finding(FAULTY, QUOTIENT, SEVENS)
    told = explain_finding(trial, finding, 60.0)
    assert "takes no compiler options" in told.cause.note
    assert told.cause.ways == {"with parameters as constants": WRONG}
    assert told.vote.line == AGAINST_BACKEND
    assert plan(trial, finding).passes.single == ()


@pytest.mark.parametrize(("backend", "vote"), [("reference", RIGHT), (FAULTY, WRONG)])
def test_programs_written_otherwise_mean_the_same(backend: str, vote: str) -> None:
    program = parse_module(
        """func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
  %c = stablehlo.constant dense<2> : tensor<2xi32>
  %0 = stablehlo.negate %x : tensor<2xi32>
  %1 = stablehlo.divide %0, %c : tensor<2xi32>
  return %1 : tensor<2xi32>
}"""
    )
    inputs = (array([7, 3], "si32"),)
    ways = rewritings(program, inputs)
    assert [way.name for way in ways] == [
        "with constants as parameters",
        "with parameters as constants",
        "with barriers between operations",
    ]
    finding = Finding(
        Verdict.DIVERGENT, program=program, text="", inputs=inputs, expected=(), actual=()
    )
    assert {try_variant(Trial(backend, 0, 0, 1), finding, way) for way in ways} == {vote}


TOTAL_ORDER = parse_module(
    """func.func @main(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<1xi1> {
  %0 = stablehlo.compare LT, %x, %y, TOTALORDER
    : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  return %0 : tensor<1xi1>
}"""
)
"""A comparison in total order: the interpreter treats -0 and +0 as equal in any order."""


@pytest.mark.parametrize(
    ("entries", "actual", "words"),
    [
        ("shipped", False, NO_VOTE),
        ("none", False, AGAINST_REFERENCE),
        ("none", True, ALL_DIFFER),
    ],
)
def test_interpreter_with_known_divergence_has_no_vote(
    monkeypatch: pytest.MonkeyPatch, entries: str, actual: bool, words: str
) -> None:
    if entries == "none":
        monkeypatch.setattr(third_vote, "load", lambda *_: ())
    zeros = (array([-0.0]), array([0.0]))
    finding = Finding(
        Verdict.DIVERGENT, "wrong value", program=TOTAL_ORDER, text="", inputs=zeros,
        expected=(np.array([True]),), actual=(np.array([actual]),), backend="cpu",
    )  # fmt: skip
    told = third_vote.vote(Trial("cpu", 0, 0, 1), finding)
    assert told.words == words
    assert ("known divergence" in told.why) == (words == NO_VOTE)


def test_interpreter_has_no_vote_on_itself_or_unsupported_programs() -> None:
    trial, finding = find_finding(FAULTY, QUOTIENT, SEVENS)
    assert third_vote.vote(trial, replace(finding, backend="interpreter")).line == ""
    matrix = op_program("cholesky", [tensor_of(2, 2)], tensor_of(2, 2), lower=True)
    unable = replace(finding, program=matrix, inputs=(array([[1, 0], [0, 1]]),))
    assert third_vote.vote(trial, unable).words == NO_VOTE


PASSES = Passes(("algsimp", "fusion", "layout", "dce"), ("simplification",))


def cause(needed: set[str], passes: Passes = PASSES, seconds: float = 60.0) -> Cause:
    """Return the cause of a divergence that occurs while any of the `needed` passes runs."""
    asked: list[CompileVariant] = []

    def ask(way: CompileVariant) -> str:
        assert way not in asked
        asked.append(way)
        if "layout" in way.settings.without:
            return NO_ANSWER
        return RIGHT if needed and needed <= set(way.settings.without) else WRONG

    return search_cause(ask, Plan((UNOPTIMIZED,), passes), seconds)


def test_of_several_passes_as_few_as_are_needed_are_named() -> None:
    found = cause({"algsimp", "dce"})
    assert found.passing_variants == ["without passes algsimp, dce"]
    assert [
        name for name in found.ways if name.startswith("without passes")
    ] == found.passing_variants


def test_untried_variants_are_counted() -> None:
    found = cause({"algsimp"}, seconds=-1.0)
    assert found.ways == {}
    assert "no time was left for 6 more variants" in found.note


TANH = op_program("tanh", [tensor_of(2)], tensor_of(2))


CRASH = Finding(
    Verdict.CRASHED, "abnormal exit", "", program=TANH, text="", inputs=(array([1.0, 2.0]),),
    expected=(), actual=(),
)  # fmt: skip


PRINTED = b"""
I0 1 hlo_pass_pipeline.cc:181]   HLO pass dce
I0 1 hlo_pass_pipeline.cc:176] HLO pass: dce time: 7 us (7 us) (cumulative: 7 us)
I0 1 hlo_pass_pipeline.cc:181]   HLO pass simplification
I0 1 hlo_pass_pipeline.cc:181]   HLO pass algsimp
\xff Fatal
"""


@pytest.mark.parametrize("hangs", [False, True])
def test_output_and_dump_of_the_process_are_read(
    hangs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}

    def run(command: list[str], *, input: bytes, env: dict[str, str], timeout: float, **_: Any):  # noqa: A002
        spelling, folder, program, inputs = pickle.loads(input)
        seen.update(spelling=spelling, program=program, inputs=inputs, env=env, timeout=timeout)
        (Path(folder) / "m.0000.HLO_passes.after_dce.before_algsimp.txt").touch()
        if hangs:
            raise subprocess.TimeoutExpired(command, timeout, stderr=PRINTED)
        return subprocess.CompletedProcess(command, -6, None, PRINTED)

    monkeypatch.setattr(subprocess, "run", run)
    found = observe_passes(Trial("cpu:AVX2", 0, 0, 1), CRASH, 12.0)
    assert found == (("algsimp", "simplification"), Passes(("dce",)))
    assert (seen["spelling"], seen["timeout"]) == ("cpu:AVX2", 12.0)
    assert seen["program"] == TANH
    assert [one.tolist() for one in seen["inputs"]] == [[1, 2]]
    assert seen["env"].items() >= PRINTING.items()

"""Minimisation: a finding reports its own program, even if that fails only sometimes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from conformance.fuzzing import minimisation
from conformance.fuzzing.trial import FailingProgram, Trial
from conformance.pipeline.outcome import Outcome
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Element, Verdict
from reference.ir.program import Program
from suites.meta.support.small_programs import array, op_program, tensor_of

LARGE = op_program("add", [tensor_of(5), tensor_of(5)], tensor_of(5))
SMALL = op_program("negate", [tensor_of(2)], tensor_of(2))
FAILED = Outcome(
    Verdict.DIVERGENT, "wrong value", elements=(Element(0, (4,), "1", "", "3", ""),), culprit="add"
)


def finding(failing: Program, times: int, monkeypatch: pytest.MonkeyPatch) -> minimisation.Finding:
    """Return the finding of a failure that is minimised to SMALL, where `failing` fails only the
    n-th time.
    """
    left = [times]

    def judge_alternately(_: Trial, __: object, program: Program, ___: object) -> Outcome:
        left[0] -= program == failing
        fails = program == failing and not left[0]
        return replace(FAILED, elements=()) if fails else Outcome(Verdict.PASS)

    monkeypatch.setattr(minimisation, "judge_in_isolation", judge_alternately)
    small = SimpleNamespace(program=SMALL, inputs=(array([0, 0], "f32"),))
    monkeypatch.setattr(minimisation, "minimise", lambda *_: small)
    numbers = array([0, 0, 0, 0, 0], "f32")
    failure = FailingProgram(0, LARGE, (numbers, numbers), FAILED)
    return minimisation.minimise_failure(Trial("reference", 0, 0, 1), failure, 1.0)


@pytest.mark.parametrize("times", [1, 3])
def test_flaky_failure_is_still_minimised(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = finding(SMALL, times, monkeypatch)
    assert (found.program, found.elements) == (SMALL, ())


def test_unreproducible_failure_keeps_its_own_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = finding(SMALL, 100, monkeypatch)
    assert (found.program, found.elements) == (LARGE, FAILED.elements)


def test_program_that_only_returns_its_argument_is_minimal() -> None:
    program = parse_module("""
func.func @main(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [4] : (tensor<8xf32>, tensor<i32>) -> tensor<4xf32>
  %1 = stablehlo.add %0, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}""")
    given = array([3, 2, 5, 7, 11, 13, 17, 19], "f32"), array(1065353216, "si32")
    failure = FailingProgram(0, program, given, Outcome(Verdict.DIVERGENT, "wrong value"))
    trial = Trial("reference:reversed_elements", 0, 0, 1)
    found = minimisation.minimise_failure(trial, failure, 20.0)
    assert [one.name for one in found.program.main.body.operations] == ["return"]
    assert [one.tolist() for one in found.inputs] == [[0, 1]]

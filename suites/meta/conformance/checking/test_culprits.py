"""`check` names the step of the compiler that makes a program wrong, where the stages show it."""

from __future__ import annotations

import pytest

from conformance.backends.session import open_session
from conformance.checking.program import ProgramChecker
from conformance.frontends.modules import Unit, units_of
from conformance.gate.counterexamples import parse_inputs
from conformance.gate.reading import load
from conformance.pipeline.outcome import Outcome
from conformance.results.versions import versions

ALGSIMP = "rewriting by algsimp: multiply(convert<f32>(a), b) => select<f32>(a, b, C)"


def outcome(id: str, backend: str, *, known: bool = False) -> Outcome:  # noqa: A002
    """Return the outcome of the counterexample of a known divergence of XLA on CPU.

    `known` says whether expectations are taken into account.
    """
    entries = {entry.id: entry for entry in load("cpu", ("cpu",), versions())}
    if id not in entries:
        pytest.skip(f"this jaxlib is not known to have {id}")
    given = entries[id].counterexample
    assert given is not None
    (unit,) = units_of(given.program)
    assert isinstance(unit, Unit)
    work = ProgramChecker(unit, open_session(backend), (entries[id],) if known else (), 20.0)
    return work.judge_inputs(parse_inputs(unit.flat.program, given.inputs))


@pytest.mark.x86
@pytest.mark.parametrize("backend", ["cpu", "cpu-compile"])
def test_pass_and_change_of_a_rewriting_are_named(backend: str) -> None:
    found = outcome("truth-value-as-a-selection", backend)
    assert found.verdict.fails
    assert found.message.endswith(ALGSIMP)


@pytest.mark.x86
def test_a_result_that_only_code_generation_explains() -> None:
    found = outcome("exponential-accuracy", "cpu")
    assert found.verdict.fails
    assert found.message.endswith("code generation or run time: no pass changes the meaning")


@pytest.mark.x86
def test_culprit_pass_of_known_divergence_is_not_reported() -> None:
    found = outcome("truth-value-as-a-selection", "cpu", known=True)
    assert found.known
    assert "rewriting by" not in found.message

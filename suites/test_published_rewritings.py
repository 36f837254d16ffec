"""Published miscompilations on compilers without their device: flagged, and the pass is named."""

from __future__ import annotations

import pytest

from conformance.backends.compiled.modules import read_back
from conformance.backends.session import Session, open_session
from conformance.checking.program import ProgramChecker
from conformance.errors import NotAvailable
from conformance.frontends.modules import Unit, units_of
from conformance.gate.counterexamples import parse_inputs
from conformance.judging.compare import judge_operation
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import is_single, judge_program
from conformance.results.versions import versions
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.transforms.inline import inline
from suites.published_bugs import Bug, bugs
from suites.published_modules import stored_module

SEEDED = [bug for bug in bugs() if stored_module(bug.id) is not None]
"""Bugs that no compiler here shows, with a module that the pass made."""

COMPILERS = ("cpu-compile", "gpu-compile", "tpu-compile")
BUGS = [bug for bug in bugs() if bug.verdict == "divergent" and set(bug.backends) & {*COMPILERS}]
SECONDS = 20.0


@pytest.fixture(scope="module", params=COMPILERS)
def session(request: pytest.FixtureRequest) -> Session:
    """Return a session of each compiler that is installed."""
    try:
        return open_session(request.param)
    except NotAvailable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.id)
def test_affected_version_is_flagged_with_the_pass(bug: Bug, session: Session) -> None:
    if session.name not in bug.backends:
        pytest.skip(f"{session.name} is not known to show it")
    (unit,) = units_of(bug.program)
    assert isinstance(unit, Unit)
    inputs = parse_inputs(unit.flat.program, bug.inputs)
    outcome = ProgramChecker(unit, session, (), SECONDS).judge_inputs(inputs)
    if not bug.is_in(versions()["jaxlib"], session.name):
        assert not outcome.verdict.fails, outcome.message
        return
    assert outcome.verdict.value == bug.verdict
    assert outcome.kind in (bug.kinds or (outcome.kind,))
    told = outcome.message.replace("tpu-spmd", "spmd")
    ways = (f"rewriting by {bug.culprit}: ", f"rewriting: pass {bug.culprit} of pipeline")
    translated = ("rewriting by translation: ", "rewriting: the translation to HLO")
    assert any(way in told for way in (ways if bug.culprit else translated)), told


@pytest.mark.parametrize("bug", SEEDED, ids=lambda bug: bug.id)
def test_a_module_that_the_pass_made_is_flagged(bug: Bug) -> None:
    program, module = parse_module(bug.program), stored_module(bug.id)
    assert module is not None
    inputs = parse_inputs(program, bug.inputs)
    results = read_back(module, program).evaluate(inputs)
    flat = inline(program).program
    permitted = PermittedResults(flat, inputs, Hardware.GPU)
    if is_single(flat):
        found = judge_operation(flat, inputs, permitted.expected, results, Hardware.GPU)
    else:
        found = judge_program(permitted, results)
    assert (found.verdict.value, found.kind) == (bug.verdict, *bug.kinds)


@pytest.mark.parametrize("bug", SEEDED, ids=lambda bug: bug.id)
def test_the_compilers_of_today_are_right(bug: Bug, session: Session) -> None:
    (unit,) = units_of(bug.program)
    assert isinstance(unit, Unit)
    inputs = parse_inputs(unit.flat.program, bug.inputs)
    assert not ProgramChecker(unit, session, (), SECONDS).judge_inputs(inputs).verdict.fails


def test_ten_passes_at_least_are_named_by_their_threads() -> None:
    assert len([bug for bug in (*BUGS, *SEEDED) if bug.culprit]) >= 10

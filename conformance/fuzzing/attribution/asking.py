"""Worker side of the attribution: the variants of a finding's program, and its outcome in each."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from conformance.backends.base import BackendError, Settings, Unsupported
from conformance.backends.passes import dumped_passes
from conformance.backends.session import Session, open_session
from conformance.fuzzing.attribution.cause import NO_ANSWER, RIGHT, WRONG, Cause
from conformance.fuzzing.attribution.search import search_cause
from conformance.fuzzing.attribution.stages import cause_by_stages
from conformance.fuzzing.attribution.third_vote import vote
from conformance.fuzzing.attribution.variants import (
    REWRITINGS,
    UNOPTIMIZED,
    CompileVariant,
    Plan,
    rewritings,
)
from conformance.fuzzing.execution import judge_in_isolation
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.trial import Trial
from conformance.phases import phase
from conformance.pipeline.outcome import Outcome
from reference.interpreter.evaluate import EvaluationError
from reference.numerics.alike import equal_results


def explain_finding(trial: Trial, finding: Finding, seconds: float) -> Finding:
    """Return the finding with its cause and the third vote on it, searched for at most `seconds`.

    Raises:
        NotAvailable: if the backend is not available.
    """
    cause = _cause(trial, finding, seconds)
    return replace(finding, cause=cause, vote=vote(trial, finding), optimised=b"")


def _cause(trial: Trial, finding: Finding, seconds: float) -> Cause:
    """Return the pass that changes the meaning; if the stages do not show it, return the answer of
    the search.
    """

    def ask(way: CompileVariant) -> str:
        return try_variant(trial, finding, way)

    staged = cause_by_stages(trial, finding)
    if staged is None:
        return search_cause(ask, plan(trial, finding), seconds)
    written = (*rewritings(finding.program, finding.inputs), UNOPTIMIZED)
    others = search_cause(ask, Plan(written), seconds)
    return replace(others, ways={**staged.ways, **others.ways}, culprit=staged.culprit)


def plan(trial: Trial, finding: Finding) -> Plan:
    """Return the variants to try for a finding whose program gives an answer, which may be an
    error.

    Raises:
        NotAvailable: if the backend is not available.
    """
    ways = rewritings(finding.program, finding.inputs)
    with tempfile.TemporaryDirectory(prefix="hlo-conformance-") as folder:
        try:
            session = open_session(trial.backend).configured(Settings(dump=folder))
        except Unsupported as error:
            return Plan(tuple(ways), note=str(error))
        with suppress(BackendError):  # what came before it broke is dumped
            session.compile(finding.program)
        passes = dumped_passes(Path(folder))
    note = "" if passes.single else "the backend reports no passes that could be disabled"
    return Plan((*ways, UNOPTIMIZED), passes, note)


def try_variant(trial: Trial, finding: Finding, way: CompileVariant) -> str:
    """Return the outcome of a finding's program in a variant; it may crash this process.

    Raises:
        NotAvailable: if the backend is not available.
    """
    program, inputs = finding.program, finding.inputs
    if way.rewriting:
        rewritten = REWRITINGS[way.rewriting](program, inputs)
        assert rewritten is not None
        program, inputs = rewritten
    session = open_session(trial.backend, phase)
    try:
        if way.settings != Settings():
            session = session.configured(way.settings)
        if _has_found_results(session, finding, replace(finding, program=program, inputs=inputs)):
            return WRONG
        outcome = judge_in_isolation(trial, session, program, inputs)
    except (BackendError, EvaluationError):
        return NO_ANSWER
    return NO_ANSWER if outcome is None else _classify_outcome(finding, outcome)


def _has_found_results(session: Session, finding: Finding, other: Finding) -> bool:
    """Return whether the results equal the finding's bit for bit: then no judging is needed."""
    if not finding.actual:
        return False
    try:
        results = next(session.run(other.program, [other.inputs]))
    except BackendError:
        return False
    return equal_results(results, finding.actual)


def _classify_outcome(finding: Finding, outcome: Outcome) -> str:
    if not outcome.verdict.fails:
        return NO_ANSWER if not outcome.verdict.has_results else RIGHT
    if not outcome.verdict.has_results and outcome.verdict is not finding.verdict:
        return NO_ANSWER
    return WRONG

"""The third vote on a finding: the result of StableHLO's interpreter.

It is another reading of the specification, and has errors of its own: if an expectation matches its
difference from the reference, it has no vote.
"""

from __future__ import annotations

from dataclasses import replace

from conformance.backends.base import BackendError
from conformance.backends.interpreter.backend import InterpreterBackend
from conformance.backends.session import open_session
from conformance.errors import NotAvailable
from conformance.fuzzing.attribution.cause import (
    AGAINST_BACKEND,
    AGAINST_REFERENCE,
    ALL_DIFFER,
    NO_VOTE,
    Vote,
)
from conformance.fuzzing.execution import judge_in_isolation
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.trial import Trial
from conformance.gate.reading import load
from conformance.results.versions import versions
from conformance.text import one_line
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError
from reference.numerics.alike import equal_results

_INTERPRETER = InterpreterBackend.name
_NO_RESULTS = (Verdict.CRASHED, Verdict.TIMED_OUT, Verdict.REJECTED)


def vote(trial: Trial, finding: Finding) -> Vote:
    """Return the interpreter's vote on a finding; it may crash this process."""
    if finding.backend == _INTERPRETER:
        return Vote()
    known = load(None, (_INTERPRETER,), versions())
    asked = replace(trial, backend=_INTERPRETER, expectations=known)
    try:
        session = open_session(_INTERPRETER)
        refusal = session.refusal(finding.program)
        if refusal is not None:
            return Vote(NO_VOTE, str(refusal))
        outcome = judge_in_isolation(asked, session, finding.program, finding.inputs)
        results = next(session.run(finding.program, [finding.inputs]))
    except (NotAvailable, BackendError, EvaluationError) as error:
        return Vote(NO_VOTE, str(error))
    if outcome is None:
        return Vote(NO_VOTE, "it cannot run the program")
    if not outcome.verdict.fails:
        return Vote(AGAINST_BACKEND)
    if outcome.known:
        return Vote(NO_VOTE, f"its own result is a known divergence: {', '.join(outcome.known)}")
    if outcome.verdict in _NO_RESULTS:
        return Vote(NO_VOTE, one_line(outcome.message))
    return Vote(AGAINST_REFERENCE if equal_results(results, finding.actual) else ALL_DIFFER)

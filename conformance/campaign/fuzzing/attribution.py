"""Votes: what a finding's program comes to when it is written otherwise and means the same.

StableHLO's own interpreter is another reading of the specification. A program with its constants as
parameters is not folded; one with barriers between its operations is not rewritten across them:
what makes a divergence vanish says what causes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.backends.base import BackendError
from conformance.backends.session import Session
from conformance.campaign.fuzzing.trial import judged_alone
from conformance.campaign.fuzzing.trials import Trial
from conformance.check.outcome import Outcome
from conformance.transforms.equivalent import with_barriers, with_constants_given
from conformance.triage.minimise.attempts import Inputs
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError
from reference.ir.program import Program
from reference.ir.types import Array

RIGHT, WRONG, NO_ANSWER = "right", "wrong", "no answer"
"""What a vote can be."""

FOLDING, BARRIERS = "constants as parameters", "barriers between operations"
"""What the votes on programs written otherwise are called."""


def votes(
    session: Session, trial: Trial, program: Program, inputs: Inputs, outcome: Outcome
) -> dict[str, str]:
    """What each other way of running a failing program comes to, by name; those that there are."""
    if outcome.verdict in (Verdict.CRASHED, Verdict.TIMED_OUT):
        return {}
    found: dict[str, str] = {}
    for name, (other, given) in _others(program, inputs).items():
        found[name] = _vote(session, trial, other, given)
    return found


def _others(program: Program, inputs: Inputs) -> dict[str, tuple[Program, Inputs]]:
    found: dict[str, tuple[Program, Inputs]] = {}
    given, apart = with_constants_given(program, inputs), with_barriers(program)
    if given is not None:
        found[FOLDING] = given
    if apart is not None:
        found[BARRIERS] = (apart, inputs)
    return found


def _vote(session: Session, trial: Trial, program: Program, inputs: Sequence[Array]) -> str:
    try:
        outcome = judged_alone(trial, session, program, tuple(inputs))
    except (BackendError, EvaluationError):
        return NO_ANSWER
    if outcome is None or outcome.verdict is Verdict.UNSUPPORTED:
        return NO_ANSWER
    return WRONG if outcome.verdict.fails else RIGHT

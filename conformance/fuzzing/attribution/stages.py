"""The pass that changes the meaning of a finding's program, as the cause of the finding."""

from __future__ import annotations

from conformance.backends.session import open_session
from conformance.fuzzing.attribution.cause import RIGHT, WRONG, Cause
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.trial import Trial
from conformance.gate.expectations import hypotheses_of
from conformance.known.in_force import in_force
from conformance.localize.culprit import Culprit, Step, find_culprit
from conformance.phases import phase

AS_OPTIMISED = "as the optimised module, evaluated by the reference"
BEFORE_PASSES = "as HLO before all passes, evaluated by the reference"


def name_before_pass(name: str) -> str:
    """Return the name of the variant that evaluates the module before a pass."""
    return f"before pass {name}"


def name_after_pass(name: str) -> str:
    """Return the name of the variant that evaluates the module after a pass."""
    return f"after pass {name}"


def cause_by_stages(trial: Trial, finding: Finding) -> Cause | None:
    """Return the pass after which a finding's program has another meaning, or that none does.

    Returns:
        None where the stages do not answer (see `conformance.localize.culprit.find_culprit`).

    Raises:
        NotAvailable: when the backend is not available.
    """
    if not finding.actual:
        return None
    session = open_session(trial.backend, phase)
    with in_force(hypotheses_of(trial.expectations, session.name)):
        culprit = find_culprit(
            session, finding.program, finding.inputs, finding.actual, trial.seconds,
            optimised=finding.optimised, is_failure=finding.verdict.fails,
        )  # fmt: skip
    return None if culprit is None else Cause(_ways(culprit), culprit=str(culprit))


def _ways(culprit: Culprit) -> dict[str, str]:
    if culprit.step is Step.TRANSLATION:
        return {BEFORE_PASSES: WRONG}
    if culprit.step is Step.CODE_GENERATION:
        return {AS_OPTIMISED: RIGHT}
    return {name_before_pass(culprit.name): RIGHT, name_after_pass(culprit.name): WRONG}

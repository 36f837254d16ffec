"""Programs of the user's own, read as hits: with their inputs, given or drawn."""

from __future__ import annotations

from pathlib import Path

from conformance.backends.session import open_session
from conformance.campaign.fuzzing.trial import judged_alone, outcome_of
from conformance.campaign.fuzzing.trials import Hit, Trial
from conformance.check.outcome import NotJudged, Outcome
from conformance.errors import UsageError
from conformance.executors.limit import TooSlow, limited
from conformance.frontends.arguments import given as taken
from conformance.frontends.arguments import load
from conformance.frontends.inputs.drawing import drawn
from conformance.frontends.modules import NotChecked, Unit, units
from conformance.frontends.naming import parameters
from conformance.stablehlo.emit import EmitError
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.types import Array


def given(trial: Trial, file: Path, inputs: Path | None) -> list[Hit]:
    """The program of a file with each of its sets of inputs, not run yet.

    Raises:
        UsageError: when it cannot be read, holds no program, or several.
        InputsError: when the inputs are not what the program takes.
    """
    try:
        found = list(units(file))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from error
    if len(found) != 1:
        raise UsageError(f"{file}: it holds {len(found)} programs; give one with a single one")
    (unit,) = found
    if isinstance(unit, NotChecked):
        raise UsageError(f"{file}: {unit.reason}")
    if unit.assertions:
        raise UsageError(f"{file}: it asserts what it expects; give a program that returns it")
    outcome = Outcome(Verdict.PASS)
    return [Hit(0, unit.program, one, outcome) for one in _sets(trial, unit, inputs)]


def _sets(trial: Trial, unit: Unit, inputs: Path | None) -> list[tuple[Array, ...]]:
    program = unit.flat.program
    if inputs is not None and program.main.arguments:
        return [taken(program, load(inputs), parameters(unit)).arrays]

    def evaluated(arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        with limited(trial.seconds):
            return tuple(evaluate(program, arrays))

    try:
        return drawn(program, trial.seed, evaluated)
    except EvaluationError as error:
        raise UsageError(f"no inputs can be drawn: {error}") from None


def came_to(trial: Trial, file: Path, inputs: Path | None) -> Outcome:
    """What the program of a file comes to: on the first inputs that it fails on, or on all.

    That is `unsupported` where it cannot be judged, with the reason.

    Raises:
        UsageError: see `given`.
    """
    session = open_session(trial.backend)
    told = Outcome(Verdict.UNSUPPORTED)
    for hit in given(trial, file, inputs):
        try:
            told = outcome_of(trial, session, hit.program, hit.inputs)
        except (NotJudged, TooSlow, EvaluationError, EmitError) as error:
            told = Outcome(Verdict.UNSUPPORTED, "not judged", " ".join(str(error).split()))
        if told.verdict.fails:
            break
    return told


def failing(trial: Trial, file: Path, inputs: Path | None) -> Hit | None:
    """The program on the first inputs that it fails on; None where it fails on none.

    Raises:
        UsageError: see `given`.
    """
    session = open_session(trial.backend)
    known: Hit | None = None
    for hit in given(trial, file, inputs):
        outcome = judged_alone(trial, session, hit.program, hit.inputs)
        if outcome is not None and outcome.verdict.fails:
            found = Hit(hit.number, hit.program, hit.inputs, outcome)
            if not outcome.known:
                return found
            known = known or found
    return known

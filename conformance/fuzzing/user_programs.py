"""Failures of the user's own programs, with given or drawn inputs."""

from __future__ import annotations

from pathlib import Path

from conformance.backends.session import open_session
from conformance.errors import UsageError
from conformance.executors.limit import TooSlow, limit_evaluation
from conformance.frontends.archives import read_inputs
from conformance.frontends.inputs.drawing import draw_inputs, is_dynamic
from conformance.frontends.modules import NotChecked, Unit, read_units, specialise_unit
from conformance.fuzzing.execution import judge_in_isolation, outcome_of
from conformance.fuzzing.trial import FailingProgram, Trial
from conformance.pipeline.outcome import NOT_EVALUATED, NotJudged, Outcome, known_loss
from conformance.stablehlo.emit import EmitError
from conformance.stablehlo.parse import Unreadable
from conformance.text import one_line
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Program
from reference.ir.types import Array


def read_program(trial: Trial, file: Path, inputs: Path | None) -> list[FailingProgram]:
    """Return the program of a file with each of its sets of inputs, not run yet.

    A test program returns the values that its assertions are about; the reference judges them.

    Raises:
        UsageError: when it cannot be read, holds no program, or several.
        InputsError: when the inputs are not what the program takes.
    """
    try:
        found = list(read_units(file))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from error
    if len(found) != 1:
        raise UsageError(
            f"{file}: it holds {len(found)} programs, but one is expected; "
            "`check --save` writes each that fails into a folder of its own"
        )
    (unit,) = found
    if isinstance(unit, NotChecked):
        raise UsageError(f"{file}: {unit.reason}")
    if unit.infeeds is not None:
        raise UsageError(f"{file}: it has infeeds, which only `check` supports")
    outcome = Outcome(Verdict.PASS)
    return [
        FailingProgram(0, _program(file, unit, one), one, outcome)
        for one in _sets(file, trial, unit, inputs)
    ]


def _program(file: Path, unit: Unit, inputs: tuple[Array, ...]) -> Program:
    """Return the program, specialised to the sizes of these inputs.

    It keeps its functions if it has a text of its own. Raises: UsageError: if it cannot be
    specialised.
    """
    if is_dynamic(unit.flat.program):
        try:
            unit = specialise_unit(unit, inputs)
        except Unreadable as error:
            raise UsageError(f"{file}: {error}") from None
    return unit.program if unit.text else unit.flat.program


def _sets(file: Path, trial: Trial, unit: Unit, inputs: Path | None) -> list[tuple[Array, ...]]:
    program = unit.flat.program
    if inputs is not None and program.main.arguments:
        return [read_inputs(unit, inputs).arrays]

    def evaluate_in_time(arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        with limit_evaluation(trial.seconds):
            return tuple(evaluate(program, arrays))

    try:
        return draw_inputs(program, trial.seed, evaluate_in_time)
    except (EvaluationError, TooSlow) as error:
        raise UsageError(f"{file}: no inputs can be drawn: {error}") from None


def outcome_of_file(trial: Trial, file: Path, inputs: Path | None) -> Outcome:
    """Return the outcome of the program of a file: on the first inputs on which it fails, or on
    all. It is `not_judged`, with the reason, if the program cannot be judged.

    Raises:
        UsageError: see `read_program`.
    """
    session = open_session(trial.backend)
    told = Outcome(Verdict.NOT_JUDGED)
    for failure in read_program(trial, file, inputs):
        try:
            told = outcome_of(trial, session, failure.program, failure.inputs)
        except NotJudged as error:
            told = error.outcome
        except (TooSlow, EvaluationError, EmitError) as error:
            told = Outcome(Verdict.NOT_JUDGED, NOT_EVALUATED, one_line(error))
        if told.verdict.fails:
            break
    return told


def crash_of_file(trial: Trial, file: Path, inputs: Path | None, outcome: Outcome) -> Outcome:
    """Return the outcome of a program that crashed its worker, with expectations that match it.

    Raises:
        UsageError: see `read_program`.
    """
    name = open_session(trial.backend).name
    for failure in read_program(trial, file, inputs):
        told = known_loss(failure.program, trial.expectations, name, outcome)
        if told.known:
            return told
    return outcome


def read_reducible(trial: Trial, file: Path, inputs: Path | None) -> list[FailingProgram]:
    """Return the result of `read_program`, for a program that can be minimised.

    Raises:
        UsageError: see `read_program`; or when several processes execute the program.
    """
    failures = read_program(trial, file, inputs)
    count = failures[0].program.process_count
    if count > 1:
        raise UsageError(
            f"{file}: {count} processes execute it; `reduce` minimises programs of a single process"
        )
    return failures


def failing_program(trial: Trial, file: Path, inputs: Path | None) -> FailingProgram | None:
    """Return the failure of the program on the first inputs on which it fails; None if it passes.

    Raises:
        UsageError: see `read_reducible`.
    """
    session = open_session(trial.backend)
    known: FailingProgram | None = None
    for failure in read_reducible(trial, file, inputs):
        outcome = judge_in_isolation(trial, session, failure.program, failure.inputs)
        if outcome is not None and outcome.verdict.fails:
            found = FailingProgram(failure.number, failure.program, failure.inputs, outcome)
            if not outcome.known:
                return found
            known = known or found
    return known

"""Minimisation of failures on the backend, with a final judgement; this runs in a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance.backends.base import BackendError
from conformance.backends.session import Session, open_session
from conformance.executors.limit import TooSlow, limit_evaluation
from conformance.frontends.modules import Unit, units_of
from conformance.frontends.naming import parameters
from conformance.fuzzing.execution import judge_in_isolation
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.trial import FailingProgram, Trial
from conformance.judging.compare import MALFORMED
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import is_single, judge_program
from conformance.phases import phase
from conformance.pipeline.batch import REPEATS
from conformance.pipeline.items import Inputs
from conformance.pipeline.outcome import Outcome
from conformance.stablehlo.emit import EmitError, emit
from conformance.stablehlo.pretty import print_pretty
from conformance.transforms.inline import NotInlined, inline
from conformance.transforms.parameters import name_parameters
from conformance.triage.minimise.minimise import TRIES, minimise
from conformance.triage.minimise.surgery import SECONDS
from conformance.triage.misshapen import extract_misshaping
from conformance.verdict import Element, Verdict
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Program
from reference.ir.types import Array


def minimise_failure(
    trial: Trial, failure: FailingProgram, seconds: float, tries: int = TRIES
) -> Finding:
    """Return the finding of a failure, with its program minimised for at most `seconds`.

    A program that fails only sometimes may stop failing after it was minimised. Then the finding is
    the original failure.

    Raises:
        NotAvailable: if the backend is not available.
    """
    session, quick = open_session(trial.backend, phase), replace(trial, seconds=SECONDS)

    def fails(program: Program, inputs: Inputs) -> bool:
        outcome = judge_in_isolation(quick, session, program, inputs)
        return outcome is not None and is_same_failure(failure.outcome, outcome, program)

    failure = _misshaping_operation(trial, session, failure)
    small = minimise(fails, inline_if_possible(failure.program), failure.inputs, seconds, tries)
    smaller = replace(failure, program=small.program, inputs=small.inputs)
    outcome = _repeat_until_failure(trial, session, smaller)
    if outcome is None:
        return judge_again(trial, session, failure)
    return _finding_of_failure(trial, session, replace(smaller, outcome=outcome))


def _misshaping_operation(
    trial: Trial, session: Session, failure: FailingProgram
) -> FailingProgram:
    """Return the failure of the single operation whose result has a wrong type, if that is the
    reason.

    Operations that use such a result may be refused or give a wrong type too, which adds no
    information.
    """
    outcome, program = failure.outcome, inline_if_possible(failure.program)
    is_refused = outcome.verdict in (Verdict.REJECTED, Verdict.CRASHED)
    if is_single(program) or not (is_refused or outcome.kind in MALFORMED):
        return failure
    taken = extract_misshaping(session.run, program, failure.inputs)
    if taken is None:
        return failure
    isolated = judge_in_isolation(trial, session, *taken)
    if isolated is None or not isolated.verdict.fails or isolated.known != outcome.known:
        return failure
    return replace(failure, program=taken[0], inputs=taken[1], outcome=isolated)


def unminimised_finding(trial: Trial, failure: FailingProgram) -> Finding:
    """Return the finding of a failure that is not minimised.

    Raises:
        NotAvailable: if the backend is not available.
    """
    return judge_again(trial, open_session(trial.backend, phase), failure)


def is_same_failure(wanted: Outcome, outcome: Outcome, program: Program) -> bool:
    """Return whether an outcome is the same failure: the same verdict and class, and not known.

    The rule of a single operation may give it another class.
    """
    if outcome.verdict is not wanted.verdict or outcome.known != wanted.known:
        return False
    return outcome.kind == wanted.kind or is_single(program)


def inline_if_possible(program: Program) -> Program:
    """Return the program with its calls inlined, if possible."""
    try:
        return inline(program).program
    except NotInlined:
        return program


def judge_again(trial: Trial, session: Session, failure: FailingProgram) -> Finding:
    """Return the finding of an unminimised program, judged again if it gives an answer."""
    outcome = _repeat_until_failure(trial, session, failure) or failure.outcome
    return _finding_of_failure(trial, session, replace(failure, outcome=outcome))


def _finding_of_failure(trial: Trial, session: Session, failure: FailingProgram) -> Finding:
    program, inputs, outcome = (
        name_parameters(failure.program),
        failure.inputs,
        failure.outcome,
    )
    expected = _expected_results(program, inputs, trial.seconds)
    try:
        actual = tuple(next(session.run(program, [inputs])))
    except BackendError:
        actual = ()
    elements = _elements(session, program, inputs, actual) or outcome.elements
    return Finding.of(
        outcome,
        program=program,
        text=readable_text(program),
        inputs=inputs,
        expected=expected,
        actual=actual,
        optimised=session.optimised_module(program) if actual else b"",
        elements=elements,
        backend=session.name,
    )


def _repeat_until_failure(
    trial: Trial, session: Session, failure: FailingProgram
) -> Outcome | None:
    """Judge the program again until it fails, at most REPEATS times; return None if it never
    fails.
    """
    for _ in range(REPEATS):
        outcome = judge_in_isolation(trial, session, failure.program, failure.inputs)
        if outcome is None or outcome.verdict.fails:  # what cannot be judged will not be
            return outcome
    return None


def _expected_results(program: Program, inputs: Inputs, seconds: float) -> tuple[Array, ...]:
    try:
        with limit_evaluation(seconds):
            return tuple(evaluate(program, inputs))
    except (EvaluationError, TooSlow):
        return ()


def _elements(
    session: Session, program: Program, inputs: Inputs, actual: Sequence[Array]
) -> tuple[Element, ...]:
    """Return the first elements of the program's own results that are not permitted."""
    if not actual:
        return ()
    try:
        permitted = PermittedResults(inline_if_possible(program), inputs, session.hardware)
        return judge_program(permitted, actual).elements
    except EvaluationError:
        return ()


def readable_text(program: Program) -> str:
    """Return the program's text as people read it; "" where it cannot be written.

    The generic form is used if the pretty form gives parameters other names, as MLIR may: an
    archive of inputs could not be read by name any more.
    """
    try:
        generic = emit(program)
    except EmitError:
        return ""
    shown = print_pretty([generic])[0]
    names = [argument.name for argument in program.main.arguments]
    return shown if _parameter_names(shown) == names else generic


def _parameter_names(text: str) -> list[str]:
    found = list(units_of(text))
    if len(found) != 1 or not isinstance(found[0], Unit):
        return []
    return [parameter.name for parameter in parameters(found[0])]

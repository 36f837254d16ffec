"""Check of one file of the user's, from its text to a verdict.

A file may hold several programs, each is run on several sets of inputs
(conformance/checking/program.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from conformance.backends.session import open_session
from conformance.checking import saving
from conformance.checking.explaining import ExplanationTime
from conformance.checking.program import REFERENCE_BACKEND, NotJudged, Outcome, ProgramChecker
from conformance.checking.settings import INVALID, Batch, CheckedFile, Settings
from conformance.errors import NotAvailable, UsageError
from conformance.executors.limit import TooSlow, limit_evaluation, memory_note
from conformance.executors.local import WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict as words_of
from conformance.frontends.archives import read_inputs
from conformance.frontends.arguments import InputsError
from conformance.frontends.inputs.drawing import draw_inputs, is_dynamic
from conformance.frontends.modules import NotChecked, Unit, read_units, specialise_unit
from conformance.gate.expectations import Expectation
from conformance.phases import keep_value, phase
from conformance.pipeline.outcome import NOT_EVALUATED, known_loss
from conformance.stablehlo.parse import Unreadable
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.types import Array
from reference.numerics.alike import equal_results


def check_batch(batch: Batch) -> tuple[CheckedFile, ...]:
    """Return the verdicts on a batch's files, in this process."""
    is_single = len(batch.files) == 1  # the files of any other batch come again if time is over
    deadline = time.monotonic() + batch.settings.limits.timeout if is_single else None
    checked: list[CheckedFile] = []
    for file in batch.files:
        try:
            checked.append(check_file(file, batch.settings, deadline))
        except (NotAvailable, InputsError, UsageError):
            raise
        except Exception as error:
            checked.append(_unchecked_file(file, error))
    return tuple(checked)


def _unchecked_file(file: str, error: Exception) -> CheckedFile:
    """Return the outcome of a file whose check raised an exception; other files are checked."""
    kind = NOT_EVALUATED
    if isinstance(error, MemoryError):
        message = ": ".join(filter(None, ("out of memory", str(error))))
        message = f"{message}; {memory_note()}"
    elif isinstance(error, RecursionError):
        message = "nested too deeply"
    elif os.environ.get("HLO_CONFORMANCE_DEBUG"):
        raise error
    else:
        kind = "defect of hlo-conformance"
        message = f"{type(error).__name__}: {error}; please report it"
    return CheckedFile(Verdict.NOT_JUDGED, kind, message, file=file)


def check_file(path: str, settings: Settings, deadline: float | None = None) -> CheckedFile:
    """Return the verdict on a file, in this process.

    `deadline` is the end of this process by `time.monotonic()`: a verdict settled by then is
    returned with the part of its cause that was found. A failure is also left for the parent
    (`conformance.phases.keep`) before it is explained.

    Raises:
        InputsError: when inputs are given that the program does not take.
        NotAvailable: when the backend is not available.
        UsageError: when there is no such backend.
    """
    explanation_time = ExplanationTime(settings.limits, deadline)
    found: list[CheckedFile] = []
    try:
        parts: Sequence[Unit | NotChecked] = list(read_units(Path(path)))
    except OSError as error:
        return CheckedFile(Verdict.REJECTED, INVALID, error.strerror or str(error), file=path)
    works: list[tuple[str, ProgramChecker]] = []
    if settings.inputs is not None:
        parts = list(_programs_for_inputs(parts, settings.inputs))
    for part in parts:
        found.append(_check_part(path, part, settings, found, explanation_time, works))
    checked = merge_outcomes(path, found)
    if checked.verdict.fails or not works:
        return checked
    keep_value(replace(checked, is_settled=True))  # notes may take long, or end the process
    notes = [named + note for named, work in works for note in work.notes()]
    return replace(checked, notes=tuple(notes))


def _programs_for_inputs(
    parts: Sequence[Unit | NotChecked], inputs: Path
) -> Iterator[Unit | NotChecked]:
    """Yield the programs of a file; skip those that do not accept the given inputs, unless none
    does.
    """
    taking = [part for part in parts if isinstance(part, Unit) and part.flat.program.main.arguments]
    if len(taking) < 2:
        yield from parts
        return
    refusals = [_refusal(part, inputs) for part in taking]
    if None not in refusals:
        yield from parts
        return
    left = [(part, why) for part, why in zip(taking, refusals, strict=True) if why]
    for part in parts:
        why = next((why for other, why in left if other is part), None)
        yield NotChecked(why) if why and isinstance(part, Unit) else part


def _refusal(part: Unit, inputs: Path) -> str | None:
    """Return why a program does not accept the inputs of an archive, or None."""
    try:
        read_inputs(part, inputs)
    except InputsError as error:
        return str(error)
    return None


def matching_expectations(
    path: str, settings: Settings, verdict: Verdict, kind: str, message: str
) -> tuple[str, ...]:
    """Return the expectations that match this failure of any operation of a file's programs, if the
    file crashes the process that checks it, or gives no answer.
    """
    name, outcome = open_session(settings.backend).name, Outcome(verdict, kind, message)
    parts = [part for part in read_units(Path(path)) if isinstance(part, Unit)]
    lost = [_match_entries(part, settings.expectations, name, outcome) for part in parts]
    return _matched_expectations(lost)


def judge_crash(batch: Batch, lost: WorkerCrash | WorkerTimeout) -> tuple[CheckedFile, ...]:
    """Return the verdict on a file whose worker crashed or timed out, with matching
    expectations.
    """
    (file,) = batch.files
    verdict, kind, message = words_of(lost)
    known = matching_expectations(file, batch.settings, verdict, kind, message)
    return (CheckedFile(verdict, kind, message, known=known, file=file),)


def _match_entries(
    part: Unit, expectations: Sequence[Expectation], backend: str, outcome: Outcome
) -> Outcome:
    """Return the outcome with the expectations that match it; a call may also be the cause."""
    told = [known_loss(program, expectations, backend, outcome) for program in part.programs]
    return next((one for one in told if one.known), outcome)


def merge_outcomes(path: str, checked: Sequence[CheckedFile]) -> CheckedFile:
    """Return one verdict for all checked programs of a file: the worst."""
    if not checked:
        return CheckedFile(
            Verdict.NOT_JUDGED, "nothing to check", "the file has no program", file=path
        )
    left = [one for one in checked if not one.verdict.is_tested]
    done = [one for one in checked if one.verdict.is_tested]
    worst = max(done or left, key=lambda one: one.severity)
    message = worst.message
    if done and left:
        note = f"{len(left)} of {len(checked)} programs not checked: {left[0].message}"
        message = f"{message}; {note}" if message else note
    known = _matched_expectations(done) if worst.known else ()
    return replace(worst, file=path, message=message, known=known)


def _matched_expectations(found: Sequence[Outcome]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id_ for one in found for id_ in one.known))


def _check_part(
    path: str,
    part: Unit | NotChecked,
    settings: Settings,
    before: Sequence[CheckedFile],
    explanation_time: ExplanationTime,
    works: list[tuple[str, ProgramChecker]],
) -> CheckedFile:
    """Return the verdict on a program of a file; `before` are those on the programs before it.

    The session that ran it is added to `works`, with the prefix of its messages.
    """
    if isinstance(part, NotChecked):
        if part.invalid:
            return CheckedFile(Verdict.REJECTED, INVALID, part.reason, file=path)
        return CheckedFile(Verdict.NOT_JUDGED, "not read", part.reason, file=path)
    named = "" if part.name == "main" else f"@{part.name}: "
    try:
        sets, notes = _inputs(part, settings)
        session = open_session(settings.backend, phase)
        found: list[Outcome] = []
        if is_dynamic(part.flat.program) and session.name not in REFERENCE_BACKEND:
            part = _specialise_to_inputs(part, sets, found)
        work = ProgramChecker(
            part, session, settings.expectations, settings.limits.evaluation, explanation_time,
            explains=settings.explains,
        )  # fmt: skip
        works.append((named, work))
        saved = saving.saved_program(part) if settings.save is not None else None

        def keep_settled(outcome: Outcome) -> None:
            keep_value(
                merge_outcomes(path, [*before, _summary(path, named, [*found, outcome], notes)])
            )

        for index, inputs in enumerate(sets, start=1):
            drawn = f"drawn inputs, set {index} of {len(sets)}"
            origin = ("given inputs" if settings.inputs else drawn) if inputs else ""
            with phase("inputs", index, len(sets)):
                judge = partial(_judge_inputs, path, saved, inputs, origin, work, settings)
                found.append(judge(keep_settled))
            if found[-1].is_new_failure:
                break
    except NotJudged as reason:
        return CheckedFile.of(reason.outcome, message=named + str(reason), file=path)
    except TooSlow as reason:
        return CheckedFile(Verdict.NOT_JUDGED, NOT_EVALUATED, named + str(reason), file=path)
    return _summary(path, named, found, (*notes, part.note))


def _summary(path: str, named: str, found: Sequence[Outcome], notes: Sequence[str]) -> CheckedFile:
    """Return the verdict on a program from its outcomes on several sets of inputs."""
    worst = max(found, key=lambda one: one.severity)
    message = "; ".join(filter(None, (worst.message, *notes)))
    message = named + message if message else ""
    known = _matched_expectations(found) if worst.known else ()
    return CheckedFile.of(worst, message=message, known=known, file=path)


def _judge_inputs(
    path: str,
    saved: saving.SavedProgram | None,
    inputs: tuple[Array, ...],
    origin: str,
    work: ProgramChecker,
    settings: Settings,
    keep_settled: Callable[[Outcome], None],
) -> Outcome:
    """Return the outcome on a set of inputs, saved where it fails.

    `keep_settled` is called with a failure before it is explained; it is saved by then.
    """
    if settings.save is None or saved is None:
        return _note_origin(
            origin,
            work.judge_inputs(inputs, lambda one, *_: keep_settled(_note_origin(origin, one))),
        )
    folder = saving.Folder(settings.save, path, saved, inputs, settings.backend, origin)
    folder.begin()

    def save_settled(one: Outcome, expected: Sequence[Array], actual: Sequence[Array]) -> None:
        folder.end(one, expected, actual)
        keep_settled(_note_origin(origin, one, f"saved in {folder.path}"))

    try:
        outcome = work.judge_inputs(inputs, save_settled)
    except BaseException:
        folder.remove()
        raise
    if not outcome.verdict.fails:
        folder.remove()
        return outcome
    folder.end(outcome, *work.results_of_both(inputs))
    return _note_origin(origin, outcome, f"saved in {folder.path}")


def _note_origin(origin: str, outcome: Outcome, *notes: str) -> Outcome:
    """Return the outcome, with a note if it fails only on some of several inputs."""
    if not outcome.verdict.fails:
        return outcome
    return replace(outcome, message="; ".join(filter(None, (outcome.message, origin, *notes))))


def _specialise_to_inputs(
    unit: Unit, sets: list[tuple[Array, ...]], outcomes: list[Outcome]
) -> Unit:
    """Return a program of unknown sizes specialised to the sizes of the inputs, as backends need
    it.

    If the reference evaluates it to other results, the outcome says so.
    """
    try:
        static = specialise_unit(unit, sets[0])
    except Unreadable as error:
        raise NotJudged(str(error), "not implemented by the backend", Verdict.UNSUPPORTED) from None
    try:
        before, after = (evaluate(one.flat.program, sets[0]) for one in (unit, static))
    except EvaluationError as error:
        raise NotJudged(str(error)) from None
    if not equal_results(before, after):
        message = "with sizes written into it by jaxlib's shape refinement it means something else"
        outcomes.append(Outcome(Verdict.DIVERGENT, "wrong type", message))
    return static


@phase("drawing")
def _inputs(unit: Unit, settings: Settings) -> tuple[list[tuple[Array, ...]], tuple[str, ...]]:
    """Return the sets of inputs of a program, and notes about them."""
    program = unit.flat.program

    def evaluate_in_time(inputs: tuple[Array, ...]) -> Sequence[Array]:
        with limit_evaluation(settings.limits.evaluation):
            return evaluate(program, inputs, infeeds=unit.infeeds)

    if settings.inputs is None or not program.main.arguments:
        try:
            return draw_inputs(program, settings.seed, evaluate_in_time), ()
        except (InputsError, EvaluationError) as error:
            raise NotJudged(str(error), "no inputs") from None
    found = read_inputs(unit, settings.inputs)
    ignored = ", ".join(found.ignored)
    notes = (f"arrays of the archive that are not parameters: {ignored}",) if ignored else ()
    return [found.arrays], notes

"""Trials: some consecutive programs of a campaign, from generation to failures, in a worker.

The result of a trial depends only on seed, numbers and versions. XlaBuilder's ops are lowered
before all else, so that later steps handle no such ops. The programs are compiled as one module.
Differing results are judged, and failing programs are run again in isolation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from conformance.backends.base import BackendError, Unsupported
from conformance.backends.session import Session, open_session
from conformance.campaign.tasks import peak_rss_mb
from conformance.catalog import column_of
from conformance.checking.program import ProgramChecker
from conformance.executors.limit import TooSlow, limit_evaluation
from conformance.frontends.modules import unit_of
from conformance.fuzzing.seeds.material import case_of
from conformance.fuzzing.steering.coverage_counts import CampaignCoverage, Pair
from conformance.fuzzing.steering.pool import NEW_PER_TRIAL, new_pair_fragments
from conformance.fuzzing.trial import (
    KNOWN_TO_CRASH,
    ONLY_IN_BATCH,
    FailingProgram,
    Trial,
    TrialResult,
)
from conformance.gate.classes import FLUSHED
from conformance.gate.expectations import (
    Expectation,
    Failure,
    crash_entries,
    hypotheses_of,
    matching_entry,
)
from conformance.judging.compare import describe_malformed, judge_operation
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import is_flushed, is_single, unreached_results
from conformance.known.in_force import in_force
from conformance.limits import Limits
from conformance.phases import phase
from conformance.pipeline.batch import Batcher, run_all
from conformance.pipeline.items import BackendAnswer, Inputs, Item
from conformance.pipeline.outcome import NotJudged, Outcome, known_loss
from conformance.stablehlo.emit import EmitError, spell_operation
from conformance.transforms.inline import inline
from conformance.verdict import Verdict
from generators.chains.seeds.fragment import Fragment
from generators.values.contents import materialise
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.numerics.alike import equal_results
from reference.ops.xla.lowering import lower_program


def run_trial(trial: Trial) -> TrialResult:
    """Generate, evaluate, run and judge the programs of a trial.

    Raises:
        NotAvailable: when the backend is not available.
    """
    session = open_session(trial.backend, phase)
    counts: Counter[str] = Counter()
    items: list[Item] = []
    met, new, seen = CampaignCoverage(), list[Fragment](), set[Pair]()
    ends = crash_entries(trial.expectations)
    for number in range(trial.start, trial.stop):
        guide = trial.guide
        case = case_of(trial, number, guide)
        met.note(case.program, guide)
        if len(new) < NEW_PER_TRIAL:
            new += new_pair_fragments(case.program, trial.met, seen)
        program = lower_program(case.program)
        if session.refusal(program) is not None:
            counts[Verdict.UNSUPPORTED.value] += 1
            continue
        if ends and _is_known_to_crash(ends, session.name, program):
            counts[KNOWN_TO_CRASH] += 1
            continue
        sets = [materialise(program, recipe) for recipe in case.inputs]
        try:
            with limit_evaluation(min(Limits.GENERATED, trial.seconds)):
                expected = [tuple(evaluate(program, inputs)) for inputs in sets]
        except (EvaluationError, TooSlow):
            counts[Verdict.NOT_JUDGED.value] += 1
            continue
        items.append(Item(number, program, sets, expected))
    failures: list[FailingProgram] = []
    (answers,), _ = run_all(Batcher(session, repeats=0), [items])
    for item, given in zip(items, answers, strict=True):
        with in_force(hypotheses_of(trial.expectations, session.name)):
            word = _judge_program(trial, session, item, given.answer, failures)
        counts[word] += 1
    return TrialResult(
        dict(counts), tuple(failures), met, session.compilations, peak_rss_mb(),
        tuple(new[:NEW_PER_TRIAL]),
    )  # fmt: skip


def _is_known_to_crash(ends: Sequence[Expectation], backend: str, program: Program) -> bool:
    """Return whether an expectation for crashes matches an operation of the program."""
    return any(
        end.applies((operation.name, column_of(operation), backend))
        and (not end.where or end.matches_operation(spell_operation(operation)))
        for operation in program.walk()
        for end in ends
    )


def _judge_program(
    trial: Trial,
    session: Session,
    one: Item,
    results: BackendAnswer,
    failures: list[FailingProgram],
) -> str:
    """Return the word under which a program's verdict is counted; add any failure to `failures`."""
    if isinstance(results, Unsupported):
        return Verdict.UNSUPPORTED.value
    word, flushed = Verdict.PASS.value, list[FailingProgram]()
    for index, inputs in enumerate(one.inputs):
        outcome = None
        if not isinstance(results, BackendError):
            outcome = _judge_quickly(trial, session, one, index, results[index])
        if outcome is not None:
            if outcome.verdict.fails:  # other sets of inputs may show something else
                flushed.append(FailingProgram(one.index, one.program, inputs, outcome))
            elif outcome.verdict is not Verdict.PASS:
                word = outcome.verdict.value
            continue
        outcome = judge_in_isolation(trial, session, one.program, inputs)
        if outcome is None:
            return Verdict.NOT_JUDGED.value
        if outcome.verdict.fails:
            return _count_failure(FailingProgram(one.index, one.program, inputs, outcome), failures)
        word = outcome.verdict.value
        if outcome.verdict is Verdict.PASS and not _is_same_in_isolation(
            session, one, index, results
        ):
            word = ONLY_IN_BATCH
    return _count_failure(flushed[0], failures) if flushed else word


def _count_failure(failure: FailingProgram, failures: list[FailingProgram]) -> str:
    """Add a failure to `failures`; return the word under which it is counted."""
    failures.append(failure)
    verdict = failure.outcome.verdict
    return f"known {verdict}" if failure.outcome.known else verdict.value


def _is_same_in_isolation(session: Session, one: Item, number: int, results: BackendAnswer) -> bool:
    """Return whether a program gives the same results in isolation as in the batch, and is right in
    both.
    """
    if isinstance(results, BackendError):
        return False
    return equal_results(next(session.run(one.program, [one.inputs[number]])), results[number])


def _judge_quickly(
    trial: Trial, session: Session, one: Item, number: int, actual: Sequence[Array]
) -> Outcome | None:
    """Return the outcome on a set of inputs, if it is known without compiling the program in
    isolation.

    Results are right if they are as expected, or within what roundings permit; for a single
    operation its own rule decides. Wrong results are known if flushed subnormal numbers explain all
    results, and expectations match the flushing of each operation.
    """
    inputs, expected = one.inputs[number], one.expected[number]
    if describe_malformed(expected, actual) is not None:
        return None
    if equal_results(expected, actual):
        return Outcome(Verdict.PASS)
    if is_single(one.program):
        judgement = judge_operation(one.program, inputs, expected, actual, session.hardware)
        if not judgement.verdict.fails:
            return Outcome(judgement.verdict, judgement.kind)
        if judgement.verdict is not Verdict.FLUSHED:
            return None
        operations, kind = (one.program.subject,), judgement.kind
        known = _flushing_expectations(trial.expectations, session.name, operations, kind)
        return Outcome(Verdict.FLUSHED, kind, known=known) if known else None
    try:
        permitted = PermittedResults(inline(one.program).program, inputs, session.hardware)
        doubtful = unreached_results(permitted, actual)
        if not doubtful:
            return Outcome(Verdict.PASS)
        operations = one.program.walk()
        known = _flushing_expectations(trial.expectations, session.name, operations, FLUSHED)
        if known and is_flushed(permitted, actual, doubtful):
            return Outcome(Verdict.FLUSHED, FLUSHED, known=known)
    except EvaluationError:
        pass
    return None


def _flushing_expectations(
    expectations: Sequence[Expectation], backend: str, operations: Iterable[Operation], kind: str
) -> tuple[str, ...]:
    """Return the expectations that match the flushing of each operation; none if any operation is
    not matched.
    """
    cells = dict.fromkeys((operation.name, column_of(operation)) for operation in operations)
    ids = [
        matching_entry(expectations, Failure(*cell, backend, Verdict.FLUSHED, kind))
        for cell in cells
    ]
    return tuple(dict.fromkeys(ids)) if all(ids) else ()


def judge_in_isolation(
    trial: Trial, session: Session, program: Program, inputs: Inputs
) -> Outcome | None:
    """Return the outcome of a program compiled in isolation; None if it cannot be judged."""
    try:
        return outcome_of(trial, session, program, inputs)
    except (NotJudged, TooSlow, EvaluationError, EmitError):
        return None


def gives_answer(trial: Trial, program: Program, inputs: Inputs) -> bool:
    """Return whether a program gives an answer; it may crash this process."""
    return (
        judge_in_isolation(trial, open_session(trial.backend, phase), program, inputs) is not None
    )


def outcome_of(trial: Trial, session: Session, program: Program, inputs: Inputs) -> Outcome:
    """Return the outcome of a program compiled in isolation.

    Raises:
        NotJudged: if the backend does not implement it, or the reference has no result.
        TooSlow: if the reference takes too long.
        EvaluationError: if the reference has no result.
        EmitError: if it cannot be written.
    """
    work = ProgramChecker(unit_of(program), session, trial.expectations, trial.seconds)
    outcome = work.judge_inputs(inputs)
    without = outcome.verdict in (Verdict.REJECTED, Verdict.CRASHED)
    if not without or outcome.known or outcome.culprit:
        return outcome
    return known_loss(program, trial.expectations, session.name, outcome)

"""Confirmation of failing cases: they are run again in isolation, several times.

A case that fails every time has the verdict and the class of that failure. A case that fails only
sometimes is `not deterministic`, with the number of failures. A case that fails every time in a
batch, and never in isolation, is `only in batch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from conformance.backends.base import BackendError, Unsupported, failure_of
from conformance.gate.classes import ANY_BITS, NOT_DETERMINISTIC
from conformance.judging.compare import judge_sets
from conformance.judging.judgement import SetJudgements, combine
from conformance.judging.questions import VerdictClass
from conformance.known.in_force import unpredictable_classes
from conformance.limits import LIMITS
from conformance.localize.rewriting import can_explain, explain_by_module
from conformance.pipeline.batch import Batcher
from conformance.pipeline.items import (
    BackendAnswer,
    CellItem,
    Item,
    ItemAnswer,
    Results,
    Unwritable,
)
from conformance.pipeline.records import (
    CaseResult,
    have_one_ending,
    judged_result,
    not_deterministic,
    refusal_record,
)
from conformance.verdict import Errors, Record, Repeats, Verdict
from reference.ops.structure import is_constant


def conclude(item: CellItem, answered: ItemAnswer, batcher: Batcher) -> CaseResult:
    """Return the record of a case; a failure in a batch counts once it is confirmed in isolation.

    Flushed elements need no confirming: the hypothesis has been evaluated on each.

    Raises:
        Unwritable: if the case cannot be written as text, which is a defect of ours.
    """
    first, cache = answered.answer, JudgementCache(item, batcher)
    if isinstance(first, Unwritable):
        raise first
    if isinstance(first, Unsupported):
        return CaseResult(refusal_record(item, first), Errors())
    if isinstance(first, BackendError):
        return _conclude_errors(cache, first)
    judged = cache.of(first)
    if not judged.whole.verdict.fails:
        return judged_result(item, judged)
    if judged.whole.verdict is Verdict.FLUSHED or item.cell.rule.is_nondeterministic:
        return judged_result(item, judged, is_steady=True)
    return _confirm(cache, first, answered.batch)


def _confirm(cache: JudgementCache, first: Results, batch: Sequence[Item]) -> CaseResult:
    """Return the record of a case with wrong results after it was run again in isolation."""
    judged = cache.of(first)
    try:
        rounds = _rounds(cache, judged.whole.verdict)
    except BackendError:
        return _conclude_errors(cache, first)
    turn = _changing_input_set(rounds)
    if turn is not None and not _is_explained(cache, rounds):
        return _conclude_varying(cache, [first, *rounds], turn)
    failing = cache.failing(rounds)
    if failing:  # max has the first of the severest
        worst = max(failing, key=lambda one: one.whole.verdict.severity)
        shown = next(one for one in rounds if cache.of(one) is worst)
        worst = _explain(cache, worst, shown)
        return judged_result(cache.item, worst, is_steady=turn is None)
    if _is_explained(cache, [first]):
        return judged_result(cache.item, judged)
    return _conclude_batch(cache, first, batch, rounds)


def _explain(cache: JudgementCache, judged: SetJudgements, results: Results) -> SetJudgements:
    """Return the judgements on a failing case with its explanation by the compiler's module."""
    wrong = [turn for turn, one in enumerate(judged.each) if can_explain(one)]
    if not wrong:
        return judged
    program, inputs = cache.item.program, cache.item.inputs
    given = [inputs[turn] for turn in wrong], [results[turn] for turn in wrong]
    found = explain_by_module(cache.batcher.session, LIMITS.evaluation, program, *given)
    each = [*judged.each]
    for number in found.sets:
        each[wrong[number]] = found.apply(each[wrong[number]], number)
    return SetJudgements(each, combine(each))


def _conclude_errors(cache: JudgementCache, first: BackendAnswer) -> CaseResult:
    """Return the record of a case for which the backend reports an error in some run.

    For a case that fails every time, an error of the backend is shown.
    """
    item, again = cache.item, cache.batcher.attempts(cache.item, cache.batcher.repeats)
    outcomes: list[BackendAnswer] = [first, *again]
    repeats = repeats_of([cache.verdict_class(outcome) for outcome in outcomes])
    errors = (outcome for outcome in outcomes if isinstance(outcome, BackendError))
    shown = next((error for error in errors if not isinstance(error, Unsupported)), None)
    if shown is None:  # wrong in a batch, right or unsupported in isolation
        results = [outcome for outcome in outcomes if not isinstance(outcome, BackendError)]
        if _is_explained(cache, results):  # whether it is unsupported depends on the same memory
            return judged_result(item, cache.of(results[0]))
        return CaseResult(not_deterministic(item, Verdict.DIVERGENT, repeats), Errors())
    if repeats.failed == repeats.runs:
        words = {str(outcome) if isinstance(outcome, BackendError) else "" for outcome in outcomes}
        return CaseResult(refusal_record(item, shown), Errors(), is_steady=len(words) == 1)
    verdict, _ = failure_of(shown)
    return CaseResult(not_deterministic(item, verdict, repeats, str(shown)), Errors())


def _conclude_varying(cache: JudgementCache, outcomes: Sequence[Results], turn: int) -> CaseResult:
    """Return the record of a case whose results on input set `turn` change from run to run.

    Only runs in which that set failed are counted: another set may fail in every run.
    """
    of_turn = repeats_of([cache.verdict_class(outcome, turn) for outcome in outcomes])
    repeats = (
        of_turn
        if of_turn.failed
        else repeats_of([cache.verdict_class(outcome) for outcome in outcomes])
    )
    record = not_deterministic(cache.item, Verdict.DIVERGENT, repeats, turn=turn)
    return CaseResult(record, Errors())


def _conclude_batch(
    cache: JudgementCache, first: Results, batch: Sequence[Item], rounds: Sequence[Results]
) -> CaseResult:
    """Return the record of a case that is wrong in a batch and right in isolation, every time."""
    if len(batch) == 1:  # there was no batch
        outcomes: list[BackendAnswer] = [first, *rounds]
    else:
        outcomes = [first, *cache.batcher.batch_again(batch, cache.item)]
    repeats = repeats_of([cache.verdict_class(outcome) for outcome in outcomes])
    if repeats.failed == repeats.runs:
        return judged_result(cache.item, cache.of(first), batch=batch)
    return CaseResult(not_deterministic(cache.item, Verdict.DIVERGENT, repeats), Errors())


def conclude_miss(attempt: Callable[[], Record], repeats: int) -> CaseResult:
    """Return the record of a near miss, which is compiled again if the first attempt failed.

    `attempt` compiles it, and returns the record of how that ended.
    """
    first = attempt()
    if not first.verdict.fails:
        return CaseResult(first, Errors())
    records = [first, *(attempt() for _ in range(repeats))]
    found = repeats_of([(record.verdict, record.kind) for record in records])
    if found.failed == found.runs:
        return CaseResult(first, Errors(), is_steady=have_one_ending(records))
    return CaseResult(intermittent_record(first, found), Errors())


def intermittent_record(failing: Record, repeats: Repeats) -> Record:
    """Return the record of a case that did not fail every time, from that of a failing run."""
    message = f"in {repeats.failed} of {repeats.runs} runs: {failing.message}"
    return replace(failing, kind=NOT_DETERMINISTIC, message=message, repeats=repeats)


def repeats_of(ends: Sequence[VerdictClass]) -> Repeats:
    """Return the number of runs that failed, and the classes of their failures."""
    failing = [(verdict, kind) for verdict, kind in ends if verdict.fails]
    return Repeats(len(failing), len(ends), tuple(dict.fromkeys(kind for _, kind in failing)))


@dataclass(frozen=True, slots=True)
class JudgementCache:
    """The judgements of a case, each computed once, because most runs give the same results."""

    item: CellItem
    batcher: Batcher
    seen: list[tuple[Results, SetJudgements]] = field(
        default_factory=list["tuple[Results, SetJudgements]"]
    )

    def of(self, results: Results) -> SetJudgements:
        """Return the judgements on results, by the rule of the case's cell."""
        for before, judged in self.seen:
            if _changing_input_set([before, results]) is None:
                return judged
        item, hardware = self.item, self.batcher.session.hardware
        with self.batcher.watch.measure("comparison"):
            judged = judge_sets(
                item.program, item.inputs, item.expected, results, item.cell.rule,
                platform=hardware,
            )  # fmt: skip
        self.seen.append((results, judged))
        return judged

    def failing(self, rounds: Sequence[Results]) -> list[SetJudgements]:
        """Return the judgements of the rounds that fail."""
        return [one for one in map(self.of, rounds) if one.whole.verdict.fails]

    def verdict_class(self, outcome: BackendAnswer, turn: int | None = None) -> VerdictClass:
        """Return verdict and class of a run's results: on one input set, or the worst of all."""
        if isinstance(outcome, BackendError):
            return failure_of(outcome)
        judged = self.of(outcome)
        shown = judged.whole if turn is None else judged.each[turn]
        return shown.verdict, shown.kind


def _rounds(cache: JudgementCache, verdict: Verdict) -> list[Results]:
    """Run a failing case in isolation several times and return the results of each time.

    A divergent program with constants is recompiled, unless a class explains the divergence. A
    compiler that folds constants wrongly may read foreign memory, and store that for every
    execution; by chance it may be the expected value.
    """
    rounds = cache.batcher.run_in_isolation(cache.item)
    if verdict is not Verdict.DIVERGENT or not any(map(is_constant, cache.item.program.walk())):
        return rounds
    kind = cache.of(rounds[0]).whole.kind
    if kind and kind not in (*ANY_BITS, NOT_DETERMINISTIC):
        return rounds
    again = range(1, cache.batcher.repeats)
    return [*rounds, *(one for _ in again for one in cache.batcher.run_in_isolation(cache.item))]


def _is_explained(cache: JudgementCache, rounds: Sequence[Results]) -> bool:
    """Return whether a class explains why results change from run to run."""
    unsteady = {NOT_DETERMINISTIC} | unpredictable_classes()
    failing = [one.whole for one in cache.failing(rounds)]
    kinds = {one.kind for one in failing if one.verdict is not Verdict.FLUSHED}
    _, before = cache.seen[0]  # where the case was among others, or by itself the first time
    return kinds <= unsteady and bool({*kinds, before.whole.kind} & unsteady)


def _changing_input_set(rounds: Sequence[Results]) -> int | None:
    """Return the first input set whose results change from run to run, or None."""
    for turn, first in enumerate(rounds[0]):
        for other in rounds[1:]:
            if len(first) != len(other[turn]):
                return turn
            pairs = list(zip(first, other[turn], strict=True))
            if any(a.dtype != b.dtype or a.shape != b.shape for a, b in pairs):
                return turn
            if any(a.tobytes() != b.tobytes() for a, b in pairs):
                return turn
    return None

"""Failing cases are run again: whether they fail in isolation, and every time.

What fails every time has the verdict and the class of how it fails. What does not is `not
deterministic`, with how often it failed. What fails in a batch alone, every time, is `only in
batch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from conformance.backends.base import BackendError, Unsupported, failure_of
from conformance.campaign.batch import Bench, Prepared, Ran, Results
from conformance.campaign.records import (
    judge_all,
    judged,
    not_deterministic,
    refused,
    worst_of,
)
from conformance.catalog import Cell
from conformance.gate.classes import ANY_BITS, NOT_DETERMINISTIC
from conformance.gate.unpredictable import UNPREDICTABLE
from conformance.judging.compare import Judgement
from conformance.known.in_force import unpredictable_classes
from conformance.verdict import Errors, Record, Repeats, Verdict
from reference.ops.structure import is_constant

Finding = tuple[Verdict, str]
"""A verdict and its class."""

Outcome = Results | BackendError
"""What a run of a case gave: the results of each input set, or the backend's error."""


def conclude(cell: Cell, prepared: Prepared, ran: Ran, bench: Bench) -> tuple[Record, Errors]:
    """The verdict on a case; a failure within a batch counts only once it is confirmed alone.

    Flushed elements need no confirming: the hypothesis has been evaluated on each.
    """
    if isinstance(ran.outcome, BackendError):
        return _concluded_of_error(cell, prepared, ran.outcome, bench)
    judgements = judge_all(prepared, ran.outcome, bench)
    verdict = worst_of(judgements).verdict
    if not verdict.fails or verdict is Verdict.FLUSHED or bench.rule.varies:
        return judged(cell, prepared, judgements)  # what varies need not show again
    told = _Told(prepared, bench, [(ran.outcome, judgements)])
    try:
        rounds = _rounds(told, verdict)
    except BackendError:
        return _concluded_of_errors(cell, told, ran.outcome)
    turn = _changing(rounds)
    if turn is not None and not _explained(told, rounds):
        return _varying(cell, told, [ran.outcome, *rounds], turn)
    failing = told.failing(rounds)
    if failing:  # max has the first of the severest
        worst = max(failing, key=lambda one: worst_of(one).verdict.severity)
        return judged(cell, prepared, worst)
    if _explained(told, [ran.outcome]):
        return judged(cell, prepared, judgements)
    return _concluded_of_batch(cell, told, ran, rounds)


def _concluded_of_error(
    cell: Cell, prepared: Prepared, error: BackendError, bench: Bench
) -> tuple[Record, Errors]:
    """The verdict on a case in isolation that the backend answered with an error."""
    if isinstance(error, Unsupported):
        return refused(cell, prepared, error)
    return _concluded_of_errors(cell, _Told(prepared, bench, []), error)


def _concluded_of_errors(cell: Cell, told: _Told, first: Outcome) -> tuple[Record, Errors]:
    """The verdict on a case that the backend answers with an error now or later.

    Of a case that fails every time, an error of the backend is shown.
    """
    again = told.bench.attempts(told.prepared, told.bench.repeats)
    outcomes: list[Outcome] = [first, *again]
    repeats = repeats_of([told.finding(one) for one in outcomes])
    errors = (one for one in outcomes if isinstance(one, BackendError))
    shown = next((one for one in errors if not isinstance(one, Unsupported)), None)
    if shown is None:  # wrong in a batch, right or unsupported in isolation
        results = [one for one in outcomes if not isinstance(one, BackendError)]
        if _explained(told, results):  # whether it is unsupported depends on the same memory
            return judged(cell, told.prepared, told.of(results[0]))
        return not_deterministic(cell, told.prepared, Verdict.DIVERGENT, repeats), Errors()
    if repeats.failed == repeats.runs:
        return refused(cell, told.prepared, shown)
    verdict, _ = failure_of(shown)
    return not_deterministic(cell, told.prepared, verdict, repeats, str(shown)), Errors()


def _varying(
    cell: Cell, told: _Told, outcomes: Sequence[Results], turn: int
) -> tuple[Record, Errors]:
    """The verdict on a case whose results on input set `turn` change from run to run.

    Counted are the runs in which that set failed: of several sets, one or another may fail always.
    """
    of_turn = repeats_of([told.finding(one, turn) for one in outcomes])
    repeats = of_turn if of_turn.failed else repeats_of([told.finding(one) for one in outcomes])
    record = not_deterministic(cell, told.prepared, Verdict.DIVERGENT, repeats, turn=turn)
    return record, Errors()


def _concluded_of_batch(
    cell: Cell, told: _Told, ran: Ran, rounds: Sequence[Results]
) -> tuple[Record, Errors]:
    """The verdict on a case that is wrong in a batch and right in isolation, every time."""
    judgements = told.of(ran.outcome) if not isinstance(ran.outcome, BackendError) else []
    if len(ran.together) == 1:  # there was no batch
        outcomes: list[Outcome] = [ran.outcome, *rounds]
    else:
        outcomes = [ran.outcome, *told.bench.batch_again(ran.together, told.prepared)]
    repeats = repeats_of([told.finding(one) for one in outcomes])
    if repeats.failed == repeats.runs:
        return judged(cell, told.prepared, judgements, ran.together)
    return not_deterministic(cell, told.prepared, Verdict.DIVERGENT, repeats), Errors()


def conclude_miss(attempt: Callable[[], Record], repeats: int) -> Record:
    """Return the record of a near miss, which is compiled again where that went wrong.

    `attempt` compiles it, and returns the record of how that ended.
    """
    first = attempt()
    if not first.verdict.fails:
        return first
    records = [first, *(attempt() for _ in range(repeats))]
    found = repeats_of([(one.verdict, one.kind) for one in records])
    if found.failed == found.runs:
        return first
    message = f"in {found.failed} of {found.runs} runs: {first.message}"
    return replace(first, kind=NOT_DETERMINISTIC, message=message, repeats=found)


def repeats_of(findings: Sequence[Finding]) -> Repeats:
    """Return how many of these runs failed, and with which classes."""
    failing = [(verdict, kind) for verdict, kind in findings if verdict.fails]
    return Repeats(len(failing), len(findings), tuple(dict.fromkeys(kind for _, kind in failing)))


@dataclass(frozen=True, slots=True)
class _Told:
    """The judgements of a case, each worked out once: its results are mostly the same each time."""

    prepared: Prepared
    bench: Bench
    seen: list[tuple[Results, list[Judgement]]]

    def of(self, results: Results) -> list[Judgement]:
        """A judgement for each input set."""
        for before, judgements in self.seen:
            if _changing([before, results]) is None:
                return judgements
        self.seen.append((results, judge_all(self.prepared, results, self.bench)))
        return self.seen[-1][1]

    def failing(self, rounds: Sequence[Results]) -> list[list[Judgement]]:
        """The judgements of the rounds that fail."""
        return [one for one in map(self.of, rounds) if worst_of(one).verdict.fails]

    def finding(self, outcome: Outcome, turn: int | None = None) -> Finding:
        """Return the verdict and the class of what a run gave, of one input set or the worst."""
        if isinstance(outcome, Unsupported):
            return Verdict.UNSUPPORTED, ""
        if isinstance(outcome, BackendError):
            return failure_of(outcome)
        judgements = self.of(outcome)
        shown = worst_of(judgements) if turn is None else judgements[turn]
        return shown.verdict, shown.kind


def _rounds(told: _Told, verdict: Verdict) -> list[Results]:
    """The results of a failing case alone, time after time.

    A divergent program with constants is compiled anew, unless a class says how it came about: a
    compiler that folds them wrongly may read memory which is not theirs, and keep what it finds for
    every execution. What it finds may be anything, and so what is expected, too.
    """
    rounds = told.bench.run_alone(told.prepared)
    if verdict is not Verdict.DIVERGENT or not any(map(is_constant, told.prepared.program.walk())):
        return rounds
    kind = worst_of(told.of(rounds[0])).kind
    if kind and kind not in ANY_BITS and kind not in UNPREDICTABLE:
        return rounds
    again = range(1, told.bench.repeats)
    return [*rounds, *(one for _ in again for one in told.bench.run_alone(told.prepared))]


def _explained(told: _Told, rounds: Sequence[Results]) -> bool:
    """Whether a class says why results change, whenever they are wrong: some may be right by
    chance, or but for what is flushed."""
    unsteady = UNPREDICTABLE | unpredictable_classes()
    worst = [worst_of(one) for one in told.failing(rounds)]
    kinds = [one.kind for one in worst if one.verdict is not Verdict.FLUSHED]
    _, before = told.seen[0]  # where the case was among others, or by itself the first time
    return {*kinds} <= unsteady and bool({*kinds, worst_of(before).kind} & unsteady)


def _changing(rounds: Sequence[Results]) -> int | None:
    """The first input set whose results are not the same bits every time, None when all are."""
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

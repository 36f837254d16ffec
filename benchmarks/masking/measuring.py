"""Corrupted results of one module, judged as `run` judges a backend's results.

A case is compiled and run once. For each change its results, also in repetitions that confirm a
failure, are corrupted in the same elements and judged again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache

import numpy as np

from benchmarks.masking.changes import CHANGES
from benchmarks.masking.endings import ENDINGS, records_of_ending
from conformance.backends.base import BackendError
from conformance.backends.session import Session, open_session
from conformance.campaign.tasks import Task, cases_of
from conformance.gate.baselines.baseline import outcome_of
from conformance.gate.baselines.comparison import REGRESSIONS, kind_by_values
from conformance.gate.expectations import Expectation, hypotheses_of, match_record
from conformance.gate.reading import load
from conformance.known.in_force import in_force
from conformance.pipeline.batch import Batcher, run_all
from conformance.pipeline.confirmation import JudgementCache, conclude
from conformance.pipeline.items import CellItem, Inputs, Item, ItemAnswer, Results
from conformance.results.versions import versions
from conformance.verdict import Record, Verdict
from generators.case.columns import Invalid
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.types import (
    Array,
    ElementType,
    bits_dtype,
    element_type_of,
    from_bits,
    to_bits,
)


class End(StrEnum):
    """The outcome of a corrupted result in a run."""

    NEW = "new"
    KNOWN = "known"
    VARYING = "varying"
    """Known by an entry about values that vary, which a recording does not have."""
    UNSPECIFIED = "unspecified"
    UNSUPPORTED = "unsupported"
    PASS = "pass"
    ERROR = "error"
    """Judging the corrupted result raises an exception, which a run reports without failing."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The results to corrupt, and the expectations, as `load` takes them.

    With `recorded`, results are compared with a recording of the same backend.
    """

    changes: tuple[str, ...] = (*CHANGES, *ENDINGS)
    seed: int = 0
    expectations: str | None = None
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class CorruptionOutcome:
    """The outcome of one corrupted result.

    `before` is the id of the entry that matched the original case, "" for none. `entry` is the id
    of the entry that matches it now, `kind` the class of the failure and `id` the argument of
    `replay`.
    """

    op: str
    element_type: str
    id: str
    change: str
    before: str
    end: End
    entry: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class MaskingCounts:
    """Outcomes, and the numbers of cases with results, without results, and with new failures of
    their own."""

    outcomes: list[CorruptionOutcome] = field(default_factory=list[CorruptionOutcome])
    with_results: list[str] = field(default_factory=list[str])
    without_results: list[str] = field(default_factory=list[str])
    new_before: list[str] = field(default_factory=list[str])

    def add(self, other: MaskingCounts) -> None:
        """Add the outcomes and counts of other cases."""
        self.outcomes.extend(other.outcomes)
        self.with_results.extend(other.with_results)
        self.without_results.extend(other.without_results)
        self.new_before.extend(other.new_before)


@dataclass(frozen=True, slots=True)
class Corruption:
    """Other bits for some elements of one result of one input set."""

    turn: int
    number: int
    positions: Array
    values: Array

    def fits(self, results: Results) -> bool:
        """Return whether results have all these elements; a wrong shape may lack some."""
        return bool((self.positions < results[self.turn][self.number].size).all())

    def put(self, results: Results) -> Results:
        """Return the results with these elements corrupted."""
        copied = [[*arrays] for arrays in results]
        old = copied[self.turn][self.number]
        new = old.reshape(-1).copy()
        new[self.positions] = _cast_bits(self.values, element_type_of(old))
        copied[self.turn][self.number] = new.reshape(old.shape)
        return copied


def _cast_bits(values: Array, element_type: ElementType) -> Array:
    """Return values in another type with the same bits, if it has as many, or else the numbers."""
    if values.dtype == element_type.storage:
        return values
    bits = to_bits(values)
    is_same = bits.dtype == bits_dtype(element_type) and not element_type.is_complex
    return from_bits(bits, element_type) if is_same else values.astype(element_type.storage)


@dataclass(frozen=True, slots=True)
class Repetitions:
    """The results of a case that is compiled in isolation, one set for each call."""

    batcher: Batcher
    prepared: Item
    seen: list[list[Results] | BackendError] = field(
        default_factory=list["list[Results] | BackendError"]
    )

    def each(self) -> Iterator[list[Results]]:
        """Yield the results of each call in turn: the first call's, the second's and so on.

        Every caller gets the same results.

        Raises:
            BackendError: when the backend gave no results.
        """
        number = 0
        while True:
            if number == len(self.seen):
                try:
                    self.seen.append(self.batcher.run_in_isolation(self.prepared))
                except BackendError as error:
                    self.seen.append(error)
            rounds = self.seen[number]
            if isinstance(rounds, BackendError):
                raise rounds
            yield rounds
            number += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CorruptedBatcher(Batcher):
    """A batcher that gives corrupted results of a case in isolation."""

    rounds: Iterator[list[Results]]
    corruption: Corruption | None

    def run_in_isolation(self, item: Item) -> list[Results]:  # noqa: ARG002 - the only case
        results = next(self.rounds)
        return results if self.corruption is None else [*map(self.corruption.put, results)]


def measure_endings(tasks: Sequence[Task], settings: Settings) -> MaskingCounts:
    """Judge these single-case tasks as if the backend had refused them or crashed.

    Programs that the backend is known not to implement are left out.

    Raises:
        NotAvailable: when the backend is not available.
    """
    session = open_session(tasks[0].cell.backend)
    expectations = expectations_of(settings.expectations, session.name)
    endings = [name for name in settings.changes if name in ENDINGS]
    implemented = [task for task in tasks if _may_implement(session, task)]
    return MaskingCounts(
        [
            _outcome(task, record, name, "", expectations)
            for task in implemented
            for name in endings
            for record in records_of_ending(name, task)
        ]
    )


def _may_implement(session: Session, task: Task) -> bool:
    """Return whether the backend may accept the task's only case; True for near misses."""
    if isinstance(task.cell.element_type, Invalid):
        return True
    return all(session.refusal(case.program) is None for case in cases_of(task))


def measure_results(tasks: Sequence[Task], settings: Settings) -> MaskingCounts:
    """Corrupt the results of these tasks, of one case each, and judge them.

    Raises:
        NotAvailable: when the backend is not available.
    """
    session = open_session(tasks[0].cell.backend)
    expectations = expectations_of(settings.expectations, session.name)
    batcher = Batcher(session)
    groups = [[_prepare(task, session)] for task in tasks]
    found = MaskingCounts()
    for task, group, went in zip(tasks, groups, run_all(batcher, groups)[0], strict=True):
        with in_force(hypotheses_of(expectations, session.name)):
            _Judging(task, group[0], went[0], batcher, expectations).measure(settings, found)
    return found


@cache
def expectations_of(given: str | None, backend: str) -> tuple[Expectation, ...]:
    """Return the expectations that a run with `--expectations GIVEN` loads for a backend."""
    return load(given, [backend], versions())


def _prepare(task: Task, session: Session) -> CellItem:
    """Generate a task's only case and evaluate it, unless the backend is sure to refuse it."""
    (case,) = cases_of(task)
    sets = [materialise(case.program, recipe) for recipe in case.inputs]
    refuses = session.refusal(case.program) is not None
    expected: list[Inputs] = [] if refuses else [evaluate(case.program, one) for one in sets]
    return CellItem(task.start, case.program, sets, expected, task.cell)


def _outcome(
    task: Task, record: Record, change: str, before: str, expectations: Sequence[Expectation]
) -> CorruptionOutcome:
    record = match_record(record, expectations)
    entry = record.known
    end = _end(record.verdict, entry)
    return _named_outcome(task, record.id, change, before, end, entry, record.kind, record.message)


def _named_outcome(
    task: Task,
    name: str,
    change: str,
    before: str,
    end: End,
    entry: str = "",
    kind: str = "",
    message: str = "",
) -> CorruptionOutcome:
    of = task.cell.element_type.name
    return CorruptionOutcome(
        task.cell.op, of, name, change, before, end, entry, kind, message[:200]
    )


def _end(verdict: Verdict, entry: str) -> End:
    if verdict.fails:
        return End.KNOWN if entry else End.NEW
    return End(verdict.value)


@dataclass(frozen=True, slots=True)
class _Judging:
    """An executed case, with everything that is needed to judge its results."""

    task: Task
    prepared: CellItem
    ran: ItemAnswer
    batcher: Batcher
    expectations: Sequence[Expectation]

    def measure(self, settings: Settings, found: MaskingCounts) -> None:
        """Judge the case as it is, then with each change of its results; add the outcomes to
        `found`.

        A case without results, or with a new failure, is not measured.
        """
        outcome = self.ran.answer
        repetitions = Repetitions(self.batcher, self.prepared)
        try:
            record = self._record(outcome, repetitions, None)
        except Exception as error:
            name = f"{self.task.id}: {type(error).__name__}: {error}"
            found.new_before.append(f"{name}, when it is judged")
            return
        record = match_record(record, self.expectations)
        before = record.known
        if isinstance(outcome, BackendError):
            found.without_results.append(f"{record.id}: {record.message[:200]}")
            return
        if record.verdict.fails and not before and not settings.recorded:
            found.new_before.append(f"{record.id}: {record.message[:200]}")
            return
        found.with_results.append(record.id)
        for change in settings.changes:
            if change not in CHANGES:
                continue
            corruption = corrupt_results(change, outcome, self.prepared, settings.seed)
            if corruption is None:
                continue
            try:
                after = self._record(corruption.put(outcome), repetitions, corruption)
            except Exception as error:
                told = f"{type(error).__name__}: {error}"
                found.outcomes.append(
                    _named_outcome(self.task, record.id, change, before, End.ERROR, message=told)
                )
                continue
            found.outcomes.append(
                self._outcome_of_record(
                    after, change, before, corruption, record if settings.recorded else None
                )
            )

    def _outcome_of_record(
        self,
        after: Record,
        change: str,
        before: str,
        corruption: Corruption,
        recorded: Record | None,
    ) -> CorruptionOutcome:
        """Return the outcome of a record; a permitted or unspecified value hides nothing.

        In a case with a known divergence, the value is judged again among right results. `recorded`
        is the record of the original case, if there is a recording.
        """
        outcome = _outcome(self.task, after, change, before, self.expectations)
        if recorded is not None and outcome.end is End.KNOWN:
            end = self._end_by_recording(recorded, match_record(after, self.expectations))
            outcome = replace(outcome, end=end, entry="" if end is End.NEW else outcome.entry)
        if outcome.end is not End.KNOWN or not (before or recorded):
            return outcome
        right = [[*arrays] for arrays in self.prepared.expected]
        if not corruption.fits(right):
            return outcome
        corrupted = corruption.put(right)
        verdict = JudgementCache(self.prepared, self.batcher).of(corrupted).whole.verdict
        return outcome if verdict.fails else replace(outcome, end=End(verdict.value), entry="")

    def _end_by_recording(self, before: Record, after: Record) -> End:
        """Return the outcome of a known failure on the backend of a recording of the case."""
        flaky = {expectation.id for expectation in self.expectations if expectation.flaky}
        varying = flaky | {
            expectation.id for expectation in self.expectations if expectation.unpredictable
        }
        then, now = (outcome_of(one, flaky, varying) for one in (before, after))
        if then.has_same_values(now):
            return End.PASS  # the changed elements are permitted, or NaN as before
        if kind_by_values(then, now, after, True, is_same_backend=True) in REGRESSIONS:
            return End.NEW
        is_steady = now.wrong_digest and (then.wrong_digest or not then.verdict.fails)
        return End.KNOWN if is_steady else End.VARYING

    def _record(
        self,
        outcome: Results | BackendError,
        repetitions: Repetitions,
        corruption: Corruption | None,
    ) -> Record:
        batcher = CorruptedBatcher(
            self.batcher.session,
            self.batcher.watch,
            rounds=repetitions.each(),
            corruption=corruption,
        )
        ran = ItemAnswer(outcome, self.ran.batch)
        return conclude(self.prepared, ran, batcher)[0]


def corrupt_results(change: str, results: Results, prepared: Item, seed: int) -> Corruption | None:
    """Return a corruption drawn by seed and case; None if no result can be corrupted."""
    text = f"{seed} {prepared.program.digest} {prepared.index} {change}"
    random = np.random.default_rng(list(hashlib.sha256(text.encode()).digest()))
    every = [(turn, number) for turn, arrays in enumerate(results) for number in range(len(arrays))]
    for turn, number in (every[at] for at in random.permutation(len(every))):
        actual, expected = results[turn][number], prepared.expected[turn][number]
        if actual.dtype != expected.dtype or actual.shape != expected.shape:
            expected = actual  # no element equals one of the reference's more than others
        if not actual.size:
            continue
        corruption = _difference(turn, number, actual, CHANGES[change](actual, expected, random))
        if corruption is not None:
            return corruption
    return None


def _difference(turn: int, number: int, actual: Array, changed: Array | None) -> Corruption | None:
    """Return the elements that a change alters, or None without a change."""
    if changed is None:
        return None
    different = (to_bits(changed) != to_bits(actual)).reshape(actual.size, -1).any(axis=1)
    positions = np.flatnonzero(different)
    return Corruption(turn, number, positions, changed.reshape(-1)[positions])

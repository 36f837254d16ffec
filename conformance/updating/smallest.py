"""The smallest counterexample of an entry: selected among its programs, minimised, and replayed."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import structs

from conformance.backends.base import ends_process
from conformance.backends.registry import Choice
from conformance.checking.counterexamples import replay_counterexamples
from conformance.executors.deferred import Deferred
from conformance.executors.executor import Executor
from conformance.executors.local import Call
from conformance.fuzzing.crashes import CrashHandler, CrashMinimisation, worker_seconds
from conformance.fuzzing.trial import FailingProgram, Trial
from conformance.gate.classes import ONLY_IN_BATCH
from conformance.gate.expectations import Counterexample, Expectation
from conformance.limits import LIMITS
from conformance.pipeline.items import Inputs
from conformance.pipeline.outcome import Outcome, known_loss
from conformance.updating.groups import FailureGroup, NewFailure
from conformance.verdict import Verdict
from reference.ir.program import Program

RECORDED_FAILURE = Deferred("conformance.updating.programs", "recorded_failure")
MINIMISE_RECORDED = Deferred("conformance.updating.programs", "minimise_recorded")
AS_COUNTEREXAMPLE = Deferred("conformance.updating.programs", "as_counterexample")
UNMINIMISED_COUNTEREXAMPLE = Deferred("conformance.updating.programs", "unminimised_counterexample")

_TRIED = 3
"""Largest number of a group's programs that are tried as counterexamples, the smallest first."""

_LONGEST = 20_000
"""Largest number of characters of a readable counterexample."""


@dataclass(frozen=True, slots=True)
class Search:
    """The settings of a search for counterexamples."""

    executor: Executor
    choice: Choice
    entries: tuple[Expectation, ...]
    seconds: float

    def trial(self, entries: tuple[Expectation, ...]) -> Trial:
        """Return the trial whose settings judge the programs."""
        return Trial(self.choice.spelling, 0, 0, 1, frozenset(), entries, self.seconds)


def counterexample(
    search: Search, group: FailureGroup, entry: Expectation
) -> Counterexample | None:
    """Return a small program that only this entry matches on the backend, if there is one."""
    if group.kind == ONLY_IN_BATCH:
        return None
    for failure in sorted(group.failures, key=lambda one: one.size)[:_TRIED]:
        for make in (_find_minimised, _find_unminimised):
            made = make(search, failure, entry)
            if made is not None and _is_shown_by(search, entry, made):
                return made
    return None


def _find_minimised(
    search: Search, failure: NewFailure, entry: Expectation
) -> Counterexample | None:
    if failure.failing.verdict is Verdict.ACCEPTED or failure.record.detail is None:
        return None
    executor, seconds = search.executor, search.seconds
    given = (failure.record.detail.program, failure.failing.inputs)
    if not ends_process(failure.failing.verdict, failure.failing.kind):
        asked = (search.trial(search.entries), given, entry.id, seconds)
        answer = executor.one(Call("", MINIMISE_RECORDED, asked, 2 * seconds + LIMITS.timeout))
        return answer if isinstance(answer, Counterexample) else None
    said = Outcome(failure.failing.verdict, failure.failing.kind, failure.failing.message)
    failing = executor.one(Call("", RECORDED_FAILURE, (given, said), LIMITS.timeout))
    if not isinstance(failing, FailingProgram) or failing.program.process_count > 1:
        return None
    small = _minimise_crash(executor, search.trial((entry,)), failing, search.choice.name, seconds)
    if small is None:
        return None
    answer = executor.one(Call("", AS_COUNTEREXAMPLE, small, LIMITS.timeout))
    return answer if isinstance(answer, Counterexample) else None


def _minimise_crash(
    executor: Executor, trial: Trial, failing: FailingProgram, backend: str, seconds: float
) -> tuple[Program, Inputs] | None:
    """Return the smallest program found that crashes in the same way and that the trial's entry
    matches; None if the crash does not repeat.
    """
    losses, small = CrashHandler(executor, seconds), CrashMinimisation(failing, 4 * seconds)
    while (tried := small.next()) is not None:
        if known_loss(tried[0], trial.expectations, backend, failing.outcome).known:
            value = executor.one(losses.call("", trial, *tried))
            small.answer(losses.crash_message(failing, value), worker_seconds(value))
        else:
            small.answer(None, 0.0)
    return (small.program, small.inputs) if small.fails_again else None


def _find_unminimised(
    search: Search, failure: NewFailure, entry: Expectation
) -> Counterexample | None:
    del entry
    if failure.record.detail is None:
        return None
    given = (failure.record.detail.program, failure.failing.inputs)
    answer = search.executor.one(Call("", UNMINIMISED_COUNTEREXAMPLE, given, LIMITS.timeout))
    return answer if isinstance(answer, Counterexample) else None


def _is_shown_by(search: Search, entry: Expectation, one: Counterexample) -> bool:
    """Return whether the entry matches the outcome of a program, as `expectations check` does."""
    if len(one.program) + sum(map(len, one.inputs)) > _LONGEST:
        return False
    whole = structs.replace(entry, counterexample=one)
    seen = replay_counterexamples(search.executor, [whole], search.choice.spelling)
    return any(found is not None and found.reproduces for found in seen)

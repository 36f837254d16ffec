"""Conversion of failures to findings: minimisation, grouping by cause, storage and explanation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from conformance.executors.executor import Executor
from conformance.executors.local import Call, CallEnd
from conformance.fuzzing.attribution.isolation import explain_in_isolation
from conformance.fuzzing.backlog import SHARE, Backlog, UnexplainedFinding, WaitingFailure
from conformance.fuzzing.calls import (
    EXPLAIN_FINDING,
    MINIMISE_FAILURE,
    UNMINIMISED_FINDING,
    TimedResult,
    measure_call,
)
from conformance.fuzzing.crashes import CrashHandler, CrashMinimisation, worker_seconds
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.grouping import (
    attributions_agree,
    has_global_cause,
    key_of,
    may_share_cause,
)
from conformance.fuzzing.keeping.journal import Journal, StoredFinding
from conformance.fuzzing.keeping.keeping import FindingWriter, cause_in, matched_failure
from conformance.fuzzing.places import Places
from conformance.fuzzing.trial import FailingProgram, Trial
from conformance.limits import Limits
from conformance.verdict import Verdict

LEAST_SECONDS = 4.0
"""Seconds that work on a failure may always take, even if the budget is spent."""

FLUSHED_WEIGHT = 4
"""Weight of a finding of flushed subnormals in the order of minimisation: one reason may affect all
ops.
"""

OVERRUN_SHARE = 0.1
"""Share of a budget by which work on failures may exceed it."""

RESERVED_SHARE = 0.2
"""Largest share of a budget that is reserved for waiting failures at its end."""

NOT_REPRODUCED = "not again"
"""The outcome of failures that are no findings: a timeout in the first run, an answer in the
second.
"""


@dataclass(frozen=True, slots=True)
class MinimisationCall:
    """The name of a call that minimises a failure; with `again` the failure is not minimised,
    because that failed.
    """

    place: str
    failure: FailingProgram
    again: bool = False


@dataclass(frozen=True, slots=True)
class CrashTrialCall:
    """The name of a call that runs a candidate of a crashing program."""

    place: str
    small: CrashMinimisation


@dataclass(frozen=True, slots=True)
class ExplanationCall:
    """The name of a call that looks for the cause of a finding."""

    unexplained: UnexplainedFinding


class FailureQueue:
    """The failing programs of a campaign that are not findings yet."""

    def __init__(
        self,
        journal: Journal,
        executor: Executor,
        losses: CrashHandler,
        backend: str,
        trial_of: Callable[[int], Trial],
        keep: FindingWriter,
        left: Callable[[], float],
    ) -> None:
        """Start without failures.

        `trial_of` returns the trial of a program by its number, `keep` writes findings, and `left`
        returns the seconds of the budget that are left.
        """
        self._journal, self._executor, self._losses = journal, executor, losses
        self._backend, self._trial_of, self._keep, self._left = backend, trial_of, keep, left
        self._places = Places(journal.place_counts(), journal.minimised_failures())
        self._backlog = Backlog(self._places)
        self._alone: list[UnexplainedFinding] = []
        self._undecided: list[UnexplainedFinding] = []
        self._unexplained: set[str] = set()
        for number, finding in journal.findings_without_attribution():
            self._wait_for_cause(UnexplainedFinding(number, finding))
        self._begun = left()

    def add_failure(self, place: str, failure: FailingProgram) -> None:
        """Count a new failure, and schedule it."""
        if not failure.outcome.known:
            self._places.count_failure(place)
        self.schedule(place, failure)

    def schedule(self, place: str, failure: FailingProgram) -> None:
        """Schedule a failure for minimisation, unless it is counted for an existing finding."""
        culprit = failure.outcome.culprit
        if failure.outcome.known:
            self._journal.add_finding(failure.number, matched_failure(failure))
        elif self._places.is_settled(place, culprit):
            self._count_for_finding(place, culprit, failure.number)
        else:
            verdict = failure.outcome.verdict
            weight = FLUSHED_WEIGHT if verdict is Verdict.FLUSHED else 1
            group = (verdict, failure.outcome.kind)
            self._backlog.add(WaitingFailure(failure.number, place, group, weight, culprit))

    def _count_for_finding(self, place: str, culprit: str, number: int) -> None:
        """Assign a failure that is not minimised to the finding that probably has its cause."""
        self._journal.settle(number, self._places.finding_of(place, culprit))

    # --- While programs are tried ----------------------------------------------------------------

    def calls(self, elapsed: float) -> Iterator[Call]:
        """Yield the calls that may be made for failures now, `elapsed` seconds after the start."""
        while len(self._backlog) and self._backlog.seconds <= SHARE * elapsed * self._executor.jobs:
            if (call := self._next()) is None:
                return
            yield call

    @property
    def reserved_seconds(self) -> float:
        """Seconds of the budget that are reserved for waiting failures."""
        return self._backlog.urgent_count * self._backlog.usual_seconds / self._executor.jobs

    def _next(self) -> Call | None:
        """Return the next call for a failure."""
        while (waiting := self._backlog.next()) is not None:
            if isinstance(waiting, UnexplainedFinding):
                return self._explain(waiting)
            place, culprit = waiting.place, waiting.culprit
            if self._places.is_settled(place, culprit):
                self._count_for_finding(place, culprit, waiting.number)
                continue
            self._places.count_begun(place, culprit)
            return self._reduce(place, self._journal.failure(waiting.number))
        return None

    def _reduce(self, place: str, failure: FailingProgram, *, again: bool = False) -> Call:
        trial = self._trial_of(failure.number)
        if self._losses.is_crash(failure):
            trying = CrashTrialCall(place, CrashMinimisation(failure))
            return self._losses.call(trying, trial, failure.program, failure.inputs)
        name = MinimisationCall(place, failure, again)
        if again:
            return Call(
                name, measure_call, (UNMINIMISED_FINDING, trial, failure), 3 * Limits.MINIMISING
            )
        seconds = self._time_limit(Limits.MINIMISING)
        return Call(
            name,
            measure_call,
            (MINIMISE_FAILURE, trial, failure, seconds),
            seconds + Limits.TRANSFER,
        )

    def _explain(self, one: UnexplainedFinding) -> Call:
        trial, seconds = self._trial_of(one.number), self._time_limit(Limits.EXPLAINING)
        return Call(
            ExplanationCall(one),
            measure_call,
            (EXPLAIN_FINDING, trial, one.finding, seconds),
            seconds + Limits.TRANSFER,
        )

    def _time_limit(self, most: float) -> float:
        """Return the time limit of work on a failure, which shrinks as the budget ends."""
        return max(min(most, self._left()), LEAST_SECONDS)

    def store_result(self, ended: CallEnd) -> None:
        """Store the result of a call that `calls` yielded."""
        name, value = ended.call.name, ended.value
        if isinstance(name, CrashTrialCall):
            self._continue_crash(name, value)
            return
        self._backlog.count_finished(worker_seconds(value, LEAST_SECONDS))
        if isinstance(value, TimedResult):  # else the worker was lost
            value = value.value
        if isinstance(name, MinimisationCall):
            self._store_minimised(name, value)
        elif isinstance(value, Finding):
            self._store_cause(name.unexplained, value)
        else:
            self._alone.append(name.unexplained)

    def _continue_crash(self, name: CrashTrialCall, value: object) -> None:
        """Continue minimising a program that crashes, or accept its current form."""
        small, failure, seconds = name.small, name.small.failure, worker_seconds(value)
        small.answer(self._losses.crash_message(failure, value), seconds)
        self._backlog.count_seconds(seconds)
        trial, tried = self._trial_of(failure.number), None if self._has_ended else small.next()
        if tried is not None:
            self._executor.push(self._losses.call(name, trial, *tried))
            return
        self._backlog.count_finished(0.0)
        finding = self._losses.smallest_finding(trial, small, self._backend)
        if finding is None:
            self._journal.settle(failure.number, NOT_REPRODUCED)
            self._keep.say(f"program {failure.number}: timed out, but not when run again")
            return
        one = self._store_finding(name.place, failure, finding)
        if one is not None:
            self._unexplained.add(one.finding.name)
            self._alone.append(one)

    def _store_minimised(self, name: MinimisationCall, value: object) -> None:
        if not isinstance(value, Finding):
            if not name.again:  # smaller programs may end the process: it is kept as it is
                self._executor.push(self._reduce(name.place, name.failure, again=True))
                return
            value = self._losses.unminimised_finding(name.failure, self._backend)
        one = self._store_finding(name.place, name.failure, value)
        if one is not None:
            self._wait_for_cause(one)

    # --- One finding for each cause ---------------------------------------------------------------

    def _wait_for_cause(self, one: UnexplainedFinding) -> None:
        if one.is_kept:
            self._unexplained.add(one.finding.name)
        self._backlog.add_unexplained(one)

    def _store_finding(
        self, place: str, failure: FailingProgram, finding: Finding
    ) -> UnexplainedFinding | None:
        """Store a finding, unless another finding may have its cause."""
        same = [] if finding.known else self._possible_duplicates(finding)
        one = UnexplainedFinding(failure.number, finding, place, failure.outcome.culprit, not same)
        for other in same:
            if finding.signature in other.signatures or has_global_cause(finding):
                self._join(one, other.name)
                return None
        if same:
            return one
        self._places.add(place, one.culprit, finding.name)
        return one if self._keep.write_finding(failure.number, finding) else None

    def _possible_duplicates(self, finding: Finding) -> list[StoredFinding]:
        """Return the findings that may have the cause of this finding, if attributions do not
        contradict.
        """
        key = key_of(finding)
        return [one for one in self._journal.findings(key) if may_share_cause(key, finding, one)]

    def _store_cause(self, one: UnexplainedFinding, finding: Finding) -> None:
        """Store the cause of a finding, then decide about the findings that wait for it."""
        if not one.is_kept:
            self._decide(replace(one, finding=finding))
            return
        self._keep.write_cause(finding)
        self._unexplained.discard(finding.name)
        waiting, self._undecided = self._undecided, []
        for other in waiting:
            self._decide(other)

    def _decide(self, one: UnexplainedFinding, *, finally_: bool = False) -> None:
        """Merge a finding into a finding with the same cause, or store it as new."""
        is_waiting = False
        for other in self._possible_duplicates(one.finding):
            if other.name in self._unexplained and not finally_:
                is_waiting = True
            elif attributions_agree(one.finding.cause, cause_in(other.told)):
                self._join(one, other.name)
                return
        if is_waiting:
            self._undecided.append(one)
            return
        new = self._keep.write_distinct(one.number, one.finding)
        self._places.add(one.place, one.culprit, new)

    def _join(self, one: UnexplainedFinding, name: str) -> None:
        """Assign a minimised failure to an existing finding."""
        self._keep.join(one.number, one.finding, name)
        self._places.add(one.place, one.culprit, name)

    # --- At the end ------------------------------------------------------------------------------

    def finish(self, tick: Callable[[], None]) -> int:
        """Finish pending work within the time; return the number of failures that still wait.

        Failures that wait at places with a finding are counted for it.
        """
        while self._has_work:
            for ended in self._executor.results(self._remaining_calls()):
                if ended is not None:
                    self.store_result(ended)
                tick()
        alone, self._alone = self._alone, []
        for one in sorted(alone, key=lambda one: not one.is_kept):
            if self._has_ended:
                self._alone.append(one)
                continue
            self._store_cause(one, self._explain_in_isolation(one))
            tick()
        self._count_waiting()
        self._join_unexplained()
        self._keep.regroup()
        return self._journal.open_count()

    def _count_waiting(self) -> None:
        """Assign each waiting failure to the finding of its place, if the place has a finding."""
        for place in self._backlog.places:
            if self._places.finding_of(place, ""):
                for waiting in self._backlog.pop_place(place):
                    self._count_for_finding(place, waiting.culprit, waiting.number)

    def _join_unexplained(self) -> None:
        """Assign unexplained failures to a finding with the same key."""
        while (one := self._backlog.next_cause()) is not None:
            self._alone.append(one)
        left = [one for one in (*self._undecided, *self._alone) if not one.is_kept]
        self._undecided = []
        for one in left:
            self._decide(one, finally_=True)

    @property
    def _has_ended(self) -> bool:
        return self._left() < -OVERRUN_SHARE * self._begun

    @property
    def _has_work(self) -> bool:
        """Return whether work is left; beyond the budget only pressing work counts."""
        waits = len(self._backlog) if self._left() > 0 else self._backlog.urgent_count
        return waits > 0 and not self._has_ended

    def _remaining_calls(self) -> Iterator[Call]:
        while self._has_work and (call := self._next()) is not None:
            yield call

    def _explain_in_isolation(self, one: UnexplainedFinding) -> Finding:
        """Return the finding with its cause; each question is asked in a worker of its own."""
        trial = self._trial_of(one.number)
        return explain_in_isolation(self._executor, trial, one.finding, self._losses.seconds)

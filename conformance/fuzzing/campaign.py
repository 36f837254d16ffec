"""A campaign: trials in workers until the budget is spent; failures are minimised and stored.

The parent keeps the journal and writes the findings' folders. It loads no backend.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from conformance.backends.base import Description
from conformance.backends.registry import Choice
from conformance.campaign.progress import Watcher
from conformance.executors.executor import Executor
from conformance.executors.local import Call, WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict
from conformance.fuzzing.calls import RUN_TRIAL
from conformance.fuzzing.crashes import CrashHandler, is_harness_timeout
from conformance.fuzzing.failures import RESERVED_SHARE, FailureQueue
from conformance.fuzzing.grouping import place_of
from conformance.fuzzing.keeping.journal import Journal
from conformance.fuzzing.keeping.keeping import FindingWriter
from conformance.fuzzing.singles import PER_TRIAL
from conformance.fuzzing.steering.coverage_counts import CampaignCoverage
from conformance.fuzzing.steering.steering import Steering
from conformance.fuzzing.trial import DEFECT, Trial, TrialResult
from conformance.gate.expectations import Expectation
from conformance.limits import LIMITS, Limits
from conformance.pipeline.splitting import BatchCall, run_in_parts
from conformance.verdict import Verdict
from generators.chains.seeds.fragment import Fragment


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign: its budget in seconds and in programs (0: no limit), and its options."""

    out: Path
    backend: Choice
    seconds: float
    programs: int = 0
    seed: int = 0
    ops: frozenset[str] = frozenset()
    corpus: Path | None = None
    limits: Limits = LIMITS
    command: str = ""

    @property
    def folder(self) -> Path:
        """The folder that contains the folders of findings."""
        return self.corpus or self.out / "findings"


class CampaignSession:
    """The session of one call of `fuzz`: trials, minimisation, storage."""

    def __init__(
        self,
        campaign: Campaign,
        expectations: Sequence[Expectation],
        journal: Journal,
        executor: Executor,
        watcher: Watcher,
        description: Description,
        seeds: Path | None = None,
        varied: Sequence[Fragment] = (),
    ) -> None:
        """Continue where the journal ends."""
        self._seeds = seeds
        self._campaign, self._expectations = campaign, tuple(expectations)
        self._journal, self._executor, self._watcher = journal, executor, watcher
        self._spent = float(journal.meta().get("seconds", 0.0))
        self._begun = monotonic()
        self._tally = FuzzTally(campaign.seconds, campaign.programs, self._spent)
        self._steering = Steering(
            journal.coverage_counts(), executor.jobs, PER_TRIAL, campaign.seed, varied
        )
        self._losses = CrashHandler(executor, campaign.limits.attempt)
        keeping = FindingWriter(
            journal, campaign.folder, description, campaign.command, watcher.say
        )
        self._failures = FailureQueue(
            journal, executor, self._losses, campaign.backend.name, self._trial_of, keeping,
            lambda: self.seconds_left,
        )  # fmt: skip

    @property
    def seconds_spent(self) -> float:
        """Seconds of the budget that are spent, in this session and earlier sessions."""
        return self._spent + monotonic() - self._begun

    @property
    def seconds_left(self) -> float:
        """Seconds of the budget that are left; negative after the budget is exceeded."""
        return self._campaign.seconds - self.seconds_spent if self._campaign.seconds else math.inf

    def work(self) -> None:
        """Try programs until the budget is spent, then finish the work on their failures."""
        self._count()
        self._watcher.start(self._tally)
        try:
            for place, failure in self._journal.open_failures():
                self._failures.schedule(place, failure)
            self._run_trials()
            if waiting := self._failures.finish(self._tick):
                self._watcher.say(
                    f"{waiting} failing programs were not examined: continue with a longer --budget"
                )
        finally:
            self._watcher.stop()
            self._journal.set_meta({"seconds": self.seconds_spent})

    def _tick(self) -> None:
        self._tally.seconds = self.seconds_spent
        self._watcher.update(self._tally)

    @property
    def _has_ended(self) -> bool:
        """Return whether no more trials begin, because pending failures need the rest of the
        budget.
        """
        return self.seconds_left <= min(
            self._failures.reserved_seconds, RESERVED_SHARE * self._campaign.seconds
        )

    # --- Trials ----------------------------------------------------------------------------------

    def _run_trials(self) -> None:
        """Run the remaining trials and work on their failures, until the budget is spent."""
        for ended in run_in_parts(self._executor, self._calls()):
            if ended is None:
                pass
            elif isinstance(ended.call.name, Trial):
                self._keep(ended.call.name, ended.value)
            else:
                self._failures.store_result(ended)
                self._count()
            self._tick()

    def _calls(self) -> Iterator[Call]:
        """Yield the calls of the remaining trials, and calls for failures between them."""
        done = self._journal.ended_trials()
        tried = {number for start, stop in done for number in range(start, stop)}
        programs, limits = self._campaign.programs or sys.maxsize, self._campaign.limits
        for start in range(0, programs, PER_TRIAL):
            if self._has_ended:
                return
            stop = min(start + PER_TRIAL, programs)
            left = sorted({*range(start, stop)} - tried)
            if len(left) == stop - start:
                parts, seconds = [(start, stop)], limits.timeout
            else:  # an earlier session did the others
                parts, seconds = [(number, number + 1) for number in left], limits.item
            for part in parts:
                trial = self._steering.steer(self._trial(*part))
                yield from self._failures.calls(self.seconds_spent - self._spent)
                yield self._call(trial, seconds)

    def _trial(self, start: int, stop: int) -> Trial:
        of = self._campaign
        spelling = of.backend.spelling
        rest = (of.ops, self._expectations, of.limits.evaluation, self._seeds)
        return Trial(spelling, of.seed, start, stop, *rest)

    def _call(self, trial: Trial, seconds: float) -> BatchCall:
        """Return the call of a trial.

        If its worker crashes or times out, each program gets a call of its own.
        """
        limit = self._campaign.limits.item
        return BatchCall(
            trial,
            RUN_TRIAL,
            (trial,),
            seconds,
            parts=lambda: [self._call(single, limit) for single in trial.singles()],
        )

    def _keep(self, trial: Trial, value: object) -> None:
        """Store how a trial ended, and schedule its failures."""
        if isinstance(value, (WorkerCrash, WorkerTimeout)):
            if is_harness_timeout(value):
                value = TrialResult({Verdict.NOT_JUDGED.value: 1}, (), CampaignCoverage(), 0, 0.0)
            else:
                value = self._losses.crash_result(trial, *crash_verdict(value))
        if not isinstance(value, TrialResult):
            self._watcher.say(
                f"programs {trial.start} to {trial.stop - 1}: {type(value).__name__}: {value}; "
                "a defect of hlo-conformance, please report it"
            )
            value = TrialResult({DEFECT: len(trial)}, (), CampaignCoverage(), 0, 0.0)
        places = {failure.number: place_of(failure) for failure in value.failures}
        met = self._journal.add(trial.start, trial.stop, value, places)
        self._tally.add(value, met)
        varied = [failure for failure in value.failures if self._losses.is_varied(failure)]
        failing = {places[failure.number]: failure.program for failure in varied}
        self._steering.add(trial.start, value, failing)
        self._journal.set_meta({"seconds": self.seconds_spent})
        for failure in value.failures:
            self._failures.add_failure(places[failure.number], failure)
        if value.failures:
            self._count()

    def _trial_of(self, number: int) -> Trial:
        return self._trial(number, number + 1)

    def _count(self) -> None:
        found = self._journal.findings()
        self._tally.counts = self._journal.counts()
        self._tally.pairs = self._journal.pair_count()
        self._tally.new = sum(not one.known for one in found)
        self._tally.known = sum(bool(one.known) for one in found)


@dataclass(slots=True)
class FuzzTally:
    """The progress of a campaign through its budget in seconds and programs (0: no limit).
    `seconds` are spent. `counts` has the number of programs by outcome, `pairs` the number of
    covered pairs of ops, `new` and `known` the numbers of findings.
    """

    budget: float
    programs: int
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter[str])
    pairs: int = 0
    new: int = 0
    known: int = 0
    here: int = 0
    modules: int = 0
    begun: float = field(default_factory=monotonic)

    def add(self, tried: TrialResult, met: int) -> None:
        """Count the outcomes of a trial, which covered `met` new pairs of ops."""
        self.counts.update(tried.counts)
        self.here += sum(tried.counts.values())
        self.modules += tried.modules
        self.pairs += met

    @property
    def done(self) -> float:
        """The amount that is done, of `total`."""
        if self.programs and not self.budget:
            return self.counts.total()
        return self.seconds

    @property
    def total(self) -> float:
        """The budget: in seconds, or in programs where it has none."""
        return self.budget or self.programs

    def line(self) -> str:
        """Return the tally in one line."""
        elapsed = max(monotonic() - self.begun, 1e-3)
        return (
            f"{self.counts.total()} programs, {self.here / elapsed:,.0f}/s, "
            f"{self.modules / elapsed:,.1f} modules/s, {self.pairs} pairs of ops, "
            f"{self.new} findings, {self.known} known"
        )

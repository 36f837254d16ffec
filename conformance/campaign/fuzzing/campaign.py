"""A campaign: trials in workers until the budget is spent, their hits minimised and kept.

The parent keeps the journal and writes the findings' folders. It loads no backend.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from conformance.backends.registry import Choice
from conformance.campaign.fuzzing.attribution.alone import explained_alone
from conformance.campaign.fuzzing.calls import as_it_is, explained, reduced, run_trial
from conformance.campaign.fuzzing.finding import Finding, working
from conformance.campaign.fuzzing.keeping import bundle
from conformance.campaign.fuzzing.keeping.journal import Journal, Kept
from conformance.campaign.fuzzing.lost import Losses, is_ours
from conformance.campaign.fuzzing.steering.meetings import Meetings
from conformance.campaign.fuzzing.steering.steering import Steering
from conformance.campaign.fuzzing.tally import FuzzTally
from conformance.campaign.fuzzing.trials import NOT_EVALUATED, Hit, Trial, Tried
from conformance.campaign.progress import Watcher
from conformance.errors import NotAvailable
from conformance.executors.local import Call, Died, Ended, LocalExecutor, TimedOut
from conformance.executors.lost import why
from conformance.gate.expectations import Expectation
from conformance.triage.minimise.shapes import elements_of

PER_TRIAL = 16
"""Programs of a trial, compiled as one module: with more, one costs hardly less."""

PER_PLACE = 3
"""Hits of one place that are minimised; more are counted, and taken for the same."""

REDUCING_SECONDS = 20.0
"""Seconds that minimising a hit may take."""

LEAST_SECONDS = 4.0
"""Seconds that it may take where the budget is nearly spent, or is."""

EXPLAINING_SECONDS = 20.0
"""Seconds that looking for the cause of a finding may take."""

NOT_AGAIN = "not again"
"""What hits come to that are no findings: no answer in time at first, and one when asked again."""

NEEDED = (
    "conformance.campaign.fuzzing.reducing",
    "conformance.campaign.fuzzing.attribution.asking",
)
"""What workers load once, before they are asked anything."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """What a campaign tries: budget in seconds and in programs (0: no limit), and with what.

    `timeout` is the seconds that a trial may take; a single program may take a third of it.
    """

    out: Path
    backend: Choice
    seconds: float
    programs: int = 0
    seed: int = 0
    ops: frozenset[str] = frozenset()
    corpus: Path | None = None
    timeout: float = 60.0
    command: str = ""

    @property
    def folder(self) -> Path:
        """Where the folders of findings are written."""
        return self.corpus or self.out / "findings"


@dataclass(frozen=True, slots=True)
class _Explaining:
    """The name of a call that looks for the cause of a finding, which a hit of a place came to."""

    place: str
    hit: Hit
    finding: Finding


class Sitting:
    """The work of one call of `fuzz`: what is tried, minimised and kept."""

    def __init__(
        self,
        campaign: Campaign,
        expectations: Sequence[Expectation],
        journal: Journal,
        executor: LocalExecutor,
        watcher: Watcher,
        versions: dict[str, str],
        seeds: str = "",
    ) -> None:
        """Go on where the journal ends; `seeds` is the file of pieces that programs are made of."""
        self._seeds = seeds
        self._campaign, self._expectations = campaign, tuple(expectations)
        self._journal, self._executor, self._watcher = journal, executor, watcher
        self._versions = versions
        self._spent = float(journal.meta().get("seconds", 0.0))
        self._begun = monotonic()
        self._tally = FuzzTally(campaign.seconds, campaign.programs, self._spent)
        self._places = journal.place_counts()
        self._reducing: Counter[str] = Counter()
        self._steering = Steering(journal.met(), executor.jobs, PER_TRIAL)
        self._losses = Losses(executor, campaign.timeout)
        self._lost: list[tuple[str, Hit]] = []
        self._unexplained: list[_Explaining] = []

    @property
    def spent(self) -> float:
        """Seconds of the budget that are spent, in this sitting and those before."""
        return self._spent + monotonic() - self._begun

    def work(self) -> None:
        """Try programs until the budget is spent; then minimise what ended its process.

        Causes that a worker was lost in looking for are looked for at the end, too.
        """
        self._count()
        self._watcher.start(self._tally)
        try:
            waiting = self._journal.open_hits()
            for place, hit in waiting:
                self._take_up(place, hit)
            for ended in self._executor.results(self._trials()):
                if ended is not None:
                    self._keep(ended)
                self._tally.seconds = self.spent
                self._watcher.update(self._tally)
            for one in self._unexplained:
                self._keep_finding(one.place, one.hit, self._explained_alone(one.hit, one.finding))
            for place, hit in self._lost:
                self._reduce_lost(place, hit)
        finally:
            self._watcher.stop()
            self._journal.set_meta({"seconds": self.spent})

    # --- Trials ----------------------------------------------------------------------------------

    def _trials(self) -> Iterator[Call]:
        """The trials that are left, as long as the budget lasts."""
        done = self._journal.tried()
        tried = {number for start, stop in done for number in range(start, stop)}
        start = 0
        while self.spent < self._campaign.seconds or not self._campaign.seconds:
            left = set(range(start, start + PER_TRIAL)) - tried
            stop = start + PER_TRIAL
            if self._campaign.programs and start >= self._campaign.programs:
                return
            if self._campaign.programs:
                stop = min(stop, self._campaign.programs)
            if len(left) == PER_TRIAL:
                yield self._call(self._steered(start, stop), self._campaign.timeout)
            else:  # what a sitting before began
                for number in sorted(left):
                    if number < stop:
                        one = self._steered(number, number + 1)
                        yield self._call(one, self._campaign.timeout / 3)
            start += PER_TRIAL

    def _trial(self, start: int, stop: int) -> Trial:
        of = self._campaign
        spelling = of.backend.spelling
        rest = (of.ops, self._expectations, of.timeout / 8, self._seeds)
        return Trial(spelling, of.seed, start, stop, *rest)

    def _steered(self, start: int, stop: int) -> Trial:
        """The trial, told what was met so that it meets something else."""
        return replace(self._trial(start, stop), met=self._steering.met(start))

    def _call(self, trial: Trial, seconds: float) -> Call:
        return Call(trial, run_trial, (trial,), seconds)

    def _keep(self, ended: Ended) -> None:
        """Keep what a call came to: a trial, a hit that was minimised, a finding's cause."""
        name = ended.call.name
        if isinstance(name, Trial):
            self._keep_trial(name, ended.value)
        elif isinstance(name, _Explaining):
            if isinstance(ended.value, Finding):
                self._keep_finding(name.place, name.hit, ended.value)
            else:
                self._unexplained.append(name)
        else:
            place, hit, again = name
            self._keep_reduced(place, hit, ended.value, again=again)

    def _keep_trial(self, trial: Trial, value: object) -> None:
        if isinstance(value, NotAvailable):
            raise value
        if isinstance(value, (Died, TimedOut)):
            if len(trial) > 1:
                for one in trial.singles():
                    self._executor.push(self._call(one, self._campaign.timeout / 3))
                return
            if is_ours(value):
                value = Tried({NOT_EVALUATED: 1}, (), Meetings(), 0, 0.0)
            else:
                value = self._losses.tried(trial, *why(value))
        if not isinstance(value, Tried):
            self._watcher.say(
                f"programs {trial.start} to {trial.stop - 1}: {type(value).__name__}: {value}; "
                "a defect of hlo-conformance, please report it"
            )
            value = Tried({"not judged": len(trial)}, (), Meetings(), 0, 0.0)
        places = {hit.number: place_of(hit) for hit in value.hits}
        met = self._journal.add(trial.start, trial.stop, value, places)
        self._tally.add(value, met)
        self._steering.add(trial.start, value.met)
        self._journal.set_meta({"seconds": self.spent})
        for hit in value.hits:
            self._take_up(places[hit.number], hit)

    # --- Findings --------------------------------------------------------------------------------

    def _take_up(self, place: str, hit: Hit) -> None:
        """Have a hit minimised, unless enough of the same place are or were."""
        if hit.outcome.known:
            self._journal.add_finding(hit.number, of_known(hit))
            self._count()
            return
        if self._places[place] + self._reducing[place] >= PER_PLACE:
            name = self._journal.finding_of_place(place)
            if name:
                self._journal.settle(hit.number, name)
                self._count()
                return
        self._reducing[place] += 1
        if self._losses.is_loss(hit):
            self._lost.append((place, hit))
        else:
            self._executor.push(self._asking(place, hit))

    def _asking(self, place: str, hit: Hit, *, again: bool = False) -> Call:
        """The call that minimises a hit; `again` takes it as it is, where that failed."""
        trial = self._trial_of(hit)
        if again:
            return Call((place, hit, True), as_it_is, (trial, hit), self._campaign.timeout)
        seconds = self._seconds_for(REDUCING_SECONDS)
        return Call((place, hit, False), reduced, (trial, hit, seconds), seconds + 40)

    def _seconds_for(self, most: float) -> float:
        """What work on a hit may take: less where the budget is nearly spent."""
        left = self._campaign.seconds - self.spent if self._campaign.seconds else math.inf
        return max(min(most, left), LEAST_SECONDS)

    def _keep_reduced(self, place: str, hit: Hit, value: object, *, again: bool) -> None:
        if not isinstance(value, Finding):
            if not again:  # smaller programs may end the process: it is kept as it is
                self._executor.push(self._asking(place, hit, again=True))
                return
            value = self._losses.finding(hit, self._campaign.backend.name)
        if self._is_kept(value):
            self._keep_finding(place, hit, value)
        else:
            seconds = self._seconds_for(EXPLAINING_SECONDS)
            given = (self._trial_of(hit), value, seconds)
            name = _Explaining(place, hit, value)
            self._executor.push(Call(name, explained, given, seconds + 40))

    def _is_kept(self, finding: Finding) -> bool:
        """Whether nothing more need be known of a finding: it is known, or was met before."""
        names = {one.name for one in self._journal.findings()}
        return bool(finding.known) or finding.name in names

    def _explained_alone(self, hit: Hit, finding: Finding) -> Finding:
        """The finding with its cause, each question asked in a worker."""
        if self._is_kept(finding):
            return finding
        trial, seconds = self._trial_of(hit), self._campaign.timeout / 6
        return explained_alone(self._executor, trial, finding, seconds)

    def _trial_of(self, hit: Hit) -> Trial:
        return self._trial(hit.number, hit.number + 1)

    def _reduce_lost(self, place: str, hit: Hit) -> None:
        """Minimise a program that ends its process, every try in a worker."""
        if self._places[place] >= PER_PLACE and (name := self._journal.finding_of_place(place)):
            self._journal.settle(hit.number, name)
            return
        finding = self._losses.reduced(self._trial_of(hit), hit, self._campaign.backend.name)
        if finding is None:
            self._reducing[place] -= 1
            self._journal.settle(hit.number, NOT_AGAIN)
            self._watcher.say(f"program {hit.number}: no answer in time, but one when asked again")
            return
        self._keep_finding(place, hit, self._explained_alone(hit, finding))

    def _keep_finding(self, place: str, hit: Hit, finding: Finding) -> None:
        self._reducing[place] -= 1
        self._places[place] += 1
        if not self._is_kept(finding):
            bundle.write(self._campaign.folder, finding, self._versions, self._campaign.command)
        told = bundle.described(finding, self._versions, self._campaign.command)
        if self._journal.add_finding(hit.number, kept(finding, told)) and not finding.known:
            self._watcher.say(line_of(finding))
        self._count()

    def _count(self) -> None:
        found = self._journal.findings()
        self._tally.counts = self._journal.counts()
        self._tally.pairs = self._journal.pair_count()
        self._tally.new = sum(not one.known for one in found)
        self._tally.known = sum(bool(one.known) for one in found)


def place_of(hit: Hit) -> str:
    """Where hits are looked for that are likely to be the same: verdict, class and culprit."""
    outcome = hit.outcome
    known = ",".join(outcome.known)
    culprit = outcome.culprit or " ".join(one.name for one in working(hit.program))
    return " | ".join(filter(None, (outcome.verdict.value, outcome.kind, culprit, known)))


def kept(finding: Finding, told: dict[str, Any]) -> Kept:
    """A finding as the journal has it; `told` is what its folder says."""
    program = finding.program
    return Kept(
        f"{finding.name}{'-known' if finding.known else ''}",
        finding.signature, ", ".join(finding.known), finding.verdict.value,
        finding.kind, finding.culprit, len(working(program)), elements_of(program), finding.text,
        " ".join(finding.message.split()), {} if finding.known else told,
    )  # fmt: skip


def of_known(hit: Hit) -> Kept:
    """What the journal has of hits that expectations know: these alone tell them apart."""
    outcome, known = hit.outcome, ", ".join(hit.outcome.known)
    return Kept(
        f"known: {known}", known, known, outcome.verdict.value, outcome.kind, outcome.culprit,
        len(working(hit.program)), elements_of(hit.program), "",
        " ".join(outcome.message.split()),
    )  # fmt: skip


def line_of(finding: Finding) -> str:
    """A finding in a line."""
    ops = " + ".join(one.name for one in working(finding.program))
    kind = f" ({finding.kind})" if finding.kind else ""
    message = " ".join(finding.message.split())
    more = "; ".join(filter(None, (finding.cause.line, finding.vote.line)))
    return f"{finding.name}: {finding.verdict}{kind}: {ops}: {message}" + (more and f" [{more}]")

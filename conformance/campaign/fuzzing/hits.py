"""Hits made findings: minimised, told apart, kept, their causes looked for; as time allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from conformance.campaign.fuzzing.attribution.alone import explained_alone
from conformance.campaign.fuzzing.backlog import SHARE, Backlog, Unexplained, Waiting
from conformance.campaign.fuzzing.calls import Timed, as_it_is, explained, reduced, timed
from conformance.campaign.fuzzing.finding import Finding
from conformance.campaign.fuzzing.keeping.journal import Journal
from conformance.campaign.fuzzing.keeping.keeping import Keeping, of_known
from conformance.campaign.fuzzing.lost import Losses, spent_on
from conformance.campaign.fuzzing.shrinking import Shrinking
from conformance.campaign.fuzzing.trials import Hit, Trial
from conformance.executors.local import Call, Ended, LocalExecutor
from conformance.verdict import Verdict

PER_PLACE = 3
"""Hits of one place that are minimised; more are counted, and taken for the same."""

REDUCING_SECONDS = 20.0
"""Seconds that minimising a hit may take."""

LEAST_SECONDS = 4.0
"""Seconds that it may take where the budget is nearly spent, or is."""

EXPLAINING_SECONDS = 20.0
"""Seconds that looking for the cause of a finding may take."""

FLUSHED_WEIGHT = 4
"""So much a finding of subnormal numbers taken for zero counts beside others, when it is decided
what to minimise next: all ops may do that, for one reason."""

BEYOND = 0.1
"""Of a budget, by how much work on hits may go beyond it."""

LAST = 0.2
"""Of a budget, what is left at its end, at most, for hits that wait."""

NOT_AGAIN = "not again"
"""What hits come to that are no findings: no answer in time at first, and one when asked again."""


@dataclass(frozen=True, slots=True)
class Reducing:
    """The name of a call that minimises a hit; `again` takes it as it is, where that failed."""

    place: str
    hit: Hit
    again: bool = False


@dataclass(frozen=True, slots=True)
class Trying:
    """The name of a call that tries a program which may end its worker, to make one smaller."""

    place: str
    small: Shrinking


@dataclass(frozen=True, slots=True)
class Asking:
    """The name of a call that looks for the cause of a finding."""

    unexplained: Unexplained


class Hits:
    """What becomes of the programs that fail."""

    def __init__(
        self,
        journal: Journal,
        executor: LocalExecutor,
        losses: Losses,
        backend: str,
        trial_of: Callable[[int], Trial],
        keep: Keeping,
        left: Callable[[], float],
    ) -> None:
        """`trial_of` gives the trial of a program by its number, `keep` writes findings, and
        `left` says how many seconds of the budget are left."""
        self._journal, self._executor, self._losses = journal, executor, losses
        self._backend, self._trial_of, self._keep, self._left = backend, trial_of, keep, left
        self._backlog = Backlog()
        self._places = journal.place_counts()
        self._reducing: Counter[str] = Counter()
        self._alone: list[Unexplained] = []
        self._begun = left()

    def take_up(self, place: str, hit: Hit) -> None:
        """Have a hit minimised when its turn comes, unless enough of the same place were."""
        if hit.outcome.known:
            self._journal.add_finding(hit.number, of_known(hit))
        elif self._is_settled(place, hit.number):
            return
        else:
            verdict = hit.outcome.verdict
            weight = FLUSHED_WEIGHT if verdict is Verdict.FLUSHED else 1
            group = (verdict, hit.outcome.kind)
            self._backlog.add(Waiting(hit.number, place, group, weight))

    def _is_settled(self, place: str, number: int) -> bool:
        """Whether a hit is taken for one of those of its place that were minimised."""
        if self._places[place] < PER_PLACE:
            return False
        self._journal.settle(number, self._journal.finding_of_place(place))
        return True

    # --- While programs are tried ----------------------------------------------------------------

    def calls(self, elapsed: float) -> Iterator[Call]:
        """What may be done now about hits, `elapsed` seconds after the beginning."""
        while self._backlog.seconds <= SHARE * elapsed * self._executor.jobs:
            call = self._next()
            if call is None:
                return
            yield call

    @property
    def needed(self) -> float:
        """Seconds that are kept for the hits that wait, when the budget ends."""
        return len(self._backlog) * self._backlog.usual / self._executor.jobs

    def _next(self) -> Call | None:
        """The call that is to be made first."""
        while (waiting := self._backlog.next_hit()) is not None:
            busy = self._places[waiting.place] + self._reducing[waiting.place] >= PER_PLACE
            if busy and self._is_settled(waiting.place, waiting.number):
                continue
            self._reducing[waiting.place] += 1
            return self._reduce(waiting.place, self._journal.hit(waiting.number))
        cause = self._backlog.next_cause()
        return None if cause is None else self._explain(cause)

    def _reduce(self, place: str, hit: Hit, *, again: bool = False) -> Call:
        trial = self._trial_of(hit.number)
        if self._losses.is_loss(hit):
            trying = Trying(place, Shrinking(hit))
            return self._losses.call(trying, trial, hit.program, hit.inputs)
        name = Reducing(place, hit, again)
        if again:
            return Call(name, timed, (as_it_is, trial, hit), 3 * REDUCING_SECONDS)
        seconds = self._seconds_for(REDUCING_SECONDS)
        return Call(name, timed, (reduced, trial, hit, seconds), seconds + 40)

    def _explain(self, one: Unexplained) -> Call:
        trial, seconds = self._trial_of(one.number), self._seconds_for(EXPLAINING_SECONDS)
        return Call(Asking(one), timed, (explained, trial, one.finding, seconds), seconds + 40)

    def _seconds_for(self, most: float) -> float:
        """What work on a hit may take: less where the budget is nearly spent."""
        return max(min(most, self._left()), LEAST_SECONDS)

    def ended(self, ended: Ended) -> None:
        """Keep what a call of `calls` came to."""
        name, value = ended.call.name, ended.value
        if isinstance(name, Trying):
            self._tried(name, value)
            return
        self._backlog.spent(spent_on(value, LEAST_SECONDS))
        if isinstance(value, Timed):  # else the worker was lost
            value = value.value
        if isinstance(name, Reducing):
            self._reduced(name, value)
        elif isinstance(value, Finding):
            self._keep.cause(value)
        else:
            self._alone.append(name.unexplained)

    def _tried(self, name: Trying, value: object) -> None:
        """Go on with a program that ends its process, or be content with it as it is now."""
        small, hit, seconds = name.small, name.small.hit, spent_on(value)
        small.answer(self._losses.is_again(hit, value), seconds)
        self._backlog.used(seconds)
        trial, tried = self._trial_of(hit.number), None if self._is_over else small.next()
        if tried is not None:
            self._executor.push(self._losses.call(name, trial, *tried))
            return
        self._reducing[name.place] -= 1
        self._backlog.spent(0.0)
        finding = self._losses.concluded(trial, small, self._backend)
        if finding is None:
            self._journal.settle(hit.number, NOT_AGAIN)
            self._keep.say(f"program {hit.number}: no answer in time, but one when asked again")
        elif self._kept(name.place, hit.number, finding):
            self._alone.append(Unexplained(hit.number, finding))

    def _reduced(self, name: Reducing, value: object) -> None:
        if not isinstance(value, Finding):
            if not name.again:  # smaller programs may end the process: it is kept as it is
                self._executor.push(self._reduce(name.place, name.hit, again=True))
                return
            value = self._losses.finding(name.hit, self._backend)
        self._reducing[name.place] -= 1
        if self._kept(name.place, name.hit.number, value):
            self._backlog.explain(Unexplained(name.hit.number, value))

    def _kept(self, place: str, number: int, finding: Finding) -> bool:
        """Keep a finding; whether it is a new one whose cause is to be looked for."""
        self._places[place] += 1
        return self._keep.finding(number, finding)

    # --- At the end ------------------------------------------------------------------------------

    def finish(self, tick: Callable[[], None]) -> int:
        """Do what is left, as far as the time goes; how many hits still wait.

        Those of places that have a finding are taken for the same.
        """
        for place in self._backlog.places:
            if self._places[place]:
                for waiting in self._backlog.of_place(place):
                    name = self._journal.finding_of_place(place)
                    self._journal.settle(waiting.number, name)
        while len(self._backlog) and not self._is_over:
            for ended in self._executor.results(self._rest()):
                if ended is not None:
                    self.ended(ended)
                tick()
        for one in self._alone:
            if not self._is_over:
                self._keep.cause(self._explained_alone(one))
                tick()
        return self._journal.open_count()

    @property
    def _is_over(self) -> bool:
        return self._left() < -BEYOND * self._begun

    def _rest(self) -> Iterator[Call]:
        while not self._is_over and (call := self._next()) is not None:
            yield call

    def _explained_alone(self, one: Unexplained) -> Finding:
        """The finding with its cause, each question asked in a worker."""
        trial = self._trial_of(one.number)
        return explained_alone(self._executor, trial, one.finding, 4 * trial.seconds / 3)

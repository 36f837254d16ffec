"""Pending work: failures to be minimised, findings whose cause is to be searched for.

Both take at most a share of a campaign's time while programs are tried. A place is an estimate of a
failure's cause (`grouping.place_of`). The most informative work comes first: a failure whose place
has no minimised failure, and whose verdict and class have the fewest; then the search for the cause
of a finding; then further failures of the same places, those with a new culprit first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

from conformance.fuzzing.finding import Finding
from conformance.fuzzing.places import Places

SHARE = 1 / 3
"""Largest share of the workers' time for minimisation and attribution while there is budget."""

USUAL = 6.0
"""Assumed seconds of a piece of work before any has ended."""


@dataclass(frozen=True, slots=True)
class WaitingFailure:
    """A failure that waits to be minimised: its number, place, culprit, verdict and class.

    A failure of `weight` 4 counts as much as four others, so fewer of its group are minimised at
    first.
    """

    number: int
    place: str
    group: Hashable
    weight: int = 1
    culprit: str = ""


@dataclass(frozen=True, slots=True)
class UnexplainedFinding:
    """A finding that waits for its cause, with the number and the place of its program's failure.

    `is_kept`: it has a folder. If not, the cause decides whether it gets a folder: another finding
    may have the same cause.
    """

    number: int
    finding: Finding
    place: str = ""
    culprit: str = ""
    is_kept: bool = True


class Backlog:
    """Pending work, in the order in which it is done, and the seconds spent on such work."""

    def __init__(self, places: Places) -> None:
        """Begin without pending work; `places` decides which places are new."""
        self._places = places
        self._failures: dict[str, list[WaitingFailure]] = {}
        self._causes: list[UnexplainedFinding] = []
        self._begun: Counter[Hashable] = Counter()
        self._done, self.seconds = 0, 0.0

    def __len__(self) -> int:
        return len(self._causes) + len(self._failures)

    @property
    def urgent_count(self) -> int:
        """Amount of pending work, not counting further failures of places that have findings."""
        return len(self._causes) + sum(map(self._places.is_new, self._failures))

    @property
    def usual_seconds(self) -> float:
        """Seconds that a piece of work usually takes."""
        return self.seconds / self._done if self._done else USUAL

    @property
    def places(self) -> list[str]:
        """The places of pending failures."""
        return list(self._failures)

    def add(self, waiting: WaitingFailure) -> None:
        """Add a failure that waits to be minimised."""
        self._failures.setdefault(waiting.place, []).append(waiting)

    def add_unexplained(self, unexplained: UnexplainedFinding) -> None:
        """Add a finding that waits for its cause."""
        self._causes.append(unexplained)

    def pop_place(self, place: str) -> list[WaitingFailure]:
        """Remove and return the pending failures of a place."""
        return self._failures.pop(place, [])

    def next(self) -> WaitingFailure | UnexplainedFinding | None:
        """Return the most urgent work: a failure to minimise, or a finding to explain."""
        failure = self._first_failure()
        if self._causes and (failure is None or not self._places.is_new(failure.place)):
            return self._causes.pop(0)
        if failure is not None:
            self._take(failure)
        return failure

    def next_cause(self) -> UnexplainedFinding | None:
        """Remove and return the finding whose cause is searched for next; None if none waits."""
        return self._causes.pop(0) if self._causes else None

    def _first_failure(self) -> WaitingFailure | None:
        """Return the failure that is minimised next, without removing it."""
        if not self._failures:
            return None
        firsts = [self._first_of(place) for place in self._failures]

        def order(first: WaitingFailure) -> tuple[int, int, int]:
            begun = self._begun[first.group] * first.weight
            return (self._places.begun[first.place], begun, first.number)

        return min(firsts, key=order)

    def _first_of(self, place: str) -> WaitingFailure:
        """Return the first failure of a place with a new culprit, or else its first failure."""
        failures = self._failures[place]
        new = (
            failure for failure in failures if self._places.is_new_variant(place, failure.culprit)
        )
        return next(new, failures[0])

    def _take(self, failure: WaitingFailure) -> None:
        """Remove a failure whose minimisation begins."""
        self._failures[failure.place].remove(failure)
        if not self._failures[failure.place]:
            del self._failures[failure.place]
        self._begun[failure.group] += 1

    def count_finished(self, seconds: float) -> None:
        """Count a finished piece of work, and the seconds that a worker spent on it."""
        self.count_seconds(seconds)
        self._done += 1

    def count_seconds(self, seconds: float) -> None:
        """Count seconds that a worker spent on an unfinished piece of work."""
        self.seconds += seconds

"""What waits for a turn: hits to be minimised, findings whose cause is to be looked for.

Both take at most a share of a campaign's time while programs are tried. What tells most comes
first: hits of a verdict and class of which there are the fewest findings, causes last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

from conformance.campaign.fuzzing.finding import Finding

SHARE = 1 / 3
"""Of the workers' time, what minimising and looking for causes may take while there is budget."""

USUAL = 6.0
"""Seconds that either is taken to need before any has ended."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A hit that waits to be minimised: its number, its place, and what it is one of many of.

    One of a group of `weight` 4 counts as much as four others: fewer of it are done at first.
    """

    number: int
    place: str
    group: Hashable
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Unexplained:
    """A finding whose cause is to be looked for, and the number of the program that it was."""

    number: int
    finding: Finding


class Backlog:
    """What waits, in the order in which it is done, and the seconds spent on such work."""

    def __init__(self) -> None:
        """Nothing waits yet."""
        self._hits: dict[str, list[Waiting]] = {}
        self._causes: list[Unexplained] = []
        self._begun: Counter[Hashable] = Counter()
        self._begun_places: Counter[str] = Counter()
        self._done, self.seconds = 0, 0.0

    def __len__(self) -> int:
        return len(self._causes) + len(self._hits)

    @property
    def usual(self) -> float:
        """Seconds that one of them takes."""
        return self.seconds / self._done if self._done else USUAL

    @property
    def places(self) -> list[str]:
        """The places of which hits wait."""
        return list(self._hits)

    def add(self, waiting: Waiting) -> None:
        """Let a hit wait."""
        self._hits.setdefault(waiting.place, []).append(waiting)

    def explain(self, unexplained: Unexplained) -> None:
        """Let a finding wait for its cause."""
        self._causes.append(unexplained)

    def of_place(self, place: str) -> list[Waiting]:
        """The hits of a place, which wait no more."""
        return self._hits.pop(place, [])

    def next_hit(self) -> Waiting | None:
        """The hit that is to be minimised first."""
        if not self._hits:
            return None

        def order(place: str) -> tuple[int, int, int]:
            first = self._hits[place][0]
            begun = self._begun[first.group] * first.weight
            return (self._begun_places[place], begun, first.number)

        place = min(self._hits, key=order)
        waiting = self._hits[place].pop(0)
        if not self._hits[place]:
            del self._hits[place]
        self._begun[waiting.group] += 1
        self._begun_places[place] += 1
        return waiting

    def next_cause(self) -> Unexplained | None:
        """The finding whose cause is to be looked for first."""
        return self._causes.pop(0) if self._causes else None

    def spent(self, seconds: float) -> None:
        """Count one of them as done, and the seconds that a worker spent on it."""
        self.used(seconds)
        self._done += 1

    def used(self, seconds: float) -> None:
        """Count seconds that a worker spent on one of them, which is not done yet."""
        self.seconds += seconds

"""Choice of the failures that are minimised; others are counted for an existing finding.

A place is an estimate of a failure's cause before it is minimised; see `grouping.place_of`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from conformance.fuzzing.grouping import group_of

PER_CAUSE = 3
"""Failures minimised for each cause found at a place; after these, only new culprits are."""

ENOUGH = 100
"""Number of programs of a group after which failures are counted for its findings and not
minimised.
"""


class Places:
    """The number of failures of each place, and the findings of its minimised failures."""

    def __init__(
        self, counts: Mapping[str, int] = {}, minimised: Iterable[tuple[str, str, str]] = ()
    ) -> None:
        """Begin with the numbers of failures by place, and with the failures minimised before."""
        self.begun = Counter[str]()
        """Failures by place whose minimisation began."""
        self._met = Counter[str]()
        self._variants: set[tuple[str, str]] = set()
        self._findings: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._by_variant: dict[tuple[str, str], str] = {}
        for place, count in counts.items():
            self._met[group_of(place)] += count
        for place, culprit, finding in minimised:
            self.count_begun(place, culprit)
            self.add(place, culprit, finding)

    def count_failure(self, place: str) -> None:
        """Count a new failure."""
        self._met[group_of(place)] += 1

    def count_begun(self, place: str, culprit: str) -> None:
        """Count a failure whose minimisation begins."""
        self.begun[place] += 1
        self._variants.add((place, culprit))

    def add(self, place: str, culprit: str, finding: str) -> None:
        """Record the finding of a minimised failure."""
        for where in {place, group_of(place)}:
            self._findings[where][finding] += 1
        self._by_variant[place, culprit] = finding

    def is_new(self, place: str) -> bool:
        """Return whether no failure of a place has been or is being minimised."""
        return not self.begun[place]

    def is_new_variant(self, place: str, culprit: str) -> bool:
        """Return whether no failure of a place with this culprit has been minimised."""
        return (place, culprit) not in self._variants

    def finding_of(self, place: str, culprit: str) -> str:
        """Return the finding to which a failure that is not minimised is counted; "" if there is
        none. It is the finding with its culprit, else the most frequent of its place, else of
        its group.
        """
        if (found := self._by_variant.get((place, culprit))) is not None:
            return found
        for where in (place, group_of(place)):
            if self._findings[where]:
                return self._findings[where].most_common(1)[0][0]
        return ""

    def is_settled(self, place: str, culprit: str) -> bool:
        """Return whether a failure with this place and culprit need not be minimised."""
        if not self.finding_of(place, culprit):
            return False
        if self._met[group_of(place)] >= ENOUGH:
            return True
        causes = len(self._findings[place])
        return (
            causes > 0
            and self.begun[place] >= PER_CAUSE * causes
            and not self.is_new_variant(place, culprit)
        )

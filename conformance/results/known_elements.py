"""The number of elements of known failures, and how many of them are predicted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from conformance.verdict import Record


@dataclass(frozen=True, slots=True)
class KnownElements:
    """Elements that expectations match, and how many of them their classes predict within 2 ulp.

    `unpredictable` counts the others that entries with `unpredictable` match.
    """

    count: int = 0
    predicted: int = 0
    unpredictable: int = 0

    @property
    def predictable(self) -> int:
        """The number of elements without the unpredictable."""
        return self.count - self.unpredictable

    @property
    def percent(self) -> float | None:
        """The predicted share of the predictable in percent, rounded down to a tenth; None if there
        are none.
        """
        return int(1000 * self.predicted / self.predictable) / 10 if self.predictable else None


def known_elements(
    records: Iterable[Record], id_: str = "", unpredictable: Collection[str] = ()
) -> KnownElements:
    """Count the elements that expectations match, or those that the entry with that id matches.

    `unpredictable` are the ids of entries about elements that may have any value. Elements of
    results that are known as a whole count as not predicted, such as results that change when a
    program runs again. Without an id, entries that predict no element are left out.
    """
    wrong: Counter[str] = Counter()
    near: Counter[str] = Counter()
    for record in records:
        for one in record.failing:
            wrong[one.known] += one.wrong
            near[one.known] += one.predicted
        if not record.failing and record.detail:
            wrong[record.known] += record.detail.wrong
    del wrong[""]
    ids = [id_] if id_ else [one for one in wrong if near[one] or one in unpredictable]
    apart = (wrong[one] - near[one] for one in ids if one in unpredictable)
    return KnownElements(sum(wrong[one] for one in ids), sum(near[one] for one in ids), sum(apart))

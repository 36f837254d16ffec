"""The number of elements of known failures, and how many of them are predicted."""

from __future__ import annotations

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
    program runs again.
    """
    count = predicted = apart = 0

    def add(known: str, wrong: int, near: int) -> None:
        nonlocal count, predicted, apart
        if known and id_ in ("", known):
            count, predicted = count + wrong, predicted + near
            apart += wrong - near if known in unpredictable else 0

    for record in records:
        for one in record.failing:
            add(one.known, one.wrong, one.predicted)
        if not record.failing and record.detail:
            add(record.known, record.detail.wrong, 0)
    return KnownElements(count, predicted, apart)

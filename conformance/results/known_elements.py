"""The number of elements of known failures, and how many of them are predicted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from conformance.verdict import Record


@dataclass(frozen=True, slots=True)
class KnownElements:
    """Elements that expectations match, and how many of them their classes predict within 2 ulp."""

    count: int = 0
    predicted: int = 0

    @property
    def percent(self) -> float | None:
        """The predicted share in percent, rounded down to a tenth; None if nothing is known."""
        return int(1000 * self.predicted / self.count) / 10 if self.count else None


def known_elements(records: Iterable[Record], id_: str = "") -> KnownElements:
    """Count the elements that expectations match, or those that the entry with that id matches.

    Elements of results that are known as a whole count as not predicted, such as results that
    change when a program runs again.
    """
    count = predicted = 0
    for record in records:
        for one in record.failing:
            if one.known and id_ in ("", one.known):
                count, predicted = count + one.wrong, predicted + one.predicted
        if not record.failing and record.known and id_ in ("", record.known):
            count += record.detail.wrong if record.detail else 0
    return KnownElements(count, predicted)

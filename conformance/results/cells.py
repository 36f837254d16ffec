"""Records by cell: the cells that a run planned, tested or left out, and their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from conformance.results.store import CellKey
from conformance.verdict import Record, Verdict

UNTESTED, FILTERED = "untested", "filtered"
"""The states of a cell that has no records: planned but not reached; left out by the filters."""


@dataclass(frozen=True)
class CellResults:
    """The results of one cell.

    `state` is the worst verdict of its records, except that cases that did not test the backend
    count only if there are no others. It is UNTESTED or FILTERED if there are no records.
    `records` are in the order of their index.
    """

    op: str
    element_type: str
    backend: str
    state: str
    records: tuple[Record, ...] = ()

    @property
    def key(self) -> CellKey:
        """Op, element type, backend."""
        return (self.op, self.element_type, self.backend)

    @cached_property
    def verdicts(self) -> Counter[Verdict]:
        """The number of cases by verdict."""
        return Counter(record.verdict for record in self.records)

    @cached_property
    def pairs(self) -> int:
        """Input sets judged."""
        return sum(record.pairs for record in self.records)

    @cached_property
    def values(self) -> int:
        """The number of judged elements."""
        return sum(record.values for record in self.records)

    @cached_property
    def new(self) -> int:
        """Cases that fail and that no expectation matches."""
        return sum(record.is_new_failure for record in self.records)

    @cached_property
    def known(self) -> int:
        """Cases that fail and that an expectation matches."""
        return sum(record.verdict.fails and bool(record.known) for record in self.records)

    @property
    def failing(self) -> int:
        """Cases that fail, known or new."""
        return self.new + self.known

    @property
    def is_tested(self) -> bool:
        """Whether the backend ran, or was to run, any of its cases."""
        return any(record.verdict.is_tested for record in self.records)


def group_by_cell(
    planned: Iterable[CellKey], filtered: Iterable[CellKey], records: Iterable[Record]
) -> dict[CellKey, CellResults]:
    """Return every cell by its key: planned cells, other cells with records, filtered cells."""
    expected = dict.fromkeys(planned)
    gathered: dict[CellKey, list[Record]] = {key: [] for key in expected}
    for record in records:
        gathered.setdefault((record.op, record.element_type, record.backend), []).append(record)
    for key in filtered:
        gathered.setdefault(key, [])
    return {key: _results(key, found, key in expected) for key, found in gathered.items()}


def _results(key: CellKey, records: list[Record], is_planned: bool) -> CellResults:
    if not records:
        return CellResults(*key, UNTESTED if is_planned else FILTERED)
    judged = [r for r in records if r.verdict.is_tested] or records
    worst = max((r.verdict for r in judged), key=lambda verdict: verdict.severity)
    ordered = sorted(records, key=lambda record: record.index)
    return CellResults(*key, worst.value, tuple(ordered))

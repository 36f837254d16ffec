"""The planned cells of each backend by status, and whether the backend conforms, in words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from conformance.results.cells import FILTERED, CellResults
from conformance.results.shares import outcome_of
from conformance.results.summary import RunData


class CellStatus(StrEnum):
    """The status of a planned cell with respect to conformance, in the order of the reports."""

    CONFORMS = "conforms"
    """Every case passed, or differs only in unspecified results."""
    NEW = "new"
    """Some case fails, and no expectation matches it."""
    KNOWN = "known"
    """Cases fail, and expectations match all of them."""
    UNSUPPORTED = "unsupported"
    """The backend says of every case that it does not implement it."""
    UNTESTED = "untested"
    """No case was run, or none could be judged."""


PREDICATES: Mapping[CellStatus, str] = {
    CellStatus.CONFORMS: "conform",
    CellStatus.NEW: "with new divergences",
    CellStatus.KNOWN: "with known divergences",
    CellStatus.UNSUPPORTED: "unsupported",
    CellStatus.UNTESTED: "untested",
}
"""The statuses as predicates, for a sentence such as "12 with new divergences"."""


def status_of(cell: CellResults) -> CellStatus | None:
    """Return the status of a cell, or None if the filters left it out."""
    return None if cell.state == FILTERED else CellStatus(outcome_of(cell))


@dataclass(frozen=True)
class Standing:
    """One backend's results: its planned cells by status, its cases, and those that fail.

    `failing_cells` are the tested cells with a failing case; `new` and `known` count cases.
    """

    backend: str
    cells: Mapping[CellStatus, int]
    cases: int
    new: int
    """Cases that fail and that no expectation matches."""
    known: int
    """Cases that fail and that expectations match."""

    @property
    def planned(self) -> int:
        """The cells that the run planned."""
        return sum(self.cells.values())

    @property
    def tested(self) -> int:
        """The cells in which the backend ran a case."""
        absent = self.cells[CellStatus.UNSUPPORTED] + self.cells[CellStatus.UNTESTED]
        return self.planned - absent

    @property
    def failing(self) -> int:
        """The cases that fail, known or new."""
        return self.new + self.known

    @property
    def failures(self) -> str:
        """The number of failing and of new cases in words: 23 cases fail, 3 of them new."""
        return failures(self.new, self.known)

    @property
    def failing_cells(self) -> int:
        """The cells in which a case fails."""
        return self.cells[CellStatus.NEW] + self.cells[CellStatus.KNOWN]

    @property
    def conforms(self) -> bool:
        """Whether cells were tested and no case failed. Untested cells do not count."""
        return self.tested > 0 and self.failing == 0

    @property
    def share(self) -> str:
        """The share of planned cells that conform, in percent, rounded down."""
        return percent(self.cells[CellStatus.CONFORMS], self.planned)

    @property
    def status(self) -> str:
        """The status in a word: "empty", "fails", "known", "partial" or "conforms"."""
        if self.new:
            return "fails"
        if self.known:
            return "known"
        if self.tested == 0:
            return "empty"
        return "partial" if self.cells[CellStatus.UNTESTED] else "conforms"

    @property
    def verdict(self) -> str:
        """Whether the backend conforms, as a predicate: does not conform: 3 cases fail, all new."""
        tested = f"{self.tested:,} cells tested"
        if self.failing:
            cells = f"{self.failing_cells:,} of {tested}"
            return f"does not conform: {self.failures}, in {cells}"
        if self.tested == 0:
            return "was not tested"
        left = self.cells[CellStatus.UNTESTED]
        if left:
            cells = "1 planned cell was" if left == 1 else f"{left:,} planned cells were"
            return f"shows no divergence in {tested}, but {cells} not tested"
        refused = self.cells[CellStatus.UNSUPPORTED]
        unsupported = f"; {refused:,} are unsupported" if refused > 1 else "; 1 is unsupported"
        every = "the 1 cell" if self.tested == 1 else f"all {self.tested:,} cells"
        return f"conforms in {every} tested{unsupported if refused else ''}"


def failures(new: int, known: int) -> str:
    """Return in words how many cases fail, and how many of them are new."""
    count = new + known
    said = f"{count:,} case{'' if count == 1 else 's'} fail{'s' if count == 1 else ''}"
    if count == 1:
        return f"{said}, {'new' if new else 'known'}"
    if not known or not new:
        return f"{said}, all of them {'new' if new else 'known'}"
    return f"{said}, {new:,} of them new"


def percent(part: int, whole: int) -> str:
    """Return a share as a percentage with one digit, rounded down: 99.9 % is not 100 %."""
    if not whole:
        return "–"
    tenths = 1000 * part // whole
    return f"{tenths // 10} %" if tenths % 1000 == 0 else f"{tenths // 10}.{tenths % 10} %"


def standings(run: RunData) -> tuple[Standing, ...]:
    """Return the standing of every backend, in the order of the run."""
    cells: dict[str, Counter[CellStatus]] = defaultdict(Counter)
    cases: dict[str, Counter[str]] = defaultdict(Counter)
    for cell in run.cells.values():
        status = status_of(cell)
        if status is not None:
            cells[cell.backend][status] += 1
            cases[cell.backend].update(all=len(cell.records), new=cell.new, known=cell.known)
    names = dict.fromkeys([*(backend.name for backend in run.backends), *cells])
    return tuple(
        Standing(
            name,
            {status: cells[name][status] for status in CellStatus},
            cases[name]["all"],
            cases[name]["new"],
            cases[name]["known"],
        )
        for name in names
    )


def conclusion(found: Sequence[Standing]) -> str:
    """Return one sentence: whether the backends conform, and which has most new failures.

    Without new failures, it names the backend that fails most.
    """
    tested = [standing for standing in found if standing.tested or standing.failing]
    if not tested:
        return "Nothing was tested, so this says nothing about conformance."
    if len(found) == 1:
        return f"The {found[0].backend} backend {found[0].verdict}."
    failing = sorted((s for s in tested if s.failing), key=lambda s: (-s.new, -s.failing))
    count = len(found)
    if not failing:
        untested = sum(standing.cells[CellStatus.UNTESTED] for standing in found)
        if untested or len(tested) < count:
            some = "was tested and shows" if len(tested) == 1 else "were tested and show"
            left = f"{untested:,} planned cell{' was' if untested == 1 else 's were'} not tested"
            if not untested:
                left = "no planned cell is supported by the rest"
            return f"{len(tested)} of {count} backends {some} no divergence; {left}."
        return f"All {count} backends conform in every cell tested."
    most = failing[0]
    if len(failing) == 1:
        others = "The other backend conforms" if count == 2 else f"The other {count - 1} conform"
        whole = all(standing.status == "conforms" for standing in found if standing is not most)
        rest = f"{others}." if whole else "No other backend shows a divergence."
        return f"{most.backend} does not conform: {most.failures}. {rest}"
    conforming = sum(standing.conforms for standing in found)
    head = f"{conforming} of {count} backends conform" if conforming else (
        f"None of {count} backends conforms"
    )  # fmt: skip
    if conforming == 1:
        head += "s"
    fails = "has most new failures" if most.new else "fails most"
    return f"{head}. {most.backend} {fails}: {most.failures}."

"""The grid of pairs of ops that a campaign has covered; the second op takes the result of the
first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from conformance.catalog import CATALOG

STEP, MARK = 7, 6
"""Side of a cell of the grid, and of the mark in it, in pixels."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the grid: an op, and the number of ops that took its results."""

    op: str
    path: str
    met: int
    first_of_family: bool


@dataclass(frozen=True, slots=True)
class Grid:
    """The covered pairs of ops.

    `met` of `possible` pairs are covered; `others` have an op that is not in the grid. `side` is
    the width and height of the picture in pixels.
    """

    rows: tuple[Row, ...]
    met: int
    possible: int
    others: int
    side: int
    lines: tuple[int, ...]

    @property
    def share(self) -> float:
        """The covered share of the possible pairs, in percent."""
        return 100 * self.met / self.possible if self.possible else 0.0

    @property
    def fewest(self) -> list[Row]:
        """The ops whose results the fewest other ops took."""
        return sorted(self.rows, key=lambda row: (row.met, row.op))


def grid(ops: Sequence[str], met: Collection[tuple[str, str]]) -> Grid:
    """Return the grid of these ops by family: a row for the op that produces, a column for the op
    that consumes."""
    families = list(dict.fromkeys(row.family for row in CATALOG.values()))
    order = sorted(ops, key=lambda op: (families.index(CATALOG[op].family), op))
    place = {op: index for index, op in enumerate(order)}
    inside = [pair for pair in met if pair[0] in place and pair[1] in place]
    count = Counter(first for first, _ in inside)
    starts = [
        index
        for index, op in enumerate(order)
        if index and CATALOG[op].family != CATALOG[order[index - 1]].family
    ]
    rows = tuple(
        Row(op, _path(number, sorted(place[b] for a, b in inside if a == op)), count[op],
            number in starts)
        for op, number in place.items()
    )  # fmt: skip
    return Grid(
        rows, len(inside), len(order) ** 2, len(met) - len(inside), STEP * len(order),
        tuple(STEP * number for number in starts),
    )  # fmt: skip


def _path(row: int, columns: Sequence[int]) -> str:
    """Return a square for each covered column of a row, as an SVG path."""
    top = STEP * row
    return "".join(f"M{STEP * column} {top}h{MARK}v{MARK}h-{MARK}z" for column in columns)

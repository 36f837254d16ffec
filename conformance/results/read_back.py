"""The share of cells whose values are available, on backends that only compile."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from conformance.backends.base import NOT_READ_BACK
from conformance.backends.registry import only_compiles
from conformance.results.standings import percent
from conformance.results.summary import RunData
from generators.case.columns import INVALID

_MOST_NAMED = 6
"""Largest number of constructs that a line names."""


@dataclass(frozen=True, slots=True)
class ReadBack:
    """Cells of a backend that only compiles, by whether their optimised modules can be evaluated.

    Attributes:
        backend: the backend's name in records.
        compiled: the number of cells in which a valid program was compiled.
        with_values: the number of cells in which a program was compiled and evaluated.
        constructs: the constructs that cannot be read or evaluated, with the number of programs.
    """

    backend: str
    compiled: int
    with_values: int
    constructs: Counter[str]

    @property
    def share(self) -> str:
        """The cells that have values, as a share of those that compile."""
        cells = f"{self.with_values:,} of {self.compiled:,} cells that compile could be evaluated"
        return f"{cells} ({percent(self.with_values, self.compiled)})"

    @property
    def line(self) -> str:
        """The share, and the most frequent constructs that cannot be read or evaluated."""
        line = f"{self.backend}: {self.share}"
        if not self.constructs:
            return line
        named = [f"{name} ({count})" for name, count in self.constructs.most_common(_MOST_NAMED)]
        more = len(self.constructs) - len(named)
        rest = f" and {more} more constructs" if more else ""
        return f"{line}; programs not read back: {', '.join(named)}{rest}"


def read_back_of(run: RunData) -> list[ReadBack]:
    """Return the shares of the backends of a run that only compile, in its order."""
    names = [backend.name for backend in run.backends]
    return [_read_back_of(run, name) for name in names if only_compiles(name)]


def _read_back_of(run: RunData, backend: str) -> ReadBack:
    cells = [
        cell
        for (_, element_type, name), cell in run.cells.items()
        if name == backend and element_type != INVALID.name
    ]
    with_values = sum(any(r.verdict.has_results for r in cell.records) for cell in cells)
    compiled = sum(
        any(r.verdict.has_results or r.kind == NOT_READ_BACK for r in cell.records)
        for cell in cells
    )
    unread = (r for cell in cells for r in cell.records if r.kind == NOT_READ_BACK)
    constructs = Counter(record.message.partition(": ")[0] for record in unread)
    return ReadBack(backend, compiled, with_values, constructs)

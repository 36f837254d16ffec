"""Cases that a run did not try because its time budget was spent."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.results.store import CellKey


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The cases of a cell that a run left out, as half-open spans of indices.

    Some of these cases may not exist: planning them, too, would have taken time.
    """

    op: str
    element_type: str
    backend: str
    spans: tuple[tuple[int, int], ...]

    @property
    def key(self) -> CellKey:
        """Op, element type, backend."""
        return (self.op, self.element_type, self.backend)

    @property
    def cases(self) -> int:
        """The number of cases in the spans: at most this many were left out."""
        return sum(stop - start for start, stop in self.spans)

    def __contains__(self, index: int) -> bool:
        return any(start <= index < stop for start, stop in self.spans)

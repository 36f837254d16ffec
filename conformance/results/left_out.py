"""Cases that a run was to try and did not, as the time that it was given was over."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.results.store import CellKey


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The cases of a cell that a run did not get to: spans of indices, from and up to before.

    Some may not be planned: that would have taken the time that was over.
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
        """How many cases these are at most."""
        return sum(stop - start for start, stop in self.spans)

    def __contains__(self, index: int) -> bool:
        return any(start <= index < stop for start, stop in self.spans)

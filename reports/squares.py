"""The squares of the matrix op x element type: sign, words and figures of each cell."""

from __future__ import annotations

from functools import cached_property

from conformance.catalog import CATALOG
from conformance.results.cells import FILTERED, UNTESTED, CellResults
from conformance.verdict import Record, Verdict
from reference.ir.types import ELEMENT_TYPES
from reports import text

GLYPHS: dict[str, str] = {
    Verdict.PASS: "✓", Verdict.UNSPECIFIED: "?", Verdict.UNSUPPORTED: "–", Verdict.NOT_JUDGED: "∅",
    Verdict.FLUSHED: "↓",
    Verdict.INACCURATE: "≈", Verdict.DIVERGENT: "≠", Verdict.REJECTED: "R", Verdict.ACCEPTED: "A",
    Verdict.TIMED_OUT: "T", Verdict.CRASHED: "†", UNTESTED: "○", FILTERED: "",
}  # fmt: skip
"""A sign for each state, so that colour is never the only distinction."""

MEANINGS: dict[str, str] = {
    Verdict.PASS: "every element permitted",
    Verdict.UNSPECIFIED: "differs only where the result is unspecified",
    Verdict.UNSUPPORTED: "the backend says that it does not implement this",
    Verdict.NOT_JUDGED: "hlo-conformance cannot judge it; this says nothing about the backend",
    Verdict.FLUSHED: "differs only in reading subnormals as zero",
    Verdict.INACCURATE: "the right value, with an error over the budget",
    Verdict.DIVERGENT: "an element that no reading of the specification permits",
    Verdict.REJECTED: "a valid program refused as invalid",
    Verdict.ACCEPTED: "an invalid program compiled",
    Verdict.TIMED_OUT: "the backend did not answer in time",
    Verdict.CRASHED: "the backend's process died",
    UNTESTED: "planned, but no case was run",
    FILTERED: "left out by this run's filters",
}


class Square(CellResults):
    """One square of the matrix: a cell and its presentation.

    `worst` and `budget` are in the unit of its op, from the record with the largest share of its
    budget.
    """

    @cached_property
    def nearest(self) -> Record | None:
        """The case with the largest share of its budget, None without cases."""
        return max(self.records, key=_use_of_budget, default=None)

    @property
    def worst(self) -> float | None:
        """The error with the largest share of its budget, None if none was measured."""
        return None if self.nearest is None else self.nearest.worst_ulp

    @property
    def budget(self) -> float | None:
        """The budget of that error, None if the rule has none."""
        return None if self.nearest is None else self.nearest.budget_ulp

    @property
    def address(self) -> str:
        """The key as one string without control characters, for the page's address and script."""
        return text.escape_controls("/".join(self.key))

    @property
    def is_known(self) -> bool:
        """Whether the cell fails, and expectations match all its failures."""
        return self.failing > 0 and self.new == 0

    @property
    def glyph(self) -> str:
        """The sign of the state."""
        return GLYPHS[self.state]

    @property
    def share(self) -> float | None:
        """Worst error as a share of the budget, 0 to 1, for the bar; 1 also beyond the budget.

        None without a budget, or if the budget and the error are 0.
        """
        if self.budget is None or self.worst is None or not (self.budget or self.worst):
            return None
        if self.budget == 0:
            return 1.0
        ratio = self.worst / self.budget
        return 1.0 if ratio != ratio else max(0.0, min(1.0, ratio))

    @property
    def unit(self) -> str:
        """The unit of the cell's errors."""
        return unit_of(self.op)

    @property
    def label(self) -> str:
        """The cell in words."""
        parts = [f"{self.op} {self.element_type} on {self.backend}: {words(self.state)}"]
        if self.is_known:
            parts.append("known")
        if self.records:
            parts.append(text.plural(len(self.records), "case"))
        if self.budget is not None:
            budget = f"budget {text.ulp(self.budget)}"
            parts.append(f"worst error {text.ulp(self.worst or 0.0)} {self.unit}, {budget}")
        return ", ".join(parts)


def square_of(cell: CellResults) -> Square:
    """Return the square that shows a cell."""
    return Square(cell.op, cell.element_type, cell.backend, cell.state, cell.records)


def _use_of_budget(record: Record) -> tuple[float, float]:
    """Return a sort key that is largest for the record with the largest share of its budget."""
    worst = record.worst_ulp
    if worst is None:
        return (-1.0, -1.0 if record.budget_ulp is None else 0.0)
    if worst != worst:
        return (float("inf"), float("inf"))
    budget = record.budget_ulp or 0.0
    return (worst / budget if budget else (0.0 if worst == 0 else float("inf")), worst)


def unit_of(op: str) -> str:
    """Return the unit of an op's errors: ulp, or its error bound."""
    return CATALOG[op].tolerance.unit if op in CATALOG else "ulp"


def words(state: str) -> str:
    """Return a state or verdict as prose: timed out for timed_out."""
    return state.replace("_", " ")


def type_order(name: str) -> tuple[int, str]:
    """Return a sort key for element types in the specification's order, unknown types last."""
    known = list(ELEMENT_TYPES)
    return (known.index(name) if name in ELEMENT_TYPES else len(known), name)

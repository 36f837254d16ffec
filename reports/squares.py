"""The squares of the matrix op x element type: signs, words and measures of each cell."""

from __future__ import annotations

from functools import cached_property

from conformance.catalog import CATALOG
from conformance.results.cells import FILTERED, UNTESTED, CellResults
from conformance.verdict import Record, Verdict
from reference.ir.types import ELEMENT_TYPES
from reports import text

GLYPHS: dict[str, str] = {
    Verdict.PASS: "✓", Verdict.UNSPECIFIED: "?", Verdict.UNSUPPORTED: "–", Verdict.FLUSHED: "↓",
    Verdict.INACCURATE: "≈", Verdict.DIVERGENT: "≠", Verdict.REJECTED: "R", Verdict.ACCEPTED: "A",
    Verdict.TIMED_OUT: "T", Verdict.CRASHED: "†", UNTESTED: "○", FILTERED: "",
}  # fmt: skip
"""One sign per state, so that colour never stands alone."""

SQUARE = 4
"""Characters that fit into a square of the matrix, beside its sign."""


MEANINGS: dict[str, str] = {
    Verdict.PASS: "every element permitted",
    Verdict.UNSPECIFIED: "differs only where the specification leaves the result open",
    Verdict.UNSUPPORTED: "the backend says that it does not implement this",
    Verdict.FLUSHED: "differs only in taking subnormals for zero",
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
    """One square of the matrix: a cell, and how it is shown.

    `worst` and `budget` are in the unit of its op, those of the record nearest to its budget or
    furthest beyond.
    """

    @cached_property
    def nearest(self) -> Record | None:
        """The case that is nearest to its budget or furthest beyond, None without cases."""
        return max(self.records, key=_use_of_budget, default=None)

    @property
    def worst(self) -> float | None:
        """The error that uses most of its budget, None where none was measured."""
        return None if self.nearest is None else self.nearest.worst_ulp

    @property
    def budget(self) -> float | None:
        """The budget of that error, None where the rule has none."""
        return None if self.nearest is None else self.nearest.budget_ulp

    @property
    def address(self) -> str:
        """The key as one string without control characters, for the page's address and script."""
        return text.visible("/".join(self.key))

    @property
    def is_known(self) -> bool:
        """Whether the cell fails only in known ways."""
        return self.failing > 0 and self.new == 0

    @property
    def glyph(self) -> str:
        """The sign of the state."""
        return GLYPHS[self.state]

    @property
    def accuracy(self) -> str:
        """Worst error against budget, such as 2.1/3; "" where the rule has no budget."""
        if self.budget is None:
            return "" if self.worst is None else text.short_ulp(self.worst)
        return f"{text.short_ulp(self.worst or 0.0)}/{text.short_ulp(self.budget)}"

    @property
    def brief(self) -> str:
        """`accuracy` where a square of the matrix holds it, else the worst error alone."""
        whole = self.accuracy
        return whole if len(whole) <= SQUARE else whole.partition("/")[0]

    @property
    def share(self) -> float | None:
        """Worst error as a share of the budget, for the bar: 0 to 1, 1 also beyond.

        None where there is nothing to share: no budget, or a budget of 0 that is kept.
        """
        if self.budget is None or self.worst is None or not (self.budget or self.worst):
            return None
        if self.budget == 0:
            return 1.0
        ratio = self.worst / self.budget
        return 1.0 if ratio != ratio else max(0.0, min(1.0, ratio))

    @property
    def unit(self) -> str:
        """What the cell's errors are measured in."""
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
    """The square that shows a cell."""
    return Square(cell.op, cell.element_type, cell.backend, cell.state, cell.records)


def _use_of_budget(record: Record) -> tuple[float, float]:
    """A key that is largest for the record nearest to its budget, or furthest over it."""
    worst = record.worst_ulp
    if worst is None:
        return (-1.0, -1.0 if record.budget_ulp is None else 0.0)
    if worst != worst:
        return (float("inf"), float("inf"))
    budget = record.budget_ulp or 0.0
    return (worst / budget if budget else (0.0 if worst == 0 else float("inf")), worst)


def unit_of(op: str) -> str:
    """What the errors of an op are measured in: ulp, or its error bound."""
    return CATALOG[op].tolerance.unit if op in CATALOG else "ulp"


def words(state: str) -> str:
    """A state or verdict as prose: timed out, not timed_out."""
    return state.replace("_", " ")


def type_order(name: str) -> tuple[int, str]:
    """A sort key that puts element types into the specification's order, unknown ones last."""
    known = list(ELEMENT_TYPES)
    return (known.index(name) if name in ELEMENT_TYPES else len(known), name)

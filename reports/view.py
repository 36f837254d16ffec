"""The contents of reports, computed from a run: ops, totals, the answer, cases that did not pass.

The renderers (HTML, JUnit, Markdown) only lay this out; every number they print comes from here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from conformance.catalog import CATALOG
from conformance.gate.baselines.comparison import REGRESSIONS, Comparison, Kind
from conformance.results.cells import FILTERED, UNTESTED
from conformance.results.differences import Differences, differences
from conformance.results.remarks import other_incidents
from conformance.results.standings import Standing, conclusion, standings
from conformance.results.store import CellKey
from conformance.results.summary import RunData
from conformance.verdict import Errors, Verdict
from reports import text
from reports.findings import NO_FAMILY, CaseGroup, groups
from reports.squares import Square, square_of, type_order


@dataclass(frozen=True, slots=True)
class OpResults:
    """One op's section: its facts from the catalog, and its cells."""

    name: str
    family: str
    rule: str
    rule_text: str
    source: str
    constraints: tuple[str, ...]
    element_types: tuple[str, ...]
    cells: tuple[Square, ...]

    @property
    def is_planned(self) -> bool:
        """Whether the run planned any of its cells."""
        return any(cell.state != FILTERED for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Totals:
    """Every count with its denominator. cells = planned + filtered;
    planned = tested + unsupported + not_judged + untested."""

    ops: int
    ops_tested: int
    cells: int
    planned: int
    tested: int
    unsupported: int
    not_judged: int
    untested: int
    filtered: int
    cases: int
    pairs: int
    values: int
    new: int
    known: int
    unpredictable: int
    cells_failing: int
    cells_new: int
    by_verdict: tuple[tuple[Verdict, int], ...]


@dataclass(frozen=True)
class View:
    """The contents of a report."""

    run: RunData
    ops: tuple[OpResults, ...]
    cells: dict[CellKey, Square]
    backends: tuple[str, ...]
    element_types: tuple[str, ...]
    groups: tuple[CaseGroup, ...]
    totals: Totals
    standings: tuple[Standing, ...]
    db: str = ""
    comparison: Comparison | None = None

    @cached_property
    def differences(self) -> Differences:
        """The cases on which backends differ."""
        return differences(self.run)

    @property
    def status(self) -> str:
        """The answer: "empty", "fails", "known", "partial" or "conforms"."""
        if self.comparison is not None and self.comparison.is_failure:
            return "fails"
        if self.run.incidents:
            return "fails"
        found = [standing.status for standing in self.standings]
        ranks = ("fails", "known", "partial", "conforms")
        return next((rank for rank in ranks if rank in found), "empty")

    @property
    def headline(self) -> str:
        """The answer in one or two sentences, by backend."""
        if self.comparison is not None and self.comparison.is_failure:
            return f"Since the baseline: {'; '.join(_regressions(self.comparison))}."
        said = conclusion(self.standings)
        kept = "" if self.comparison is None else " Nothing is new or lost since the baseline."
        return f"{said}{kept}{_describe_batch_failures(self.run)}"


def _describe_batch_failures(run: RunData) -> str:
    """Return the failures of the run that belong to no case in words, "" for none."""
    incidents = len(other_incidents(run))
    batches = len(run.incidents) - incidents
    parts = [text.plural(batches, "lost batch", "lost batches")] if batches else []
    parts += [text.plural(incidents, "incident")] if incidents else []
    return f" The run fails: {', '.join(parts)}." if parts else ""


def _regressions(comparison: Comparison) -> list[str]:
    """Return the losses of each backend against the baseline; others are left out."""
    counts: dict[str, Counter[Kind]] = defaultdict(Counter)
    for change in comparison.changes:
        if change.kind in REGRESSIONS:
            counts[change.backend][change.kind] += 1
    return [
        f"{text.changes(found, filter(found.get, REGRESSIONS))} on {backend}"
        for backend, found in counts.items()
    ]


def build(run: RunData, db: str = "", comparison: Comparison | None = None) -> View:
    """Compute the contents of a run's reports, including its comparison with a baseline.

    `db` is the folder in which `replay` finds the run.
    """
    cells = {key: square_of(cell) for key, cell in run.cells.items()}
    ops = _ops(cells.values())
    described = [backend.name for backend in run.backends]
    backends = tuple(dict.fromkeys([*described, *(name for _, _, name in cells)]))
    types = tuple(sorted({cell.element_type for cell in cells.values()}, key=type_order))
    totals = _totals(run, ops, cells)
    standing = standings(run)
    return View(run, ops, cells, backends, types, groups(run, db), totals, standing, db, comparison)


def _ops(cells: Iterable[Square]) -> tuple[OpResults, ...]:
    by_op: dict[str, list[Square]] = defaultdict(list)
    for cell in cells:
        by_op[cell.op].append(cell)
    order = {name: index for index, name in enumerate(CATALOG)}
    names = sorted(by_op, key=lambda name: (order.get(name, len(order)), name))
    return tuple(_op(name, tuple(by_op[name])) for name in names)


def _op(name: str, cells: tuple[Square, ...]) -> OpResults:
    row = CATALOG.get(name)
    if row is None:
        types = tuple(dict.fromkeys(cell.element_type for cell in cells))
        return OpResults(name, NO_FAMILY, "none", "", "", (), types, cells)
    rule = row.tolerance
    types = tuple(of.name for of in row.element_types)
    return OpResults(
        name, row.family, rule.name, rule.text, rule.source, tuple(row.constraints), types, cells
    )


def _totals(run: RunData, ops: Sequence[OpResults], cells: dict[CellKey, Square]) -> Totals:
    states = Counter(cell.state for cell in cells.values())
    tested = [cell for cell in cells.values() if cell.is_tested]
    verdicts = Counter(record.verdict for record in run.records)
    return Totals(
        ops=len(ops),
        ops_tested=len({cell.op for cell in tested}),
        cells=len(cells),
        planned=len(cells) - states[FILTERED],
        tested=len(tested),
        unsupported=states[Verdict.UNSUPPORTED],
        not_judged=states[Verdict.NOT_JUDGED],
        untested=states[UNTESTED],
        filtered=states[FILTERED],
        cases=len(run.records),
        pairs=sum(record.pairs for record in run.records),
        values=sum(record.values for record in run.records),
        new=sum(record.is_new_failure for record in run.records),
        known=sum(record.verdict.fails and bool(record.known) for record in run.records),
        unpredictable=run.unpredictable,
        cells_failing=sum(cell.failing > 0 for cell in cells.values()),
        cells_new=sum(cell.new > 0 for cell in cells.values()),
        by_verdict=tuple((verdict, verdicts[verdict]) for verdict in Verdict),
    )


def changes_of(seen: View, backend: str, kind: Kind) -> int:
    """Return the number of a backend's cases that changed in this way since the baseline."""
    since = seen.comparison
    return 0 if since is None else sum(one.backend == backend for one in since.of(kind))


def errors_of(run: RunData, cell: Square) -> Errors | None:
    """Return the stored errors of a cell, or None."""
    found = run.errors.get(cell.key)
    return found if found is not None and any(found.histogram) else None


def filters(run: RunData) -> list[tuple[str, str]]:
    """Return the options that selected this run's cells as (option, value); unused options are left
    out.
    """
    items: list[tuple[str, str]] = []
    for name, value in run.filters.items():
        if value not in (None, "", [], ()):
            listed = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
            items.append((name.replace("_", " "), ", ".join(map(str, listed))))
    return items

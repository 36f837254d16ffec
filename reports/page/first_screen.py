"""The first screen of the report: each backend's cells by status, changes, and backends that differ
from the rest.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from conformance.gate.baselines.comparison import REGRESSIONS, Kind
from conformance.results.read_back import read_back_of
from conformance.results.remarks import Remarks, is_new, remarks_on
from conformance.results.standings import PREDICATES, CellStatus, Standing
from conformance.verdict import LostBatch, Verdict
from reports import findings, squares, text, view
from reports.page.cells import families
from reports.view import View

_TOLD = (Kind.OTHER_VALUES, Kind.NEW, Kind.LOST, Kind.FIXED)
"""Kinds of changes since a baseline that the first screen shows."""


@dataclass(frozen=True, slots=True)
class Count:
    """A count with its name, the link to what it counts, and whether it is a failure.

    `share` is its percentage of the bar.
    """

    name: str
    words: str
    count: int
    address: str
    is_failure: bool
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class BackendRow:
    """One backend on the first screen."""

    standing: Standing
    cells: tuple[Count, ...]
    changes: tuple[Count, ...]
    alone: Count | None
    worst: str
    """The reason, in two words, if it is the worst of the backends; otherwise ""."""
    address: str
    remarks: Remarks
    left_out: str
    """The link to the cells that were not tested."""


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """The rows of all backends, and the cases on which they differ."""

    rows: tuple[BackendRow, ...]
    headings: tuple[str, ...]
    changes: tuple[str, ...]
    differing: int
    compared: int
    of_support: int
    has_alone: bool


def first_screen(seen: View) -> FirstScreen:
    """Return the summary of each backend for the first screen."""
    several = len(seen.standings) > 1
    differing = seen.differences.cases if several else ()
    compared = seen.differences.compared if several else 0
    has_alone = compared > 0
    most = max(((one.new, one.failing) for one in seen.standings), default=(0, 0))
    worst = [one.backend for one in seen.standings if (one.new, one.failing) == most and any(most)]
    label = "most new" if most[0] else "fails most"
    rows = tuple(
        BackendRow(
            standing,
            tuple(_cells(standing, status) for status in CellStatus),
            _changes(seen, standing.backend),
            _differing_count(seen, standing.backend) if has_alone else None,
            label if several and worst == [standing.backend] else "",
            text.fragment(matrix=standing.backend),
            remarks_on(seen.run, standing.backend),
            text.fragment(**{"matrix": standing.backend, "is": CellStatus.UNTESTED.value}),
        )
        for standing in seen.standings
    )
    return FirstScreen(
        rows,
        tuple(PREDICATES.values()),
        tuple(kind.value for kind in _TOLD) if seen.comparison is not None else (),
        sum(not case.is_of_support for case in differing),
        compared,
        sum(case.is_of_support for case in differing),
        has_alone,
    )


def _cells(standing: Standing, status: CellStatus) -> Count:
    count = standing.cells[status]
    share = 100 * count / standing.planned if standing.planned else 0.0
    address = text.fragment(**{"matrix": standing.backend, "is": status.value})
    return Count(status.value, PREDICATES[status], count, address, status is CellStatus.NEW, share)


def _changes(seen: View, backend: str) -> tuple[Count, ...]:
    since = seen.comparison
    if since is None:
        return ()
    counts = Counter(change.kind for change in since.changes if change.backend == backend)
    return tuple(
        Count(
            text.slug(kind.value),
            f"{kind.value} since the baseline",
            counts[kind],
            text.fragment(
                change=text.slug(kind.value), backend=backend if len(seen.backends) > 1 else ""
            ),
            kind in REGRESSIONS,
        )
        for kind in _TOLD
    )


def _differing_count(seen: View, backend: str) -> Count:
    count = seen.differences.lone_backends.get(backend, 0)
    return Count("alone", "differs alone", count, text.fragment(alone=backend), False)


def batches(seen: View) -> list[tuple[LostBatch, str]]:
    """Return the batches that failed as a whole, with the consequence for the run: new ones
    first, those that are no failures last.
    """
    ordered = sorted(
        seen.run.lost_batches, key=lambda batch: (not is_new(batch), not batch.verdict.fails)
    )
    return [(one, _consequence(seen, one)) for one in ordered]


def _consequence(seen: View, batch: LostBatch) -> str:
    if batch.known:
        reason = findings.explanation(seen.run, batch.known)[0].rstrip(".")
        return f"Known by {batch.known}{': ' if reason else ''}{reason}."
    if is_new(batch):
        return "New, so the run fails."
    return "No failure: the backend says that it does not implement the batch."


def run_facts(seen: View) -> list[tuple[str, str]]:
    """Return the scope, versions and date of the run as (name, value)."""
    run = seen.run
    found: list[tuple[str, str]] = []
    read_back = {one.backend: one.share for one in read_back_of(run)}
    for backend in run.backends:
        versions = ", ".join(f"{name} {version}" for name, version in backend.versions)
        about = [f"{backend.platform}, {backend.device}", versions]
        about += [read_back[backend.name]] if backend.name in read_back else []
        found.append((f"Backend {backend.name}", " · ".join(part for part in about if part)))
    shared = ", ".join(f"{name} {version}" for name, version in sorted(run.versions.items()))
    found.append(("Versions", shared or "not recorded"))
    began = run.started.replace("T", " ").replace("+00:00", " UTC") or "not recorded"
    found.append(("Profile, seed, start", f"{run.profile}, {run.seed}, {began}"))
    memory = ", ".join(f"{part} {size:,.0f} MB" for part, size in sorted(run.peak_rss_mb.items()))
    work = f"{text.duration(run.seconds)}, {text.plural(run.modules, 'module')} compiled"
    found.append(("Time and peak memory", f"{work}; {memory or 'memory not recorded'}"))
    chosen = view.filters(run)
    if chosen:
        found.append(("Filters", "; ".join(f"{name}: {value}" for name, value in chosen)))
    return found


def cells_by_state(seen: View) -> list[tuple[str, int]]:
    """Return the planned cells by state as (state, cells), in order of severity."""
    states = Counter(c.state for c in seen.cells.values() if c.state != squares.FILTERED)
    order = [*(verdict.value for verdict in Verdict), squares.UNTESTED]
    return [(state, states[state]) for state in order if states[state]]


def filter_choices(seen: View) -> dict[str, Any]:
    """Return the filters of the page: verdicts, families, element types."""
    planned = [cell for cell in seen.cells.values() if cell.state != squares.FILTERED]
    present = {cell.state for cell in planned} | {r.verdict.value for r in seen.run.records}
    order = (*(verdict.value for verdict in Verdict), squares.UNTESTED)
    types = {cell.element_type for cell in planned}
    return {
        "verdicts": [state for state in order if state in present],
        "families": families(op for op in seen.ops if op.is_planned),
        "types": [name for name in seen.element_types if name in types],
        "statuses": PREDICATES,
    }

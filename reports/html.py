"""The HTML report: one offline file that answers whether a backend conforms, and shows why not.

Nothing is fetched (a content security policy forbids it), and text from programs, messages and
names is escaped wherever it lands: autoescaping in the markup, \\u escapes in the embedded data,
`textContent` in the script.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from conformance.gate.comparison import REGRESSIONS, Comparison, Kind
from conformance.gate.conclusion import Group as ChangedGroup
from conformance.gate.conclusion import grouped, scope
from conformance.judging.wording import beside
from conformance.results.agreement import open_cases
from conformance.results.store import CellKey
from conformance.results.summary import RunData
from conformance.verdict import Verdict
from reports import findings, plots, squares, text, view
from reports.findings import Finding, Group
from reports.programs import pretty_forms
from reports.squares import Square
from reports.view import OpResults, View

FULL_PER_GROUP = 12
"""Findings of one class that are shown whole; the others are listed by the id to replay."""
FULL_PER_REPORT = 400
IDS_PER_GROUP = 60
PROGRAM_LIMIT, MESSAGE_LIMIT, EXPANDED_LIMIT = 3_000, 600, 6_000
GALLERY = 6
CHANGES = 200
"""Groups of changes listed of each kind."""


def render(run: RunData, out: Path, comparison: Comparison | None = None) -> None:
    """Write `out`/index.html, with what changed since a baseline where one was compared.

    Raises:
        OSError: when the folder cannot be written.
    """
    seen = view.build(run, findings.db_of(out), comparison)
    with ThreadPoolExecutor(1) as beside:  # a worker prints programs while we draw pictures
        pretty = beside.submit(pretty_forms, [*_programs(seen)])
        page = _html(seen, pretty.result)
    # a lone surrogate is no text: it becomes its escape, in the markup and in the data alike
    (out / "index.html").write_bytes(page.encode("utf-8", "backslashreplace"))


def html(run: RunData, db: str = "", comparison: Comparison | None = None) -> str:
    """The report as one HTML document, with programs as they are stored.

    `db` is the folder that `replay` is to be told.
    """
    return _html(view.build(run, db, comparison), dict)


def _programs(seen: View) -> Iterator[str]:
    """The programs of all findings that are shown whole."""
    for listed in _listed(seen.groups):
        for finding in listed.whole:
            if finding.record.detail is not None:
                yield finding.record.detail.program


def _html(seen: View, pretty: Callable[[], Mapping[str, str]]) -> str:
    """The page; programs in their `pretty` forms, which are asked for once all else is there."""
    sections = [
        _op_section(seen, number, op) for number, op in enumerate(seen.ops) if op.is_planned
    ]
    return template("index.html").render(
        view=seen,
        run=seen.run,
        totals=seen.totals,
        facts=_facts(seen),
        compared=None if seen.comparison is None else _compared(seen, seen.comparison),
        matrices=[_matrix(seen, backend) for backend in seen.backends],
        strip=_strip(seen),
        statuses=_statuses(seen),
        sections=sections,
        open_cases=open_cases(seen.run),
        gallery=_gallery(seen),
        columns=seen.element_types,
        families=list(dict.fromkeys(op.family for op in seen.ops if op.is_planned)),
        types=[t for t in seen.element_types if _is_planned_type(seen, t)],
        verdicts=_verdicts_present(seen),
        data=embedded(_data(seen)),
        pretty=pretty(),
    )


@cache
def template(name: str) -> jinja2.Template:
    """A template of the pages, with what they have in common: filters, glyphs, escaping."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reports", "templates"),
        autoescape=True,
        finalize=_without_controls,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "count": text.count, "ulp": text.ulp, "unit": squares.unit_of, "plural": text.plural,
        "visible": text.visible, "one_line": text.one_line, "beside": beside, "slug": text.slug,
        "words": squares.words, "duration": text.duration, "web_link": text.web_link,
        "clip": _clip,
    }  # fmt: skip
    environment.filters.update(filters)
    constants: dict[str, Any] = {
        "glyphs": squares.GLYPHS, "meanings": squares.MEANINGS, "message_limit": MESSAGE_LIMIT,
        "program_limit": PROGRAM_LIMIT,
    }  # fmt: skip
    environment.globals.update(constants)
    return environment.get_template(name)


def _without_controls(value: Any) -> Any:
    """What every {{ ... }} passes through, so that no place can forget it."""
    is_markup = hasattr(value, "__html__")
    return text.visible(value) if isinstance(value, str) and not is_markup else value


def embedded(value: Any) -> str:
    """JSON that is safe inside a <script> element: no <, >, & and no line separators in it."""
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        plain = plain.replace(character, f"\\u{ord(character):04x}")
    return plain


@dataclass(frozen=True, slots=True)
class Clipped:
    """Text in three parts: shown, shown on demand, and the number of characters left out."""

    head: str
    rest: str
    omitted: int


def _clip(given: str, limit: int) -> Clipped:
    plain = text.visible(given)
    head, left = text.clipped(plain, limit)
    rest, omitted = text.clipped(plain[len(plain) - left :] if left else "", EXPANDED_LIMIT)
    return Clipped(head, rest, omitted)


def _facts(seen: View) -> list[tuple[str, str]]:
    """What was tested, with what, when: the lines under the headline."""
    run = seen.run
    facts: list[tuple[str, str]] = []
    for backend in run.backends:
        versions = ", ".join(f"{name} {version}" for name, version in backend.versions)
        about = [f"{backend.platform}, {backend.device}", versions]
        facts.append((f"Backend {backend.name}", " · ".join(part for part in about if part)))
    shared = ", ".join(f"{name} {version}" for name, version in sorted(run.versions.items()))
    facts.append(("Versions", shared or "not recorded"))
    began = run.started.replace("T", " ").replace("+00:00", " UTC") or "not recorded"
    facts.append(("Profile, seed, start", f"{run.profile}, {run.seed}, {began}"))
    memory = ", ".join(f"{part} {size:,.0f} MB" for part, size in sorted(run.peak_rss_mb.items()))
    work = f"{text.duration(run.seconds)}, {text.plural(run.modules, 'module')} compiled"
    facts.append(("Time and peak memory", f"{work}; {memory or 'memory not recorded'}"))
    if view.filters(seen.run):
        facts.append(("Filters", "; ".join(f"{k}: {v}" for k, v in view.filters(seen.run))))
    return facts


def _is_planned_type(seen: View, name: str) -> bool:
    return any(
        cell.state != squares.FILTERED for cell in seen.cells.values() if cell.element_type == name
    )


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A group of changes; `links` are its element types with the addresses of their cells."""

    group: ChangedGroup
    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ChangedKind:
    """What changed in one way: how much, and the groups that are listed out of `total`."""

    name: str
    anchor: str
    count: int
    is_failure: bool
    about: str
    rows: tuple[ChangedRow, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison with a baseline as the page tells it."""

    kinds: tuple[ChangedKind, ...]
    scope: str
    unexplained: int
    differences: tuple[tuple[str, str, str], ...]


ABOUT = {
    Kind.NEW: "fail, no expectation knows that, and did not fail so in the baseline",
    Kind.LOST: "gave results in the baseline; now unsupported, rejected, crashed or not run",
    Kind.FIXED: "failed in the baseline, and pass",
    Kind.GAINED: "were not supported in the baseline, and give results",
    Kind.CHANGED: "are wrong in another way than in the baseline",
}


def _compared(seen: View, comparison: Comparison) -> Compared:
    kinds = tuple(_changed(seen, comparison, kind) for kind in Kind)
    said = text.sentence(scope(comparison))
    return Compared(kinds, said, comparison.unexplained, comparison.differences)


def _changed(seen: View, comparison: Comparison, kind: Kind) -> ChangedKind:
    count, groups = comparison.counts[kind], grouped(comparison.of(kind))
    rows = tuple(ChangedRow(group, _links(seen, group)) for group in groups[:CHANGES])
    anchor = f"changes-{text.slug(kind.value)}"
    is_failure = kind in REGRESSIONS and count > 0
    return ChangedKind(kind.value, anchor, count, is_failure, ABOUT[kind], rows, len(groups))


def _links(seen: View, group: ChangedGroup) -> tuple[tuple[str, str], ...]:
    keys = ((group.op, of, group.backend) for of in group.element_types)
    return tuple((key[1], seen.cells[key].address) for key in keys)


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One op's line of the matrix: a square, or None, per column."""

    op: OpResults
    planned: bool
    cells: tuple[Square | None, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """One backend's matrix; `families` are (name, rows), `columns` (element type, is planned)."""

    backend: str
    columns: tuple[tuple[str, bool, str], ...]
    families: tuple[tuple[str, tuple[MatrixRow, ...]], ...]


def _matrix(seen: View, backend: str) -> Matrix:
    families: dict[str, list[MatrixRow]] = {}
    planned_types: set[str] = set()
    for op in seen.ops:
        cells = tuple(seen.cells.get((op.name, of, backend)) for of in seen.element_types)
        planned = [cell for cell in cells if cell is not None and cell.state != squares.FILTERED]
        planned_types |= {cell.element_type for cell in planned}
        families.setdefault(op.family, []).append(MatrixRow(op, bool(planned), cells))
    columns = tuple((of, of in planned_types, _column_kind(of)) for of in seen.element_types)
    return Matrix(backend, columns, tuple((name, tuple(rows)) for name, rows in families.items()))


def _column_kind(name: str) -> str:
    """Columns of one kind stand together; the matrix parts them by a little space."""
    return next((kind for kind in ("si", "ui", "f4", "f6", "f8", "i1", "complex", "q<")
                 if name.startswith(kind)), "float")  # fmt: skip


def _strip(seen: View) -> list[tuple[str, int, float]]:
    """The bar of cells by state, in order of severity: (state, cells, percent of planned)."""
    states = Counter(c.state for c in seen.cells.values() if c.state != squares.FILTERED)
    total = sum(states.values()) or 1
    order = [*(verdict.value for verdict in Verdict), squares.UNTESTED]
    return [(state, states[state], 100 * states[state] / total) for state in order if states[state]]


def _verdicts_present(seen: View) -> list[str]:
    present = {cell.state for cell in seen.cells.values()}
    present |= {record.verdict.value for record in seen.run.records}
    return [
        s for s in (*(v.value for v in Verdict), squares.UNTESTED, squares.FILTERED) if s in present
    ]


@dataclass(frozen=True, slots=True)
class Listed:
    """A class of findings as the page lists it: some whole, some by id, the rest by number.

    `is_first` tells the first of all.
    """

    group: Group
    is_first: bool
    whole: tuple[Finding, ...]
    brief: tuple[Finding, ...]
    omitted: int


def _listed(groups: tuple[Group, ...]) -> list[Listed]:
    left = FULL_PER_REPORT
    listed: list[Listed] = []
    for group in groups:
        whole = group.findings[: min(FULL_PER_GROUP, left)]
        left -= len(whole)
        rest = group.findings[len(whole) :]
        brief, omitted = rest[:IDS_PER_GROUP], len(rest[IDS_PER_GROUP:])
        listed.append(Listed(group, not listed, whole, brief, omitted))
    return listed


@dataclass(frozen=True, slots=True)
class Status:
    """The classes of one status: new ones stand open on the page, the others are folded."""

    name: str
    title: str
    about: str
    listed: tuple[Listed, ...]

    @property
    def is_open(self) -> bool:
        """Whether it stands open."""
        return self.name == findings.NEW


def _statuses(seen: View) -> list[Status]:
    """The statuses that have findings, in the order of the page."""
    totals, listed = seen.totals, _listed(seen.groups)
    about = {
        findings.NEW: ("New", f"{text.plural(totals.new, 'case')} that no expectation knows"),
        findings.KNOWN: (
            "Known", f"{text.plural(totals.known, 'case')}, explained by an expectation",
        ),
        findings.OPEN: (
            "Left open by the specification", "no failures; recorded to compare backends",
        ),
    }  # fmt: skip
    found = [
        Status(name, *words, tuple(one for one in listed if one.group.status == name))
        for name, words in about.items()
    ]
    return [status for status in found if status.listed]


@dataclass(frozen=True, slots=True)
class OpSection:
    """One op's section: pictures, and in words what needs none."""

    op: OpResults
    histograms: tuple[tuple[str, str], ...]
    scatters: tuple[str, ...]
    exact: tuple[tuple[str, tuple[str, ...]], ...]
    unsupported: tuple[tuple[str, tuple[str, ...]], ...]


def _op_section(seen: View, number: int, op: OpResults) -> OpSection:
    histograms: list[tuple[str, str]] = []
    scatters: list[str] = []
    exact: list[tuple[str, tuple[str, ...]]] = []
    for place, backend in enumerate(seen.backends):
        cells = sorted(
            (c for c in op.cells if c.backend == backend),
            key=lambda c: squares.type_order(c.element_type),
        )
        series = [found for cell in cells if (found := _series(seen, cell)) is not None]
        uneven = [found for found in series if sum(found.histogram[1:])]
        if uneven:
            histograms.append(
                (
                    backend,
                    plots.histogram_svg(uneven, f"h{number}-{place}", squares.unit_of(op.name)),
                )
            )
        even = tuple(found.label for found in series if not sum(found.histogram[1:]))
        if even:
            exact.append((backend, even))
        for panel, found in enumerate(found for found in uneven if len(found.points) > 1):
            scatters.append(plots.scatter_svg(found, f"p{number}-{place}-{panel}"))
    return OpSection(op, tuple(histograms), tuple(scatters), tuple(exact), _refusals(op))


def _series(seen: View, cell: Square) -> plots.Series | None:
    errors = view.errors_of(seen.run, cell)
    if errors is None:
        return None
    return plots.Series(
        text.visible(cell.element_type), tuple(errors.histogram), tuple(errors.points), cell.budget
    )


def _refusals(op: OpResults) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Why the backend does not support cells of this op: (message, element types)."""
    reasons: dict[str, dict[str, None]] = {}
    for cell in op.cells:
        for record in cell.records:
            if record.verdict is Verdict.UNSUPPORTED:
                reasons.setdefault(text.one_line(record.message), {})[cell.element_type] = None
    return tuple((reason, tuple(types)) for reason, types in reasons.items())


def _gallery(seen: View) -> list[tuple[Square, str]]:
    """The pictures of the cells that are nearest to their budgets, or furthest beyond."""
    ranked: list[tuple[float, Square]] = []
    for cell in seen.cells.values():
        errors = view.errors_of(seen.run, cell)
        if errors is not None and len(errors.points) > 1 and cell.budget and cell.worst:
            ranked.append((-cell.worst / cell.budget, cell))
    ranked.sort(key=lambda item: (item[0], item[1].key))
    shown: list[tuple[Square, str]] = []
    ops: Counter[str] = Counter()
    for _, cell in ranked:
        ops[cell.op] += 1
        series = _series(seen, cell)
        if series is not None and ops[cell.op] == 1 and len(shown) < GALLERY:
            shown.append((cell, plots.scatter_svg(series, f"g{len(shown)}")))
    return shown


def _data(seen: View) -> dict[str, Any]:
    """What the script needs: every planned cell's detail and a line on each finding."""
    anchors: dict[CellKey, list[str]] = {}
    lines: dict[str, list[str]] = {}
    for listed in _listed(seen.groups):
        for finding in (*listed.whole, *listed.brief):
            record = finding.record
            key = (record.op, record.element_type, record.backend)
            anchors.setdefault(key, []).append(finding.anchor)
            status = "" if listed.group.status == findings.OPEN else listed.group.status
            lines[finding.anchor] = [
                text.visible(record.id), record.verdict.value, text.one_line(record.kind, 80),
                text.one_line(record.message), status,
            ]  # fmt: skip
    cells = {
        cell.address: _cell_data(seen, cell, anchors.get(cell.key, []))
        for cell in seen.cells.values()
        if cell.state != squares.FILTERED
    }
    rules = {
        text.visible(op.name): [text.visible(op.family), text.one_line(op.rule, 80)]
        for op in seen.ops
    }
    return {
        "cells": cells, "findings": lines, "ops": rules, "glyphs": squares.GLYPHS,
        "meanings": squares.MEANINGS,
    }  # fmt: skip


def _cell_data(seen: View, cell: Square, anchors: list[str]) -> dict[str, Any]:
    errors = view.errors_of(seen.run, cell)
    refusals = dict.fromkeys(
        text.one_line(r.message) for r in cell.records if r.verdict is Verdict.UNSUPPORTED
    )
    return {
        "op": text.visible(cell.op), "type": text.visible(cell.element_type),
        "backend": text.visible(cell.backend), "state": cell.state,
        "section": f"op-{text.slug(cell.op)}",
        "cases": len(cell.records), "pairs": sum(r.pairs for r in cell.records),
        "values": cell.values, "failing": cell.failing, "new": cell.new,
        "unit": cell.unit,
        "worst": None if cell.worst is None else text.ulp(cell.worst),
        "budget": None if cell.budget is None else text.ulp(cell.budget),
        "verdicts": {verdict.value: n for verdict, n in sorted(cell.verdicts.items())},
        "histogram": plots.sparse(errors.histogram) if errors else {},
        "findings": anchors, "refusals": list(refusals)[:5],
        "replay": next((findings.replay_command(r, seen.db) for r in cell.records
                        if r.verdict.fails), ""),
    }  # fmt: skip

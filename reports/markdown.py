"""The Markdown summary, short enough for a CI job's page or a pull request."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path

from conformance.gate.baselines.comparison import REGRESSIONS, Comparison, Kind
from conformance.gate.conclusion import ChangeGroup, group_changes, scope_line
from conformance.results.agreement import unspecified_cases
from conformance.results.read_back import read_back_of
from conformance.results.remarks import is_new, other_incidents, remarks_on
from conformance.results.standings import PREDICATES
from conformance.results.summary import RunData
from conformance.verdict import LostBatch
from reports import findings, squares, text, view
from reports.findings import CaseGroup
from reports.squares import Square
from reports.view import View

ROWS = 40
WORST = 15
CHANGES = 20


def render(
    run: RunData, out: Path, comparison: Comparison | None = None, more: Sequence[str] = ()
) -> None:
    """Write `out`/summary.md, with the changes since a baseline if there is a comparison.

    `more` are sections that follow.

    Raises:
        OSError: if the folder cannot be written.
    """
    write(view.build(run, comparison=comparison), out, more)


def write(seen: View, out: Path, more: Sequence[str] = ()) -> None:
    """Write `out`/summary.md from the view of a run, with `more` sections.

    Raises:
        OSError: when the folder cannot be written.
    """
    (out / "summary.md").write_text(_markdown(seen, more), encoding="utf-8")


def markdown(run: RunData, comparison: Comparison | None = None, more: Sequence[str] = ()) -> str:
    """Return the summary as GitHub's Markdown, with tables."""
    return _markdown(view.build(run, comparison=comparison), more)


def _markdown(seen: View, more: Sequence[str]) -> str:
    comparison = seen.comparison
    parts = [
        f"# {escape(seen.headline)}", _standings(seen), _remarks(seen), _lone_backend(seen),
        "" if comparison is None else _changes(comparison),
        _divergences("New divergences", seen, findings.NEW),
        *more, _batches(seen), _totals(seen), _verdicts(seen),
        _divergences("Known divergences", seen, findings.KNOWN),
        _unspecified_cases(seen), _stale_text(seen),
        _accuracy(seen), _run_lines(seen),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def escape(given: str, limit: int = 160) -> str:
    """Return foreign text on one line as Markdown without markup, links or mentions."""
    flat = html.escape(text.clip_line(given, limit), quote=False)
    flat = re.sub(r"([\\`*\[\]|~@]|(?<!\w)_|_(?!\w)|#(?=\d)|^[-+#>=])", r"\\\1", flat)
    return flat.replace("://", ":\\//").replace("www.", "www\\.")


def code(given: str) -> str:
    """Return foreign text as inline code that it cannot end, usable in a table."""
    flat = text.clip_line(given, 160)
    if flat and not set(flat) & set("`|\\"):
        return f"`{flat}`"
    flat = re.sub(r"[`*_\[\]|\\~@]", lambda m: f"&#{ord(m[0])};", html.escape(flat, quote=False))
    return f"<code>{flat}</code>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], right: int) -> str:
    """Return a table; the columns from number `right` on are numbers, aligned right."""
    rule = ["---" if number < right else "---:" for number in range(len(head))]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))


def _standings(seen: View) -> str:
    """Return a row for each backend: its cells by status, and changes since the baseline."""
    since = seen.comparison
    kinds = () if since is None else (Kind.OTHER_VALUES, Kind.NEW, Kind.LOST, Kind.FIXED)
    rows: list[tuple[str, ...]] = []
    for standing in seen.standings:
        counts = [text.count(count) for count in standing.cells.values()]
        changed = [text.count(view.changes_of(seen, standing.backend, kind)) for kind in kinds]
        rows.append(
            (escape(standing.backend), escape(standing.verdict), standing.share, *counts, *changed)
        )
    since_baseline = [f"{kind.value} since the baseline" for kind in kinds]
    head = ("backend", "cases", "cells that conform", *PREDICATES.values(), *since_baseline)
    return _table(head, rows, 2) if rows else ""


def _remarks(seen: View) -> str:
    """Return a line for each backend with lost batches, cases left out, or a cache."""
    found = [remarks_on(seen.run, name) for name in seen.backends]
    return "\n".join(f"- {escape(one.backend)}: {escape(one.line)}" for one in found if one.line)


BATCHES = 20
"""Largest number of lost batches and incidents that are listed."""


def _batches(seen: View) -> str:
    """Return the batches that failed as a whole, and the incidents, each in a line."""
    run = seen.run
    ordered = sorted(run.lost_batches, key=lambda batch: not is_new(batch))
    lines = [f"- {escape(one.line, 600)}{_consequence(one)}" for one in ordered]
    lines += [f"- {escape(line, 600)}" for line in other_incidents(run)]
    if not lines:
        return ""
    more = f"\n\n{len(lines) - BATCHES} more are in index.html." if len(lines) > BATCHES else ""
    return "## Batches and incidents\n\n" + "\n".join(lines[:BATCHES]) + more


def _consequence(batch: LostBatch) -> str:
    if batch.known:
        return f" (known by {code(batch.known)})"
    return "" if is_new(batch) else " (no failure: not implemented)"


def _lone_backend(seen: View) -> str:
    """Return which backend differs from all others, if at least three can be compared."""
    found = seen.differences
    if not found.cases:
        return ""
    said = f"The backends differ in {len(found.cases):,} of {found.compared:,} cases"
    alone = [f"{escape(name)} alone in {count:,}" for name, count in found.lone_backends.items()]
    return f"{said}{': ' if alone else ''}{', '.join(alone)}."


def _run_lines(seen: View) -> str:
    run = seen.run
    lines = [
        f"- {escape(b.name)}: {escape(b.platform)}, {escape(b.device)}"
        + "".join(f", {escape(n)} {escape(v)}" for n, v in b.versions)
        for b in run.backends
    ]
    lines += [f"- {escape(one.line, 400)}" for one in read_back_of(run)]
    shared = ", ".join(f"{escape(n)} {escape(v)}" for n, v in sorted(run.versions.items()))
    lines.append(f"- {shared or 'versions not recorded'}")
    lines.append(
        f"- profile {escape(run.profile)}, seed {run.seed}, {text.duration(run.seconds)}: "
        f"{code(run.command)}"
    )
    return "## Versions and command\n\n" + "\n".join(lines)


def _changes(comparison: Comparison) -> str:
    parts = [
        "## Against the baseline",
        f"**{text.changes(comparison.counts, Kind)}.**",
        escape(text.sentence(scope_line(comparison)), 2_000),
    ]
    if comparison.unexplained:
        count = text.plural(comparison.unexplained, "new case fails", "new cases fail")
        parts.append(f"{count} as in the baseline.")
    for kind in Kind:
        groups = group_changes(comparison.of(kind))
        if groups:
            parts += [f"### {kind.value.capitalize()}", _changes_table(kind, groups)]
    return "\n\n".join(parts)


def _changes_table(kind: Kind, groups: Sequence[ChangeGroup]) -> str:
    shown = groups[: CHANGES if kind in REGRESSIONS else CHANGES // 2]
    rows = [
        (escape(one.op), _join_some(one.element_types), escape(one.backend),
         escape(one.before) if one.changes[0].before else "–", escape(one.after),
         escape(one.message), one.cases)
        for one in shown
    ]  # fmt: skip
    head = ("op", "element types", "backend", "baseline", "this run", "message", "changed")
    left = len(groups) - len(shown)
    return _table(head, rows, 6) + (f"\n\n{left} more are in index.html." if left else "")


def _coverage(seen: View) -> list[tuple[str, str, str]]:
    """Return the coverage of the cases, if known; runs of older versions do not state it."""
    rows: list[tuple[str, str, str]] = []
    for dialect, one in seen.run.coverage_by_dialect.items():
        values = (text.count(one.values), text.count(one.declared_values))
        pairs = (text.count(one.pairs), text.count(one.declared_pairs))
        rows += [
            (f"values of dimensions of variation, {dialect}", *values),
            (f"pairs of these values, {dialect}", *pairs),
        ]
    return rows


def _totals(seen: View) -> str:
    totals = seen.totals
    rows = [
        ("ops tested", text.count(totals.ops_tested), text.count(totals.ops)),
        ("cells tested", text.count(totals.tested), text.count(totals.planned)),
        ("cells unsupported", text.count(totals.unsupported), text.count(totals.planned)),
        ("cells not judged", text.count(totals.not_judged), text.count(totals.planned)),
        ("cells untested", text.count(totals.untested), text.count(totals.planned)),
        ("cells filtered out", text.count(totals.filtered), text.count(totals.cells)),
        *_coverage(seen),
        ("cases with new divergences", text.count(totals.new), text.count(totals.cases)),
        ("cases with known divergences", text.count(totals.known), text.count(totals.cases)),
        *_unpredictable_rows(seen),
        *_describe_predicted(seen),
    ]
    judged = f"{text.plural(totals.cases, 'case')}, {text.plural(totals.values, 'value')} judged."
    return _table(("", "count", "of"), rows, 1) + "\n\n" + judged


def _unpredictable_rows(seen: View) -> list[tuple[str, str, str]]:
    """Return the number of known failures that no program predicts, if there are any."""
    totals = seen.totals
    if not totals.unpredictable:
        return []
    counts = (text.count(totals.unpredictable), text.count(totals.known))
    return [("of these, cases with elements that no program predicts", *counts)]


def _describe_predicted(seen: View) -> list[tuple[str, str, str]]:
    """Return the number of predicted elements of known failures, if there are any."""
    known = seen.run.known_elements
    rows: list[tuple[str, str, str]] = []
    if known.percent is not None:
        about = (
            f"elements of entries that predict values, within 2 ulp of them ({known.percent:g} %)"
        )
        rows.append((about, text.count(known.predicted), text.count(known.predictable)))
    if known.unpredictable:
        about = "elements that fail as known and may have any value"
        rows.append((about, text.count(known.unpredictable), text.count(known.count)))
    return rows


def _verdicts(seen: View) -> str:
    rows = [
        (squares.words(verdict), text.count(number), squares.MEANINGS[verdict])
        for verdict, number in seen.totals.by_verdict
        if number
    ]
    return "## Verdicts\n\n" + _table(("verdict", "cases", "means"), rows, 3) if rows else ""


def _divergences(title: str, seen: View, status: str) -> str:
    groups = [group for group in seen.groups if group.status == status]
    if not groups:
        return ""
    rows = [_group(group) for group in groups[:ROWS]]
    more = f"\n\n{len(groups) - ROWS} more classes are in index.html." if len(groups) > ROWS else ""
    head = ("verdict", "class", "op", "element types", "replay the first", "cases")
    return f"## {title}\n\n" + _table(head, rows, 5) + more


def _group(group: CaseGroup) -> tuple[str, ...]:
    link = text.web_link(group.link)
    about = escape(group.kind)
    if group.status == findings.KNOWN:
        about = f"{code(group.known)} {escape(group.reason)}"
        about += (
            f" ([more](<{html.escape(link)}>))" if link and not set(link) & set("<>|\\") else ""
        )
    return (
        squares.words(group.verdict), about, _join_some(group.ops), _join_some(group.element_types),
        code(group.findings[0].record.id), text.count(len(group.findings)),
    )  # fmt: skip


def _join_some(names: Sequence[str], limit: int = 6) -> str:
    shown = ", ".join(escape(name, 60) for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _stale_text(seen: View) -> str:
    fixed = seen.run.fixed
    other = [id_ for id_ in seen.run.stale if id_ not in fixed]
    told = (
        (fixed, "Fixed, as their counterexamples pass now"),
        (other, "Expectations whose counterexamples no longer reproduce"),
    )
    return "\n\n".join(f"{words}: {', '.join(map(code, ids))}." for ids, words in told if ids)


def _unspecified_cases(seen: View) -> str:
    """Return the cases on which backends differ in unspecified results."""
    cases = unspecified_cases(seen.run)
    if not cases:
        return ""
    differing = [case for case in cases if not case.agree]
    rows = [
        (escape(case.op), escape(case.element_type), str(case.index), escape(case.kind),
         escape(", ".join(f"{backend} {answer}" for backend, answer in case.answers)))
        for case in differing[:WORST]
    ]  # fmt: skip
    count = f"{len(cases) - len(differing)} of {len(cases)}"
    said = f"## Unspecified by the specification\n\nThe backends agree in {count} such cases."
    head = ("op", "element type", "case", "what is unspecified", "answers")
    return said + ("\n\n" + _table(head, rows, 5) if rows else "")


def _accuracy(seen: View) -> str:
    """Return the cells with the largest errors as shares of their budgets."""
    measured = [c for c in seen.cells.values() if c.worst and (c.share or 0) > 0]
    measured.sort(key=lambda c: (-_excess(c), c.key))
    rows = [
        (escape(c.op), escape(c.element_type), escape(c.backend), text.ulp(c.worst),
         text.ulp(c.budget), c.unit, squares.words(c.state))
        for c in measured[:WORST]
    ]  # fmt: skip
    head = ("op", "element type", "backend", "worst", "budget", "unit", "verdict")
    return "## Worst accuracy\n\n" + _table(head, rows, 3) if rows else ""


def _excess(cell: Square) -> float:
    worst, budget = cell.worst or 0.0, cell.budget or 0.0
    if worst != worst or not budget:
        return float("inf")
    return worst / budget

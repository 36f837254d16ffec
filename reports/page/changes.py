"""Changes since a baseline, as data of the page."""

from __future__ import annotations

from typing import Any

from conformance.gate.baselines.comparison import REGRESSIONS, Comparison, Kind
from conformance.gate.conclusion import ChangeGroup, group_changes, scope_line
from reports import text
from reports.page.cells import Tables

MOST_GROUPS = 200
"""Largest number of groups of changes listed per kind."""

ABOUT = {
    Kind.OTHER_VALUES: "have other wrong values than in the baseline, which nothing predicts",
    Kind.NEW: "fail, no expectation matches them, and they did not fail so in the baseline",
    Kind.LOST: "gave results in the baseline; now refused, crashed, not judged or not run",
    Kind.FIXED: "failed in the baseline, and pass",
    Kind.GAINED: "were not supported in the baseline, and give results",
    Kind.CHANGED: "are wrong in another way than in the baseline",
}


def changes(tables: Tables, comparison: Comparison) -> dict[str, Any]:
    """Return the changes of each kind in groups, and the differences of the runs themselves."""
    return {
        "scope": text.escape_controls(text.sentence(scope_line(comparison))),
        "unexplained": comparison.unexplained,
        "differences": [[text.clip_line(part) for part in row] for row in comparison.differences],
        "kinds": [_kind(tables, comparison, kind) for kind in Kind if comparison.counts[kind]],
    }


def _kind(tables: Tables, comparison: Comparison, kind: Kind) -> dict[str, Any]:
    groups = group_changes(comparison.of(kind))
    return {
        "name": kind.value, "slug": text.slug(kind.value), "count": comparison.counts[kind],
        "fails": kind in REGRESSIONS, "about": ABOUT[kind],
        "groups": [_group(tables, group) for group in groups[:MOST_GROUPS]],
        "omitted": max(0, len(groups) - MOST_GROUPS),
    }  # fmt: skip


def _group(tables: Tables, group: ChangeGroup) -> list[Any]:
    cells = [tables.number_of.get(key, -1) for key in {change.key: 0 for change in group.changes}]
    return [
        text.clip_line(group.op), text.clip_line(group.backend), cells, group.cases,
        text.clip_line(group.before) if group.changes[0].before else "not in it",
        text.clip_line(group.after), text.clip_line(group.message),
    ]  # fmt: skip

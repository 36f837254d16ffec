"""Changes since a baseline: groups of each kind, their cells, and what is left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.gate.baselines.baseline import ReadBaseline, baseline_of
from conformance.gate.baselines.comparison import Comparison, Kind, compare
from conformance.verdict import Verdict
from reports import view
from reports.page import changes as module
from reports.page.cells import Tables
from reports.page.changes import ABOUT, changes
from suites.meta.support import synthetic_run as synthetic


def worsened_run(count: int) -> tuple[Tables, Comparison]:
    """Return a run in which cases fail that passed before."""
    before = synthetic.run("passing")
    records = [
        replace(one, verdict=Verdict.DIVERGENT, kind="saturation", message=f"message {n}")
        if n < count else one
        for n, one in enumerate(before.records)
    ]  # fmt: skip
    now = replace(before, records=records)
    comparison = compare(now, ReadBaseline("old/baseline.txt", baseline_of(before)))
    return Tables(view.build(now, comparison=comparison)), comparison


def test_new_failures_are_grouped_and_fail() -> None:
    tables, comparison = worsened_run(2)
    found = changes(tables, comparison)
    (kind,) = found["kinds"]
    assert (kind["name"], kind["count"], kind["fails"]) == ("new", 2, True)
    assert kind["about"] == ABOUT[Kind.NEW]
    (op, backend, (cell,), cases, before, after, message) = kind["groups"][0]
    assert (op, backend, cases, message) == ("add", "cpu", "2 cases", "message 0")
    assert (before, after) == ("pass", "divergent (saturation)")
    assert cell in tables.number_of.values()


def test_kinds_without_changes_are_left_out() -> None:
    assert changes(*worsened_run(0))["kinds"] == []


def test_groups_beyond_the_most_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_GROUPS", 1)
    tables, comparison = worsened_run(8)
    (kind,) = changes(tables, comparison)["kinds"]
    assert len(kind["groups"]) == 1
    assert kind["omitted"] > 0


def test_every_kind_is_explained() -> None:
    assert set(ABOUT) == set(Kind)

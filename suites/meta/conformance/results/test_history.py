"""Histories: runs in order of time, with the cells in which they differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from conformance.results.history import History, PastRun, history_lines, past_run
from conformance.results.summary import RunData
from conformance.verdict import Record, Verdict
from suites.meta.support.synthetic_run import failure, run_of

ADD, SINE, DOT = (("add", "f32", "cpu"), ("sine", "f32", "cpu"), ("dot_general", "f32", "cpu"))


def passed(cell: tuple[str, str, str]) -> Record:
    return Record(*cell, 0, "0" * 16, Verdict.PASS)


def at(date: str, *records: Record, planned=(ADD, SINE), **versions: str) -> tuple[str, RunData]:
    made = run_of(list(records), {}, planned)
    return date, replace(made, started=date, versions=made.versions | versions)


def history(*runs: tuple[str, RunData]) -> History:
    past: list[PastRun] = [past_run(Path(date), run) for date, run in runs]
    return History(tuple(past), runs[-1][1])


def test_cells_that_changed_last_come_first() -> None:
    known = failure(SINE, 0, Verdict.DIVERGENT, known="subnormals")
    new = failure(ADD, 0, Verdict.INACCURATE)
    found = history(
        at("2026-01-01T00:00:00", passed(ADD), passed(SINE)),
        at("2026-02-01T00:00:00", passed(ADD), known, jax="0.13"),
        at("2026-03-01T00:00:00", new, known, planned=(ADD, SINE, DOT)),
    )
    assert [cell.key for cell in found.changed] == [ADD, SINE]
    assert [cell.last_change for cell in found.changed] == [2, 1]
    words = [[one and one.words for one in cell.outcomes] for cell in found.cells]
    assert words == [
        ["pass", "pass", "inaccurate, new"],
        ["pass", "divergent, known", "divergent, known"],
        [None, None, "untested"],
    ]
    assert found.differences(0) == ()
    assert found.differences(1) == (("jax", "0.12.0", "0.13"),)
    lines = history_lines(found)
    assert lines[0] == "2026-01-01 00:00 cpu: 2 of 2 cells conform"
    assert lines[1].endswith("1 with known divergences (jax 0.12.0 → 0.13)")
    assert lines[3] == "cells that changed over these runs: 2 of 3"
    assert lines[4] == "changed: add f32 on cpu: pass → pass → inaccurate, new"


def test_a_run_with_other_filters_says_so() -> None:
    date, made = at("2026-02-01T00:00:00", passed(ADD))
    other = replace(made, filters={"op": ["add", "sine"], "element_type": None})
    found = history(at("2026-01-01T00:00:00", passed(ADD)), (date, other))
    assert found.differences(1) == (("--op", "", "add sine"),)
    assert found.changed == ()

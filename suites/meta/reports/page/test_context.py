"""Earlier runs as the page's script draws them: a character per run for each cell that changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from conformance.results.history import History, past_run
from conformance.verdict import Record, Verdict
from reports.context import NOTHING, Context
from reports.page.context import context_data
from suites.meta.support import synthetic_run as synthetic

CELL, SAME, LATE = (("tanh", "f32", "cpu"), ("add", "f32", "cpu"), ("abs", "f32", "cpu"))


def history() -> History:
    """Return two runs: a cell passed and then failed, another did not change, a third is new."""
    passed = [Record(*one, 0, "0" * 16, Verdict.PASS) for one in (CELL, SAME, LATE)]
    failed = [synthetic.failure(CELL, 0, Verdict.DIVERGENT), *passed[1:]]
    runs = [
        synthetic.run_of(passed[:2], {}, [CELL, SAME]),
        synthetic.run_of(failed, {}, [CELL, SAME, LATE]),
    ]
    dated = [
        replace(run, started=f"2026-0{number}-01T09:30:00+00:00")
        for number, run in enumerate(runs, 1)
    ]
    return History(tuple(past_run(Path(run.started), run) for run in dated), dated[-1])


def test_a_section_that_was_not_requested_has_no_data() -> None:
    assert context_data(NOTHING) == {"history": None, "causes": None}
    assert context_data(Context(causes=())) == {"history": None, "causes": []}


def test_cells_that_changed_have_a_character_per_run() -> None:
    data = context_data(Context(history=history()))["history"]
    assert data["cells"].keys() == {"tanh/f32/cpu", "abs/f32/cpu"}
    before, after = data["cells"]["tanh/f32/cpu"]
    assert data["outcomes"][before][0] == "pass"
    assert data["outcomes"][after][0] == "divergent"
    assert data["cells"]["abs/f32/cpu"] == f"-{before}"  # the first run did not plan it


def test_counts_and_dates() -> None:
    data = context_data(Context(history=history()))["history"]
    assert data["count"] == 3
    assert data["changed"] == ["tanh/f32/cpu"]
    assert [run["date"] for run in data["runs"]] == ["2026-01-01 09:30", "2026-02-01 09:30"]

"""The first screen: shares of cells, the worst backend, failed batches, facts of the run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.gate.baselines.baseline import ReadBaseline, baseline_of
from conformance.gate.baselines.comparison import compare
from conformance.verdict import Verdict
from reports import view
from reports.page.first_screen import (
    batches,
    cells_by_state,
    filter_choices,
    first_screen,
    run_facts,
)
from suites.meta.support import synthetic_run as synthetic

PASSING = synthetic.run("passing")


def failing_on(backend: str):  # type: ignore[no-untyped-def]
    """Return a run of two backends, one of which fails a case."""
    names = ("one", "other")
    records = [replace(one, backend=name) for name in names for one in PASSING.records]
    bad = next(one.id for one in records if one.backend == backend)
    records = [
        replace(one, verdict=Verdict.DIVERGENT, kind="saturation") if one.id == bad else one
        for one in records
    ]
    planned = tuple((op, of, name) for name in names for op, of, _ in PASSING.planned)
    described = tuple(replace(PASSING.backends[0], name=name) for name in names)
    return replace(PASSING, records=records, planned=planned, backends=described)


def test_shares_of_cells_add_up() -> None:
    (row,) = first_screen(view.build(PASSING)).rows
    assert sum(one.count for one in row.cells) == len(PASSING.planned)
    assert sum(one.share for one in row.cells) == 100
    assert not row.worst  # a single backend is not the worst of several
    assert row.alone is None


def test_a_run_without_planned_cells_has_no_shares() -> None:
    screen = first_screen(view.build(replace(PASSING, planned=(), records=[])))
    assert all(one.share == 0 for row in screen.rows for one in row.cells)


def test_the_backend_with_most_failures_is_the_worst() -> None:
    screen = first_screen(view.build(failing_on("other")))
    assert [row.worst for row in screen.rows] == ["", "most new"]
    assert screen.differing == 1
    assert not screen.has_alone  # of two backends neither differs from all others


def test_no_backend_is_the_worst_without_failures() -> None:
    both = failing_on("other")
    well = replace(both, records=[replace(one, verdict=Verdict.PASS) for one in both.records])
    assert not any(row.worst for row in first_screen(view.build(well)).rows)


@pytest.mark.slow
def test_backend_with_new_failures_is_worse_than_one_with_more_known_failures() -> None:
    run = failing_on("other")
    known = [
        replace(one, verdict=Verdict.DIVERGENT, known="subnormals") if one.backend == "one" else one
        for one in run.records
    ]
    seen = view.build(replace(run, records=known))
    assert [row.worst for row in first_screen(seen).rows] == ["", "most new"]
    assert "other has most new failures: 1 case fails, new." in seen.headline
    only_known = [one for one in known if one.backend == "one"]
    passing = [one for one in PASSING.records for one in [replace(one, backend="other")]]
    seen = view.build(replace(run, records=[*only_known, *passing]))
    assert [row.worst for row in first_screen(seen).rows] == ["fails most", ""]


def test_changes_are_counted_only_with_a_baseline() -> None:
    assert first_screen(view.build(PASSING)).changes == ()
    now = failing_on("other")
    then = replace(
        now, records=[replace(one, verdict=Verdict.PASS, kind="") for one in now.records]
    )
    comparison = compare(now, ReadBaseline("baseline.txt", baseline_of(then)))
    screen = first_screen(view.build(now, comparison=comparison))
    assert screen.changes == ("changed", "new", "lost", "fixed")
    counts = {row.standing.backend: [one.count for one in row.changes] for row in screen.rows}
    assert counts == {"one": [0, 0, 0, 0], "other": [0, 1, 0, 0]}
    assert [one.is_failure for one in screen.rows[1].changes] == [True, True, True, False]


def test_consequences_of_batches_that_failed_as_a_whole() -> None:
    told = [words for _, words in batches(view.build(synthetic.run("partial")))]
    assert told[0] == "New, so the run fails."
    assert told[1] == "Known by slow-batch: A batch may wait for a lock."
    assert told[2].startswith("No failure: the backend says")


def test_facts_that_were_not_recorded_are_said_to_be_missing() -> None:
    facts = dict(run_facts(view.build(PASSING)))
    assert "AMD EPYC 9554" in facts["Backend cpu"]
    assert facts["Profile, seed, start"] == "standard, 20261121, 2026-11-21 09:30:00 UTC"
    assert facts["Time and peak memory"].endswith("compiled; parent 412 MB, worker 1,310 MB")
    assert "op" in facts["Filters"]
    bare = dict(
        run_facts(view.build(replace(PASSING, versions={}, started="", peak_rss_mb={}, filters={})))
    )
    assert bare["Versions"] == "not recorded"
    assert bare["Profile, seed, start"].endswith("not recorded")
    assert bare["Time and peak memory"].endswith("memory not recorded")
    assert "Filters" not in bare


def test_cells_are_counted_by_state_without_those_filtered_out() -> None:
    assert cells_by_state(view.build(PASSING)) == [("pass", len(PASSING.planned))]
    states = dict(cells_by_state(view.build(failing_on("other"))))
    assert states["divergent"] == 1


def test_filters_offer_only_what_the_run_has() -> None:
    found = filter_choices(view.build(PASSING))
    assert found["verdicts"] == ["pass"]
    assert found["types"] == ["bf16", "f32"]

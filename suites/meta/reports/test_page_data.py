"""Data of the HTML report: changes, differences, curves, divergences, the first screen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.gate.baselines.baseline import ReadBaseline, baseline_of
from conformance.gate.baselines.comparison import Comparison, Kind, compare
from conformance.verdict import Record, Verdict
from generators.cells.columns import ordered_misses
from reference.ops.table import OPS
from reports import view
from reports.findings import CaseGroup, ShownCase
from reports.page.cells import STATES, Tables
from reports.page.changes import ABOUT, changes
from reports.page.comparison import difference_rows
from reports.page.data import data_of
from reports.page.divergences import list_groups
from reports.page.first_screen import (
    first_screen,
)
from reports.page.near_misses import near_miss_rows
from suites.meta.support import synthetic_run as synthetic


def worsened_run(count: int) -> tuple[Tables, Comparison]:
    """Return a run in which cases fail that passed before."""
    before = synthetic.run("passing")
    records = [
        replace(record, verdict=Verdict.DIVERGENT, kind="saturation", message=f"message {n}")
        if n < count else record
        for n, record in enumerate(before.records)
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


THREE = ("one", "other", "third")


def tables_of_three(
    failing: int, backend: str = "third", verdict: Verdict = Verdict.DIVERGENT
) -> Tables:
    """Return three backends that agree, but for the first cases of an op on one of them."""
    run = synthetic.run("passing")
    records = [replace(record, backend=name) for name in THREE for record in run.records]
    first = [record.id for record in records if record.backend == backend and record.op == "add"][
        :failing
    ]
    records = [
        replace(record, verdict=verdict, kind="saturation") if record.id in first else record
        for record in records
    ]
    planned = tuple((op, of, name) for name in THREE for op, of, _ in run.planned)
    described = tuple(replace(run.backends[0], name=name) for name in THREE)
    return Tables(view.build(replace(run, records=records, planned=planned, backends=described)))


def test_the_backend_that_differs_from_all_others_is_named() -> None:
    made = tables_of_three(2)
    found = difference_rows(made)
    assert found["differing"] == 2
    assert found["alone"] == [[made.backend("third"), 2]]
    (group, *_) = found["groups"]
    alone, op, _, answers, count, examples, of_support = group
    assert (alone, op) == (made.backend("third"), made.op("add"))
    assert count == len(examples)
    assert of_support == 0
    verdicts = {backend: STATES[state] for backend, state, *_ in answers}
    assert verdicts[made.backend("third")] == "divergent"
    assert verdicts[made.backend("one")] == "pass"


def test_a_refusal_is_a_difference_of_support() -> None:
    assert difference_rows(tables_of_three(1, verdict=Verdict.UNSUPPORTED))["of_support"] == 1
    assert difference_rows(tables_of_three(1))["of_support"] == 0


def group(count: int) -> CaseGroup:
    record = Record("add", "f32", "cpu", 0, "0" * 16, Verdict.DIVERGENT)
    cases = tuple(ShownCase(f"a{n}", replace(record, index=n)) for n in range(count))
    return CaseGroup("new", "cpu", Verdict.DIVERGENT, "", "", "", "", cases)


def shares(*counts: int) -> list[tuple[int, int, int]]:
    listed = list_groups([group(count) for count in counts])
    return [(len(one.whole), len(one.brief), one.omitted) for one in listed]


def test_some_cases_in_full_more_as_a_line_and_the_rest_counted() -> None:
    assert shares(3, 6, 7, 67) == [(3, 0, 0), (6, 0, 0), (6, 1, 0), (6, 60, 1)]


PASSING = synthetic.run("passing")


def failing_on(backend: str):  # type: ignore[no-untyped-def]
    """Return a run of two backends, one of which fails a case."""
    names = ("one", "other")
    records = [replace(record, backend=name) for name in names for record in PASSING.records]
    bad = next(record.id for record in records if record.backend == backend)
    records = [
        replace(record, verdict=Verdict.DIVERGENT, kind="saturation")
        if record.id == bad
        else record
        for record in records
    ]
    planned = tuple((op, of, name) for name in names for op, of, _ in PASSING.planned)
    described = tuple(replace(PASSING.backends[0], name=name) for name in names)
    return replace(PASSING, records=records, planned=planned, backends=described)


@pytest.mark.slow
def test_backend_with_new_failures_is_worse_than_one_with_more_known_failures() -> None:
    run = failing_on("other")
    known = [
        replace(record, verdict=Verdict.DIVERGENT, known="subnormals")
        if record.backend == "one"
        else record
        for record in run.records
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
        now, records=[replace(record, verdict=Verdict.PASS, kind="") for record in now.records]
    )
    comparison = compare(now, ReadBaseline("baseline.txt", baseline_of(then)))
    screen = first_screen(view.build(now, comparison=comparison))
    assert screen.changes == ("changed", "new", "lost", "fixed")
    counts = {row.standing.backend: [change.count for change in row.changes] for row in screen.rows}
    assert counts == {"one": [0, 0, 0, 0], "other": [0, 1, 0, 0]}
    assert [change.is_failure for change in screen.rows[1].changes] == [True, True, True, False]


IDS = [id_ for id_, _ in ordered_misses("add")]


def miss(index: int, verdict: Verdict, op: str = "add") -> Record:
    return Record(op, "invalid", "cpu", index, f"{index:016x}", verdict)


def rows(*records: Record):  # type: ignore[no-untyped-def]
    planned = (*PASSING.planned, *{(record.op, "invalid", "cpu") for record in records})
    run = replace(PASSING, records=[*PASSING.records, *records], planned=planned)
    tables = Tables(view.build(run))
    return tables, near_miss_rows(tables)


def test_a_near_miss_is_refused_accepted_or_answered_otherwise() -> None:
    tables, found = rows(miss(0, Verdict.PASS), miss(1, Verdict.ACCEPTED), miss(2, Verdict.CRASHED))
    ((op, tried, every, ((backend, refused, accepted, other, others),)),) = found
    assert (op, backend) == (tables.op("add"), tables.backend("cpu"))
    assert (refused, accepted, other) == (1, 1, 1)
    assert others == [[IDS[1], "accepted", 1], [IDS[2], "crashed", 2]]
    assert tried == len({*IDS[:3]} & {*OPS["add"].constraints})
    assert every == len(OPS["add"].constraints)


def test_a_case_of_another_version_has_no_constraint() -> None:
    _, (row,) = rows(miss(10_000, Verdict.ACCEPTED))
    assert row[1] == 0
    assert row[3][0][4] == [["", "accepted", 10_000]]


def test_sections_that_a_run_does_not_have_are_empty() -> None:
    """One backend differs from none, and nothing changed without a baseline."""
    data = data_of(view.build(synthetic.run("passing")), [], dict)
    assert data["differences"] is None
    assert data["changes"] is None
    assert data["groups"] == []
    several = data_of(view.build(synthetic.run("partial")), [], dict)
    assert several["differences"] is not None


def test_no_backend_is_the_worst_without_failures() -> None:
    both = failing_on("other")
    well = replace(both, records=[replace(record, verdict=Verdict.PASS) for record in both.records])
    assert not any(row.worst for row in first_screen(view.build(well)).rows)

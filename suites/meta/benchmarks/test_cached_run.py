"""Reports of a run with a cache and without: equal, but for unpredictable cases and times."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.cached_run import detail_lines, differences, predictable_records
from conformance.results.summary import KnownReason, RunData
from conformance.verdict import Verdict
from suites.meta.support import synthetic_run as synthetic

RUN = synthetic.run("passing")


def change_first_record(**record: object) -> RunData:
    """Return the run with its first record changed."""
    first, *rest = RUN.records
    return replace(RUN, records=[replace(first, **record), *rest])  # type: ignore[arg-type]


def test_the_same_run_differs_in_nothing() -> None:
    assert differences(RUN, replace(RUN, seconds=1.0, cached_cases={})) == []
    assert list(detail_lines(RUN, RUN)) == []


def test_a_changed_record_is_shown_by_its_fields() -> None:
    other = change_first_record(verdict=Verdict.DIVERGENT, message="wrong")
    assert differences(RUN, other) == ["records"]
    (line,) = detail_lines(RUN, other)
    assert line.startswith(f"{RUN.records[0].id}: verdict: ")
    assert "message: '' 'wrong'" in line


def test_a_missing_record_is_named() -> None:
    (line,) = detail_lines(RUN, replace(RUN, records=RUN.records[1:]))
    assert line == f"{RUN.records[0].id}: only in the first"


def test_exit_codes_and_errors_count() -> None:
    assert differences(RUN, replace(RUN, exit_code=4)) == ["exit_code"]
    assert differences(RUN, replace(RUN, errors={})) == ["errors"]


@pytest.mark.parametrize(
    "known", [KnownReason("why", unpredictable=True), KnownReason("why", flaky=True)]
)
def test_cases_that_an_entry_calls_unpredictable_may_differ(known: KnownReason) -> None:
    """So may the errors of their cells."""
    entries = {"entry": known}
    one = replace(
        change_first_record(known="entry", verdict=Verdict.DIVERGENT), expectations=entries
    )
    other = replace(
        change_first_record(known="entry", verdict=Verdict.CRASHED), expectations=entries
    )
    cell = (RUN.records[0].op, RUN.records[0].element_type, RUN.records[0].backend)
    other = replace(other, errors={key: one for key, one in RUN.errors.items() if key != cell})
    one = replace(one, errors=RUN.errors)
    assert RUN.records[0].id not in predictable_records(one)
    assert differences(one, other) == []
    plain = {"entry": KnownReason("why")}
    assert "records" in differences(
        replace(one, expectations=plain), replace(other, expectations=plain)
    )

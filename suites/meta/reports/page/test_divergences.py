"""Divergences on the page: room for cases, and texts of programs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.verdict import Record, Verdict
from reports.findings import CaseGroup, ShownCase
from reports.page import divergences
from reports.page.divergences import Programs, list_groups


def group(count: int) -> CaseGroup:
    record = Record("add", "f32", "cpu", 0, "0" * 16, Verdict.DIVERGENT)
    cases = tuple(ShownCase(f"a{n}", replace(record, index=n)) for n in range(count))
    return CaseGroup("new", "cpu", Verdict.DIVERGENT, "", "", "", "", cases)


def shares(*counts: int) -> list[tuple[int, int, int]]:
    listed = list_groups([group(count) for count in counts])
    return [(len(one.whole), len(one.brief), one.omitted) for one in listed]


def test_some_cases_in_full_more_as_a_line_and_the_rest_counted() -> None:
    assert shares(3, 6, 7, 67) == [(3, 0, 0), (6, 0, 0), (6, 1, 0), (6, 60, 1)]


def test_cases_are_listed_in_order() -> None:
    (one,) = list_groups([group(8)])
    assert [case.record.index for case in (*one.whole, *one.brief)] == list(range(8))


def test_each_class_gets_a_case_before_any_gets_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divergences, "FULL_PER_REPORT", 4)
    monkeypatch.setattr(divergences, "LINES_PER_REPORT", 1)
    assert shares(5, 1, 5) == [(2, 1, 2), (1, 0, 0), (1, 0, 4)]


def test_equal_programs_share_one_text() -> None:
    programs = Programs({"generic": "pretty"})
    assert [programs.number(one) for one in ("generic", "other", "generic", "")] == [0, 1, 0, -1]
    assert programs.texts == [["pretty", 0, "generic", 0], ["other", 0]]


def test_programs_beyond_the_pages_size_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divergences, "PROGRAM_CHARACTERS", 5)
    programs = Programs({})
    assert [programs.number(one) for one in ("first", "second", "first")] == [0, -1, 0]

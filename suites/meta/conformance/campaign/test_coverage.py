"""The values of the dimensions of variation that the cases of a run cover."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.campaign.cache.entries import Entries
from conformance.campaign.coverage import coverage_of
from conformance.verdict import Record, Verdict
from generators.case.columns import INVALID
from generators.cells import plan

SEED = 3


def record(op: str, of: str, index: int) -> Record:
    return Record(op, of, "reference", index, "0", Verdict.PASS)


def test_more_cases_cover_more() -> None:
    few = coverage_of([record("reverse", "f32", 0)], SEED)["reverse"]
    more = coverage_of([record("reverse", "f32", n) for n in range(20)], SEED)["reverse"]
    assert few != more
    assert coverage_of([record("reverse", "f32", 0)], SEED)["reverse"] == few


def test_each_op_has_its_own_report() -> None:
    found = coverage_of([record("add", "f32", 0), record("tanh", "f32", 0)], SEED)
    assert list(found) == ["add", "tanh"]


def test_near_misses_cover_nothing() -> None:
    assert coverage_of([record("add", INVALID.name, 0)], SEED) == {}


def test_coverage_is_taken_from_the_cache_the_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [record("reverse", "f32", n) for n in range(3)]
    with Entries(tmp_path, print) as entries:
        first = coverage_of(records, SEED, entries)
        monkeypatch.setattr(plan, "coverage_report", None)
        assert coverage_of(records, SEED, entries) == first

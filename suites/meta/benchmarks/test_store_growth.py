"""Cost of a record in a large store as a multiple of its cost in a small store; stores of made-up
records.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.store_growth import (
    FAILING,
    GROWTH,
    OPERATIONS,
    PER_TASK,
    fill,
    measure_operations,
    ratios,
    record,
)
from conformance.results.store import FILE_NAME, Store
from conformance.verdict import Verdict

CELL = ("add", "f32", "cpu")


def test_twice_the_time_for_twice_the_records_is_no_growth() -> None:
    grown = ratios({"linear": 1.0, "quadratic": 1.0}, {"linear": 10.0, "quadratic": 100.0}, 10)
    assert grown == {"linear": 1.0, "quadratic": 10.0}
    assert grown["linear"] < GROWTH < grown["quadratic"]


def test_one_record_in_fifty_fails_and_has_a_program() -> None:
    records = [record(CELL, number) for number in range(2 * FAILING)]
    failing = [one for one in records if one.verdict is Verdict.DIVERGENT]
    assert [one.index for one in failing] == [0, FAILING]
    assert all(one.detail is not None for one in failing)
    assert len({one.digest for one in records}) == len(records)


def test_a_store_has_the_number_of_records_in_tasks(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    fill(path, 2 * PER_TASK + 5)
    with Store(path, read_only=True) as store:
        assert store.count_records() == 2 * PER_TASK + 5
        assert len(store.finished_tasks()) == 3


def test_every_operation_works_on_a_store(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setitem(OPERATIONS, "one case", lambda _: None)  # of a cell that comes later
    names = [name for name, _ in measure_operations(tmp_path / FILE_NAME, PER_TASK)]
    assert names == ["writing", *OPERATIONS]
    assert (tmp_path / "summary.json").exists()

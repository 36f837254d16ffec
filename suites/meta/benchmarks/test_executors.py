"""Efficiency of workers: the speed of each engine relative to one worker, and the same records."""

from __future__ import annotations

import pytest

from benchmarks import executors
from benchmarks.executors import ONE, RAY, TWO, TYPES, lines_of, tasks_of
from conformance.campaign.planning import CASES_PER_MODULE

RECORDS: dict[str, list[object]] = {ONE: [1], TWO: [1], RAY: [2]}


def test_speeds_are_compared_with_one_worker() -> None:
    one, two = lines_of({ONE: 4.0, TWO: 2.5}, RECORDS, 100)
    assert "25.0 programs/s, 1.00 of one worker's speed, same records" in one
    assert "40.0 programs/s, 1.60 of one worker's speed, same records" in two


def test_the_overhead_of_ray_is_of_two_workers() -> None:
    *_, ray, overhead = lines_of({ONE: 4.0, TWO: 2.5, RAY: 3.0}, RECORDS, 100)
    assert ray.endswith("OTHER RECORDS")
    assert overhead == "overhead of Ray against two workers: 20.0%"


def test_a_task_has_at_most_the_cases_of_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "OPS", ("abs", "add"))
    assert [len(task) for task in tasks_of("cpu", 8)] == [8] * 2 * len(TYPES)
    assert {len(task) for task in tasks_of("cpu", 10**6)} == {CASES_PER_MODULE}

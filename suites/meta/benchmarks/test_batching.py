"""Speed by the size of modules: seconds, milliseconds of a program, share of the best."""

from __future__ import annotations

from typing import Any

from benchmarks.batching import items_of, seconds_of, table
from conformance.campaign.tasks import Task
from conformance.catalog import cells


def test_a_program_of_several_processes_is_in_no_module() -> None:
    one, several = (
        Task(cells([op], ["f32"], ["cpu"])[0], 0, 0, 2).plan_cases() for op in ("abs", "all_reduce")
    )
    assert len(items_of([one])) == 2
    assert all(item.program.process_grid is None for item in items_of([one, several]))


def test_every_module_is_run() -> None:
    ran: list[Any] = []

    class Batcher:
        run = staticmethod(ran.append)

    assert seconds_of(Batcher(), [["a"], ["b", "c"]]) >= 0  # type: ignore[arg-type,list-item]
    assert ran == [["a"], ["b", "c"]]


def test_the_fastest_layout_is_the_best() -> None:
    first, slow, fast = table({"slow": 4.0, "fast": 2.0}, {"slow": 10, "fast": 1}, 1000)
    assert first == "1,000 programs"
    assert slow.split()[:3] == ["slow", "10", "modules"]
    assert slow.endswith("4.0 s    4.00 ms each   0.50 of the best")
    assert fast.endswith("2.00 ms each   1.00 of the best")

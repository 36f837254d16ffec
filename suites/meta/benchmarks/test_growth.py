"""The cost of a program in a run, compared with the first run."""

from __future__ import annotations

from benchmarks.growth import Cost

MEMORY = {"parent": 400.4, "worker": 1200.0}


def test_a_run_s_cost_by_program_and_share() -> None:
    cost = Cost(2000, 10.0, 1.0, 0.5, MEMORY)
    assert cost.each_ms == 5
    assert cost.line(4.0) == (
        "2,000 programs: 10.0 s, 5.00 ms each (1.25), planning 10.0%, storing 5.0%, "
        "parent 400 MB, worker 1200 MB"
    )

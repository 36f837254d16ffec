"""Shares of a run's parts, planning by itself, and the cost of a program."""

from __future__ import annotations

from dataclasses import fields

from benchmarks.growth import Cost
from benchmarks.planning import lines_of
from conformance.verdict import Timing

TIMING = Timing(
    generation=3.0, **{one.name: 1.0 for one in fields(Timing) if one.name != "generation"}
)
PARTS = len(fields(Timing))


def test_parts_add_up_to_all_processes_time() -> None:
    first, *rows, last = lines_of(TIMING, 2.0, 1000, 4.0)
    assert first == "1,000 programs in 4.0 s"
    table = {row.split()[0]: row.split()[1:] for row in rows}
    assert table["planning"][:2] == ["2.00", "s"]
    assert table["generation"][:2] == ["1.00", "s"]
    whole = 3.0 + (PARTS - 1)
    assert table["planning"][2] == f"{2.0 / whole:.1%}"
    assert table["planning"][3:] == ["2.000", "ms", "each"]
    assert last == "planning is 50.0% of the wall time"
    assert len(rows) == PARTS + 1


MEMORY = {"parent": 400.4, "worker": 1200.0}


def test_a_run_s_cost_by_program_and_share() -> None:
    cost = Cost(2000, 10.0, 1.0, 0.5, MEMORY)
    assert cost.each_ms == 5
    assert cost.line(4.0) == (
        "2,000 programs: 10.0 s, 5.00 ms each (1.25), planning 10.0%, storing 5.0%, "
        "parent 400 MB, worker 1200 MB"
    )

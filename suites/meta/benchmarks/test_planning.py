"""Shares of a run's parts: planning is part of generation, and shown by itself."""

from __future__ import annotations

from dataclasses import fields

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

"""The lines at the end of a run: new divergences first, messages on one line, few of many."""

from __future__ import annotations

from dataclasses import replace

from conformance.results.lines import MOST_NEW, lines_of
from conformance.verdict import LostBatch, Verdict
from suites.meta.support import synthetic_run as synthetic

RUN = synthetic.run("passing")


def test_new_divergences_come_before_incidents_on_one_line() -> None:
    (first, *_) = RUN.records
    new = replace(
        first, verdict=Verdict.CRASHED, kind="abnormal exit", message="F0000\n  in a pass\n"
    )
    incidents = tuple(f"incident {number}\nfurther" for number in range(MOST_NEW + 5))
    run = replace(RUN, records=[new, *RUN.records[1:]], incidents=incidents)
    lines = lines_of(run, "replay {}")
    assert not [line for line in lines if "\n" in line]
    told = [line.partition(":")[0] for line in lines]
    assert told.index("new") < told.index("incident")
    assert told.count("incident") == MOST_NEW + 1
    assert f"new: {new.id}: crashed: F0000 in a pass" in lines
    assert "incident: 5 more in the report" in lines


def test_lost_batches_of_an_entry_are_one_line() -> None:
    batches = tuple(
        LostBatch(
            "cpu", (("add", "f32", number),), Verdict.CRASHED, "abnormal exit", "m", known="entry"
        )
        for number in range(3)
    )
    lines = [one for one in lines_of(replace(RUN, lost_batches=batches), "") if "entry" in one]
    assert len(lines) == 1
    assert lines[0].endswith("m, and 2 more lost batches")

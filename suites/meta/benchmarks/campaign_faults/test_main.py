"""The line of a seeded fault: found, or not."""

from __future__ import annotations

from benchmarks.campaign_faults.__main__ import line
from benchmarks.campaign_faults.hunting import FaultHunt
from benchmarks.campaign_faults.seeding import Job, JobResult


def told(failure: str, *, rewriting: bool = False) -> str:
    job = Job("add", rewriting, 0, 60.0)
    found = FaultHunt(failure=failure, seconds=12.34, programs=48)
    return line(JobResult(job, "a + b -> a - b", found))


def test_a_fault_that_is_found_has_its_time_and_family() -> None:
    assert told("divergent: off by one") == (
        "  12.3 s     48 programs  add [arithmetic]: divergent: off by one"
    )


def test_a_rewriting_has_no_family() -> None:
    assert "add: divergent" in told("divergent", rewriting=True)


def test_a_fault_that_is_not_found_is_shown() -> None:
    assert told("").endswith("NOT FOUND\n  a + b -> a - b")

"""Speed of campaigns: programs by second of both, and their ratio."""

from __future__ import annotations

from benchmarks.campaign_throughput import AIM, report


def test_figures_are_sums_of_all_trials() -> None:
    text, ratio = report([(16, 1, 4.0, 3.0), (16, 3, 6.0, 5.0)], 2)
    assert ratio == 0.8
    lines = text.splitlines()
    assert lines[0] == "32 programs in 4 modules; 2 trials lost"
    assert lines[1].endswith("3.2 programs/s of a worker")
    assert lines[2].endswith("4.0 programs/s of a worker")
    assert "0.80" in lines[3]


def test_the_harness_is_slower_than_xla_by_itself() -> None:
    """The ratio is XLA's seconds by ours, so it is below 1 and the aim below that."""
    assert report([(16, 1, 2.0, 1.0)], 0)[1] == 0.5 < AIM < 1

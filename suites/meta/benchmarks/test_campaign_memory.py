"""Memory of a campaign over time: medians of windows, and growth."""

from __future__ import annotations

import math

import psutil
import pytest

from benchmarks.campaign_memory import GROWTH, WINDOW, growth, look, median_around

MIB = 2**20
SAMPLES = [(minute / 2, (100 + minute) * MIB, 500 * MIB) for minute in range(40)]
"""Twenty minutes: the parent grows by two MiB a minute, the worker does not."""


def test_a_median_is_of_half_a_window_on_both_sides() -> None:
    assert median_around(SAMPLES, 5.0, 1) == 110
    assert WINDOW == 2.0  # samples of minutes 4 to 6
    outlier = [*SAMPLES, (5.0, 10_000 * MIB, 0)]
    assert median_around(outlier, 5.0, 1) < 115
    assert math.isnan(median_around(SAMPLES, 60.0, 1))


def test_growth_compares_the_last_minutes_with_an_early_one() -> None:
    parent, worker = growth(SAMPLES, 5.0)
    assert parent == pytest.approx(137 / 110)
    assert worker == 1
    assert parent > GROWTH > worker


class Process:
    """A process with children. Workers are children of another process."""

    def __init__(
        self, pid: int, size: int, parent: int = 0, children: tuple[Process, ...] = ()
    ) -> None:
        self.pid, self.size, self.parent, self.below = pid, size, parent, children

    def children(self, *, recursive: bool) -> tuple[Process, ...]:
        assert recursive
        return self.below

    def ppid(self) -> int:
        return self.parent

    def memory_info(self) -> object:
        if self.size < 0:
            raise psutil.NoSuchProcess(self.pid)
        return type("Memory", (), {"rss": self.size})


def test_the_server_that_forks_workers_is_no_worker() -> None:
    server, small, large = Process(2, 900, 1), Process(3, 10, 2), Process(4, 20, 2)
    sample = look(Process(1, 100, children=(server, small, large)), 0.0)  # type: ignore[arg-type]
    assert sample is not None
    assert sample[1:] == (100, 20)


def test_without_workers_or_after_the_end_there_is_no_sample() -> None:
    assert look(Process(1, 100, children=(Process(2, 900, 1),)), 0.0) is None  # type: ignore[arg-type]
    assert look(Process(1, -1, children=(Process(3, 10, 2),)), 0.0) is None  # type: ignore[arg-type]

"""Waiting for a processor: measured by thread, and stated with a timeout."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conformance.executors.local import Call, LocalExecutor, WorkerCrash, WorkerTimeout, is_starved
from conformance.executors.waiting import longest_wait, waiting_seconds

SPIN = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
"""A program that computes as long as the process that started it."""


@contextmanager
def spinning(core: int) -> Iterator[int]:
    """Keep a core busy; the value is the id of the process that does so."""
    with subprocess.Popen([sys.executable, "-c", SPIN]) as process:
        try:
            os.sched_setaffinity(process.pid, {core})
            yield process.pid
        finally:
            process.kill()


def compute_on(core: int) -> None:
    """Compute for ever on a core, at a low priority."""
    os.sched_setaffinity(0, {core})
    os.nice(10)
    while True:
        pass


def test_a_process_that_shares_its_core_waits_for_it() -> None:
    core = min(os.sched_getaffinity(0))
    with spinning(core) as one, spinning(core):
        before = waiting_seconds(one)
        while longest_wait(before, waiting_seconds(one)) < 0.1:
            time.sleep(0.01)
    assert longest_wait(before, before) == 0
    assert waiting_seconds(one) == {}


def test_the_longest_wait_of_a_thread_counts_from_its_beginning() -> None:
    assert longest_wait({1: 5.0, 2: 1.0}, {1: 5.5, 2: 1.25, 3: 0.75}) == 0.75
    assert longest_wait({1: 5.0}, {}) == 0


@pytest.mark.slow
def test_a_timeout_states_how_long_the_worker_waited_for_a_processor() -> None:
    core = min(os.sched_getaffinity(0))
    with LocalExecutor(1) as workers, spinning(core):
        idle = workers.one(Call("idle", time.sleep, (60.0,), 1.0))
        busy = workers.one(Call("busy", compute_on, (core,), 2.0))
    assert isinstance(idle, WorkerTimeout)
    assert isinstance(busy, WorkerTimeout)
    assert not is_starved(idle)
    assert busy.waited > idle.waited
    assert is_starved(WorkerTimeout(2.0, waited=1.5))
    assert not is_starved(WorkerTimeout(2.0, waited=0.5))
    assert not is_starved(WorkerCrash("SIGKILL"))


def test_a_clock_that_is_set_ends_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = itertools.count(0.0, 1000.0)
    monkeypatch.setattr(time, "time", lambda: next(steps))
    with LocalExecutor(1) as workers:
        assert workers.one(Call("short", time.sleep, (0.2,), 60.0)) is None

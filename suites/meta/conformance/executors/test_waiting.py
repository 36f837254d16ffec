"""Waiting for a processor: measured by thread, and stated with a timeout."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time

import pytest

from conformance.executors.local import Call, LocalExecutor, WorkerTimeout
from conformance.executors.waiting import longest_wait, waiting_seconds

SPIN = "while True: pass"


def share_a_core() -> None:
    """Compute for ever, on a core on which another process does so, too."""
    core = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    with subprocess.Popen([sys.executable, "-c", SPIN]) as other:
        try:
            os.nice(10)
            while other.poll() is None:
                pass
        finally:
            other.kill()


def test_a_process_that_shares_its_core_waits_for_it() -> None:
    core = {min(os.sched_getaffinity(0))}
    both = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(2)]
    try:
        for one in both:
            os.sched_setaffinity(one.pid, core)
        before = waiting_seconds(both[0].pid)
        while longest_wait(before, waiting_seconds(both[0].pid)) < 0.1:
            time.sleep(0.01)
    finally:
        for one in both:
            one.kill()
            one.wait()
    assert longest_wait(before, before) == 0
    assert waiting_seconds(both[0].pid) == {}


def test_the_longest_wait_of_a_thread_counts_from_its_beginning() -> None:
    assert longest_wait({1: 5.0, 2: 1.0}, {1: 5.5, 2: 1.25, 3: 0.75}) == 0.75
    assert longest_wait({1: 5.0}, {}) == 0


def test_a_timeout_states_how_long_the_worker_waited_for_a_processor() -> None:
    with LocalExecutor(1) as workers:
        idle = workers.one(Call("idle", time.sleep, (60.0,), 1.0))
        busy = workers.one(Call("busy", share_a_core, (), 2.0))
    assert isinstance(idle, WorkerTimeout)
    assert isinstance(busy, WorkerTimeout)
    assert not idle.is_starved
    assert busy.waited > idle.waited
    assert WorkerTimeout(2.0, waited=1.5).is_starved
    assert not WorkerTimeout(2.0, waited=0.5).is_starved


def test_a_clock_that_is_set_ends_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = itertools.count(0.0, 1000.0)
    monkeypatch.setattr(time, "time", lambda: next(steps))
    with LocalExecutor(1) as workers:
        assert workers.one(Call("short", time.sleep, (0.2,), 60.0)) is None

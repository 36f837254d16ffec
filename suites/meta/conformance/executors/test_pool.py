"""The pool of worker processes when it stops while workers start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

import pytest
from pebble.pool.base_pool import Task

from conformance.executors.local import Call, LocalExecutor, WorkerTimeout
from conformance.executors.pool import Calls

STARTING, ENDING = 0.6, 1.2
"""Seconds that the second worker takes to start, and the first one to end."""


class WarmUp:
    """A warm-up with which a worker starts or ends slowly."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __setstate__(self, state: dict[str, Path]) -> None:
        """Delay the start of every worker but the first."""
        self.__dict__.update(state)
        try:
            (self.folder / "first").touch(exist_ok=False)
        except FileExistsError:
            time.sleep(STARTING)

    def __call__(self) -> bool:
        signal.signal(signal.SIGTERM, _end_slowly)
        return True


def _end_slowly(number: int, frame: FrameType | None) -> None:
    del number, frame
    time.sleep(ENDING)
    os._exit(0)


_SCRIPT = f"""
import os, sys
from pathlib import Path
from conformance.executors.local import Call, LocalExecutor
from {__name__} import WarmUp
with LocalExecutor(2, WarmUp(Path(sys.argv[1]))) as executor:
    assert executor.one(Call("first", os.getpid, (), 60.0)) != os.getpid()
"""


@pytest.mark.slow
def test_a_worker_that_starts_while_the_pool_stops_finds_its_locks(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(tmp_path)], check=False, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_call_that_times_out_while_pool_looks_for_timeouts_is_a_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = 0

    def is_over(task: Task) -> bool:
        """Return whether the call is asked about for the second time, while it runs."""
        nonlocal asked
        asked += task.started
        return asked > 1

    monkeypatch.setattr(Calls, "timeout", staticmethod(is_over))
    with LocalExecutor(1) as executor:
        ended = executor.one(Call("sleeps", time.sleep, (60.0,), 7.0))
    assert ended == WorkerTimeout(7.0)

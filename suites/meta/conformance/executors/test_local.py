"""Worker processes that end before their call does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.executors import pool
from conformance.executors.local import Call, LocalExecutor, WorkerCrash

FAILED = b"F1122 15:59:26.730449   19264 some_pass.cc:58] Check failed: width == 8 (4 vs. 8) \n"


def _say(lines: bytes) -> str:
    """Write to the log as a compiler does, and continue for longer than a test may wait."""
    os.write(2, lines)
    time.sleep(60 if lines.startswith(b"F") else 0.5)
    return "went on"


def test_a_worker_whose_compiler_says_that_a_check_failed_is_not_waited_for() -> None:
    with LocalExecutor(1) as executor:
        value = executor.one(Call("failed", _say, (FAILED,), 30.0))
    assert isinstance(value, WorkerCrash)
    assert value.reason == "SIGABRT"
    assert value.last_words == "some_pass.cc:58] Check failed: width == 8 (4 vs. 8)"


def test_fatal_line_before_stack_is_reported() -> None:
    """The line contains no known words; the stack after it does."""
    said = FAILED.replace(b"Check failed: width == 8", b"unhandled direction")
    stack = b"*** Check failure stack trace: ***\n    @     0x7f70342 LogMessageFatal::~\n"
    with LocalExecutor(1) as executor:
        value = executor.one(Call("fatal", _say, (said + stack,), 30.0))
    assert isinstance(value, WorkerCrash)
    assert value.last_words == "some_pass.cc:58] unhandled direction (4 vs. 8)"


def test_other_words_end_no_worker() -> None:
    """An error, a line that has the words further on, and a line that has not ended yet."""
    said = b"E" + FAILED[1:] + b"note: " + FAILED[:40] + b"\n" + FAILED.rstrip()
    with LocalExecutor(1) as executor:
        assert executor.one(Call("others", _say, (said,), 30.0)) == "went on"


def _handle_fatal_signals() -> bool:
    """Open a backend whose compiler handles the signals that end a process."""
    for one in (signal.SIGILL, signal.SIGSEGV):
        signal.signal(one, lambda *_: os._exit(5))
    return True


@pytest.mark.parametrize("fatal", [signal.SIGILL, signal.SIGSEGV])
def test_handlers_of_a_compiler_do_not_delay_the_end_of_a_worker(fatal: signal.Signals) -> None:
    with LocalExecutor(1, _handle_fatal_signals) as executor:
        value = executor.one(Call("end", signal.raise_signal, (fatal,), 30.0))
    assert value == WorkerCrash(fatal.name)


def test_stale_log_of_reused_process_id_is_ignored(tmp_path: Path) -> None:
    """Numbers of processes come round again, and logs are named by them."""
    script = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from conformance.executors import local\n"
        "log = Path(sys.argv[1]) / str(os.getpid())\n"
        "log.write_text('F0000 00:00:1.2   99 hlo.cc:1] Check failed: false\\n')\n"
        "local._set_up(None, local.LIMITS, sys.argv[1], os.getppid())\n"
        "time.sleep(10 * local.LOOK_SECONDS)\n"
        "os._exit(7)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert ended.returncode == 7


def _end(code: int) -> int:
    """End the worker at once, with a code other than 0."""
    if code:
        os._exit(code)
    return os.getpid()


@pytest.mark.slow
def test_an_end_is_that_of_the_call_which_a_worker_took_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The parent reads late that a call was done, and that the next call was taken."""
    receive = pool.Workers.receive

    def receive_late(self: pool.Workers, timeout: float) -> object:
        time.sleep(0.3)
        return receive(self, timeout)

    monkeypatch.setattr(pool.Workers, "receive", receive_late)
    calls = [Call(number, _end, (number % 2 * 7,), 5.0) for number in range(6)]
    with LocalExecutor(1) as executor:
        ended = {one.call.name: one.value for one in executor.results(calls) if one is not None}
    assert {name for name, value in ended.items() if isinstance(value, WorkerCrash)} == {1, 3, 5}
    assert all(
        value.reason == "exit code 7" for value in ended.values() if isinstance(value, WorkerCrash)
    )
    assert all(isinstance(ended[name], int) for name in (0, 2, 4)), ended


def test_a_worker_ends_after_its_last_call_and_its_answer_is_heard() -> None:
    with LocalExecutor(1) as executor:
        calls = [Call(number, os.getpid, (), 30.0, number % 2 == 1) for number in range(6)]
        ended = [one for one in executor.results(calls) if one is not None]
    pids = {one.call.name: one.value for one in ended}
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4] == pids[5]
    assert all(isinstance(pid, int) for pid in pids.values())

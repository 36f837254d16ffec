"""Worker processes: they survive failing calls, end in time, and none outlives its parent."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import numpy as np
import psutil
import pytest
from pebble.pool.base_pool import Task

from conformance.executors import interrupt, pool
from conformance.executors.limit import (
    Clock,
    TooSlow,
    interrupt_after,
    limit_evaluation,
    memory_note,
)
from conformance.executors.local import (
    Call,
    CallEnd,
    LocalExecutor,
    WorkerCrash,
    WorkerTimeout,
    is_starved,
)
from conformance.executors.pool import Calls
from conformance.executors.waiting import longest_wait, waiting_seconds
from conformance.limits import Limits
from conformance.results.store import FILE_NAME


def double_number(number: int) -> int:
    return 2 * number


def fail(message: str) -> None:
    raise ValueError(message)


def die(number: int) -> None:
    os.write(2, b"F1121 03:42:41.123456 1234 file.cc:12] Check failed: 1 == 2 at 0xdeadbeef\n")
    os.kill(os.getpid(), number)


def collect(executor: LocalExecutor, calls: list[Call]) -> dict[object, object]:
    ended = [result for result in executor.results(calls) if result is not None]
    return {one.call.name: one.value for one in ended}


def test_workers_survive_failing_calls() -> None:
    with LocalExecutor(2) as executor:
        ends = collect(
            executor,
            [
                Call("value", double_number, (21,), 30),
                Call("error", fail, ("no",), 30),
                Call("death", die, (signal.SIGSEGV,), 30),
                Call("exit", os._exit, (3,), 30),
                Call("hang", time.sleep, (600,), 0.3),
                *[Call(number, double_number, (number,), 30) for number in range(5)],
            ],
        )
    assert ends["value"] == 42
    assert isinstance(ends["error"], ValueError)
    assert ends["death"] == WorkerCrash("SIGSEGV", "file.cc:12] Check failed: 1 == 2 at")
    assert ends["exit"] == WorkerCrash("exit code 3")
    assert ends["hang"] == WorkerTimeout(0.3)
    assert [ends[number] for number in range(5)] == [0, 2, 4, 6, 8]


def test_an_interrupt_that_was_swallowed_is_raised_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(interrupt, "_seen", threading.Event())
    try:
        interrupt.install()
        with LocalExecutor(1) as executor, suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        with LocalExecutor(1) as executor, pytest.raises(KeyboardInterrupt):
            list(executor.results([Call("hang", time.sleep, (600,), 30)]))
        interrupt.raise_if_seen()
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_workers_do_not_outlive_their_parent(tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "conformance", "run", "--backend", "reference:hang", "--op", "add",
        "--element-type", "f32", "--profile", "smoke", "--out", str(tmp_path),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        family = psutil.Process(process.pid)
        while not (tmp_path / FILE_NAME).exists() or len(family.children(recursive=True)) < 3:
            assert process.poll() is None
            time.sleep(0.05)
        workers = family.children(recursive=True)
        process.kill()
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert not alive


def test_calls_can_be_added_while_others_end() -> None:
    with LocalExecutor(1) as executor:
        seen: list[object] = []
        for ended in executor.results([Call("first", double_number, (1,), 30)]):
            if isinstance(ended, CallEnd):
                seen.append(ended.call.name)
                if ended.call.name == "first":
                    executor.push(Call("second", double_number, (2,), 30))
    assert seen == ["first", "second"]


def take(size: int) -> int:
    return np.ones(size, np.uint8).size


def test_memory_limit_fails_only_its_own_call() -> None:
    with LocalExecutor(1, limits=Limits(memory_limit=1 << 30)) as executor:
        ends = collect(executor, [Call(size, take, (size,), 60) for size in (2 << 30, 1 << 20)])
    assert isinstance(ends[2 << 30], MemoryError)
    assert ends[1 << 20] == 1 << 20


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
        ended = {
            result.call.name: result.value
            for result in executor.results(calls)
            if result is not None
        }
    assert {name for name, value in ended.items() if isinstance(value, WorkerCrash)} == {1, 3, 5}
    assert all(
        value.reason == "exit code 7" for value in ended.values() if isinstance(value, WorkerCrash)
    )
    assert all(isinstance(ended[name], int) for name in (0, 2, 4)), ended


def test_a_worker_ends_after_its_last_call_and_its_answer_is_heard() -> None:
    with LocalExecutor(1) as executor:
        calls = [Call(number, os.getpid, (), 30.0, number % 2 == 1) for number in range(6)]
        ended = [result for result in executor.results(calls) if result is not None]
    pids = {one.call.name: one.value for one in ended}
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4] == pids[5]
    assert all(isinstance(pid, int) for pid in pids.values())


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


def spend(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.mark.parametrize("clock", Clock)
def test_a_block_that_takes_too_long_is_interrupted(clock: Clock) -> None:
    with (
        pytest.raises(TimeoutError, match="over"),
        interrupt_after(0.02, TimeoutError("over"), clock),
    ):
        spend(5)


def test_message_names_twice_the_time_for_a_file() -> None:
    with (
        pytest.raises(TooSlow, match=r"more than 0.02 s.*--timeout") as error,
        limit_evaluation(0.02),
    ):
        spend(5)
    assert "\n" not in str(error.value)


def test_a_process_that_shares_its_core_waits_for_it() -> None:
    core = min(os.sched_getaffinity(0))
    with spinning(core) as one, spinning(core):
        before = waiting_seconds(one)
        while longest_wait(before, waiting_seconds(one)) < 0.1:
            time.sleep(0.01)
    assert longest_wait(before, before) == 0
    assert waiting_seconds(one) == {}


@pytest.mark.parametrize(
    ("limit", "said"),
    [(resource.RLIM_INFINITY, "this machine has no more memory"), (3 << 30, "--memory-limit 6")],
)
def test_message_about_memory_names_the_limit(
    monkeypatch: pytest.MonkeyPatch, limit: int, said: str
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    assert said in memory_note()

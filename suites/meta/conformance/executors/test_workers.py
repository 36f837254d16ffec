"""Worker processes: they survive failing calls, and none outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest

from conformance.executors import interrupt
from conformance.executors.local import Call, CallEnd, LocalExecutor, WorkerCrash, WorkerTimeout
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
    ended = [one for one in executor.results(calls) if one is not None]
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

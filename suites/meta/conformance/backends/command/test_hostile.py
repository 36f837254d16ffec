"""Whatever a compiler behind a command answers, or does not, is a verdict on its program."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from conformance.backends.base import BackendError, Failed, Rejected, Unsupported
from conformance.backends.command.backend import CommandBackend
from conformance.errors import NotAvailable
from conformance.stablehlo.emit import emit
from reference.ir.types import Array
from suites.meta.support.small_programs import array, op_program, tensor_of

DRIVER = Path(__file__).parents[3] / "support" / "hostile_driver.py"
PROGRAM = op_program("tanh", [tensor_of(4)], tensor_of(4))
X = array([1.0, 2.0, 3.0, 4.0])
BYTES = "1234567812345678"


def driver(stage: str, behaviour: str) -> CommandBackend:
    return CommandBackend("command:test", f"{sys.executable} {DRIVER} {stage} '{behaviour}'")


def run(backend: CommandBackend) -> list[Array]:
    (results,) = backend.compile(emit(PROGRAM), PROGRAM).execute([[X]])
    return results


@pytest.mark.parametrize(
    "behaviour",
    [
        "exit", "abort", "close", "truncate", "endless", r"ok\n", r"ok x\n", r"ok 99999999999\n",
        r"ok 3\nabc", r"ok 10\nprotocol 2", r"hello\n", r"\n", "\\0\\0\\n", r"failed 4\noops",
        r"ok 25\nprotocol 1\nhardware abacus",
    ],
)  # fmt: skip
def test_a_bad_description_is_a_backend_that_is_not_available(behaviour: str) -> None:
    with pytest.raises(NotAvailable, match=r"command:test|hardware") as caught:
        driver("describe", behaviour)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("behaviour", "error", "message"),
    [
        (r"unsupported 4\nnoop", Unsupported, "noop"),
        (r"rejected 3\nbad", Rejected, "bad"),
        (r"failed 4\noops", Failed, "oops"),
        (r"failed 0\n", Failed, "failed"),
        (r"unsupported\n", Failed, "is no answer"),
        (r"unsupported -1\n", Failed, "not a number"),
        (r"unsupported 9999999\n", Failed, "not a number up to"),
        (r"unsupported 1.5\n", Failed, "not a number"),
        (r"ok 1\n", Failed, "is no answer"),
        (r"OK\n", Failed, "is no answer"),
        (r"\n", Failed, "a line is empty"),
        (r"<html>\n", Failed, "is no answer"),
        (r"\xff\xfe\n", Failed, "is no answer"),
        ("endless", Failed, "longer than"),
        ("exit", Failed, "exit code 3"),
        ("abort", Failed, "SIGABRT"),
        ("close", Failed, "closed its output"),
    ],
)
def test_an_answer_to_compile_is_a_verdict(
    behaviour: str, error: type[BackendError], message: str
) -> None:
    backend = driver("compile", behaviour)
    with pytest.raises(error, match=message):
        run(backend)
    with pytest.raises(error, match=message):  # from a new process where the old one has ended
        run(backend)


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (r"failed 4\noops", "oops"),
        (r"ok\n", "is no answer"),
        (r"ok -1\n", "not a number"),
        (r"ok 9999999\n", "not a number up to"),
        (r"ok 1\ntensor<4xf32>\n", "not the type of an array"),
        (r"ok 1\nf32[4] 16\n", "not a tensor type"),
        (r"ok 1\ntensor<4xf33> 16\n", "not a tensor type"),
        (r"ok 1\ntensor<-4xf32> 16\n", "not a tensor type"),
        (r"ok 1\ntensor<?xf32> 16\n", "not a tensor type"),
        (r"ok 1\ntensor<4xf32> 12\n", "has 16 bytes, not 12"),
        (r"ok 1\ntensor<9999999999xf32> 39999999996\n", "much larger"),
        (r"ok 1\ntensor<2xi1> 2\n\x01\x02", "neither 0 nor 1"),
        ("truncate", "exit code 0"),
        ("endless", "longer than"),
        ("exit", "exit code 3"),
        ("abort", "SIGABRT"),
    ],
)
def test_an_answer_to_execute_is_a_verdict(behaviour: str, message: str) -> None:
    backend = driver("execute", behaviour)
    for _ in range(2):
        with pytest.raises(Failed, match=message):
            run(backend)


@pytest.mark.parametrize(
    ("behaviour", "shapes", "element_type"),
    [
        (rf"ok 1\ntensor<2x2xf32> 16\n{BYTES}", [(2, 2)], np.float32),
        (rf"ok 1\ntensor<2xf64> 16\n{BYTES}", [(2,)], np.float64),
        (r"ok 0\n", [], None),
        (r"ok 2\ntensor<0xf32> 0\ntensor<0xf32> 0\n", [(0,), (0,)], np.float32),
    ],
)
def test_results_of_other_types_are_left_to_the_judge(
    behaviour: str, shapes: list[tuple[int, ...]], element_type: type | None
) -> None:
    results = run(driver("execute", behaviour))
    assert [one.shape for one in results] == shapes
    assert all(one.dtype == element_type for one in results)


def test_an_answer_too_many_is_told_at_the_next_request() -> None:
    backend = driver("free", r"ok\nok\n")
    executable = backend.compile(emit(PROGRAM), PROGRAM)
    assert np.array_equal(executable.execute([[X]])[0][0], X)
    del executable
    with pytest.raises(Failed, match="is no answer"):
        run(backend)


def test_a_program_of_an_ended_process_is_not_run() -> None:
    backend = driver("execute", "exit")
    executable, other = (backend.compile(emit(PROGRAM), PROGRAM) for _ in range(2))
    for message in ("exit code 3", "has ended"):
        with pytest.raises(Failed, match=message):
            executable.execute([[X]])
    with pytest.raises(Failed, match="has ended"):
        other.execute([[X]])


def test_what_the_process_has_started_ends_with_it(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Failed, match="SIGSEGV"):
        run(driver("execute", "orphan"))
    _wait_for_the_end(int(capfd.readouterr().err.split()[-1]))


@pytest.mark.parametrize("command", ["/no/such/program", "./no_such_program --fast"])
def test_a_command_that_does_not_start_is_not_available(command: str) -> None:
    with pytest.raises(NotAvailable, match="cannot be started: No such file"):
        CommandBackend("command:test", command)


def test_a_killed_worker_leaves_no_process() -> None:
    starts = (
        "import os, signal; from conformance.backends.command.process import Process; "
        "one = Process('sleep 600'); print(one._child.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    ended = subprocess.run([sys.executable, "-c", starts], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL
    _wait_for_the_end(int(ended.stdout))


def _wait_for_the_end(pid: int) -> None:
    end = time.monotonic() + 10
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end
        time.sleep(0.05)

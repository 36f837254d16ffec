"""A time limit on a computation in this process."""

from __future__ import annotations

import resource
import threading
import time

import pytest

from conformance.executors.limit import (
    Clock,
    TooSlow,
    interrupt_after,
    limit_evaluation,
    memory_note,
)


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


@pytest.mark.parametrize("clock", Clock)
def test_a_block_in_time_is_not_interrupted_later(clock: Clock) -> None:
    with interrupt_after(0.05, TimeoutError("over"), clock):
        pass
    spend(0.1)


def test_other_threads_have_no_limit() -> None:
    done: list[bool] = []

    def wait() -> None:
        with interrupt_after(0.01, TimeoutError("over")):
            time.sleep(0.03)
        done.append(True)

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    assert done == [True]


def test_message_names_twice_the_time_for_a_file() -> None:
    with (
        pytest.raises(TooSlow, match=r"more than 0.02 s.*--timeout") as error,
        limit_evaluation(0.02),
    ):
        spend(5)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("limit", "said"),
    [(resource.RLIM_INFINITY, "this machine has no more memory"), (3 << 30, "--memory-limit 6")],
)
def test_message_about_memory_names_the_limit(
    monkeypatch: pytest.MonkeyPatch, limit: int, said: str
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    assert said in memory_note()

"""A time limit on a computation in this process."""

from __future__ import annotations

import gc
import resource
import signal
import threading
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from enum import Enum
from types import FrameType

from conformance.limits import Limits

_AGAIN = 0.5
"""Seconds between two interrupts of an expired limit: see `_is_dropped`."""


class TooSlow(Exception):
    """A computation that took longer than it may: one line."""


class OutOfTime(BaseException):
    """Raised when the time for part of a computation is over.

    It is no `Exception`, because sessions turn these into answers of the backend.
    """


class Clock(Enum):
    """The clock of a limit: wall time, or the processor time of the process."""

    WALL = (signal.ITIMER_REAL, signal.SIGALRM)
    PROCESSOR = (signal.ITIMER_PROF, signal.SIGPROF)


def _is_dropped(frame: FrameType | None) -> bool:
    """Return whether Python discards exceptions raised here: in a finalizer, or a callback of its
    garbage collector. jax has such a callback; one limit in twenty expires in it (measured while
    programs were evaluated).
    """
    callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        if frame.f_code in callbacks or frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


@contextmanager
def interrupt_after(
    seconds: float, error: BaseException, clock: Clock = Clock.WALL
) -> Generator[None]:
    """Raise this error in the block after `seconds`.

    Signals reach only the main thread: other threads have no limit. Limits of one clock cannot be
    nested. If Python would drop the error, it is raised later.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    left = False

    def over(number: int, frame: FrameType | None) -> None:
        del number
        if not (left or _is_dropped(frame)):
            raise error

    timer, number = clock.value
    before = signal.signal(number, over)
    signal.setitimer(timer, seconds, _AGAIN)
    try:
        try:
            yield
        finally:
            left = True
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)


def memory_note() -> str:
    """Return a message about the memory limit of this process, and how to raise it."""
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    if limit == resource.RLIM_INFINITY:
        return "this machine has no more memory: smaller inputs, or fewer --jobs, need less"
    gib = limit / (1 << 30)
    return f"a worker may use {gib:.3g} GiB (--memory-limit {2 * gib:.3g} allows twice as much)"


def limit_evaluation(seconds: float) -> AbstractContextManager[None]:
    """Terminate an evaluation by the reference in the block (see `interrupt_after`).

    What is explained must not depend on what else the machine does: `seconds` are of processor
    time.

    Raises:
        TooSlow: when the time is over.
    """
    return interrupt_after(
        seconds,
        TooSlow(
            f"an evaluation by the reference takes more than {seconds:g} s, "
            f"1/{Limits.EVALUATIONS} of the time for a file: is there a loop without end? "
            "If not, a longer --timeout helps "
            f"(--timeout {2 * Limits.EVALUATIONS * seconds:g} allows twice as much)"
        ),
        Clock.PROCESSOR,
    )

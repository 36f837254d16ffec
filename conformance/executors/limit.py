"""A time limit on a computation in this process."""

from __future__ import annotations

import resource
import signal
import sys
import threading
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from enum import Enum
from types import FrameType

from conformance.limits import Limits

_AGAIN = 0.5
"""Seconds between two interrupts of an expired limit: Python may drop the first."""

_EARLY = 0.02
"""Seconds by which a timer may expire before the time is over by its clock."""


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

    @property
    def now(self) -> float:
        """The time by this clock, in seconds."""
        return time.monotonic() if self is Clock.WALL else time.process_time()


@contextmanager
def _keep_quiet(error: BaseException) -> Generator[None]:
    """Do not print this error where Python drops it: in a finalizer, in the callback of a weak
    reference or of the garbage collector. jax has such callbacks; one limit in twenty expires in
    one (measured while programs were evaluated).
    """
    before = sys.unraisablehook

    def report(unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_value is not error:
            before(unraisable)

    sys.unraisablehook = report
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def interrupt_after(
    seconds: float, error: BaseException, clock: Clock = Clock.WALL
) -> Generator[None]:
    """Raise this error in the block after `seconds`.

    Signals reach only the main thread: other threads have no limit. Limits of one clock cannot be
    nested. If Python drops the error, it is raised again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    left, last = False, clock.now + seconds

    def over(number: int, frame: FrameType | None) -> None:
        del number, frame
        # The kernel's timer counts whole ticks: with many threads, as libtpu has, it runs ahead.
        if not left and clock.now >= last - _EARLY:
            raise error

    timer, number = clock.value
    before = signal.signal(number, over)
    signal.setitimer(timer, seconds, _AGAIN)
    try:
        try:
            with _keep_quiet(error):
                yield
        finally:
            left = True
    finally:
        signal.setitimer(timer, 0)
        # a signal that is under way must not end the process
        signal.signal(number, signal.SIG_IGN if before is signal.SIG_DFL else before)


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

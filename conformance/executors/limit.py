"""A limit on how long a computation of our own may take, in the process that makes it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

EVALUATIONS = 8
"""As many evaluations of a program at least have to fit in the time for a file."""


class TooSlow(Exception):
    """A computation that took longer than it may: one line."""


@contextmanager
def limited(seconds: float) -> Generator[None]:
    """End what is done within after so many seconds of wall time.

    Signals reach a process's main thread only: in any other there is no limit. Nor may limits be
    nested.

    Raises:
        TooSlow: when the time is over.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise TooSlow(
            f"an evaluation by the reference takes more than {seconds:g} s, 1/{EVALUATIONS} of the "
            f"time for a file: is there a loop without end? If not, a longer --timeout helps "
            f"(--timeout {2 * EVALUATIONS * seconds:g} allows twice as much)"
        )

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

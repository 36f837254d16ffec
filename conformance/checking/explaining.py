"""The time for explaining failures of a file: half of the file's time limit.

The other half is for judging. A verdict is settled before it is explained, and stands when the time
is over.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from conformance.executors.limit import OutOfTime, interrupt_after
from conformance.limits import Limits

_T = TypeVar("_T")

_RESERVE, _LEAST_RESERVE = 0.05, 0.5
"""Share of a file's time, and minimum of seconds, reserved for writing the verdict."""


@dataclass(slots=True)
class ExplanationTime:
    """The time left for explanations of all programs and inputs of a file.

    `deadline` is when its worker is ended, by `time.monotonic()`, None if other files share the
    worker's time; they are checked again if it is over.
    """

    limits: Limits
    deadline: float | None = None
    _spent: float = field(default=0.0, init=False)

    def seconds_left(self) -> float:
        """Return the seconds that an explanation may take now, 0 or less where none are left."""
        left = self.limits.explanation - self._spent
        if self.deadline is None:
            return left
        reserve = max(_RESERVE * self.limits.timeout, _LEAST_RESERVE)
        return min(left, self.deadline - reserve - time.monotonic())

    def spend(self, explain: Callable[[], _T]) -> _T:
        """Return the explanation.

        Raises:
            OutOfTime: when the time is over before.
        """
        left, began = self.seconds_left(), time.monotonic()
        if math.isinf(left):
            return explain()
        if left <= 0.0:
            raise OutOfTime
        try:
            with interrupt_after(left, OutOfTime()):
                return explain()
        finally:
            self._spent += time.monotonic() - began

    def note(self) -> str:
        """Return the message about an explanation that ran out of time."""
        return (
            "the search for the cause was not finished in half of the time "
            f"(--timeout {2 * self.limits.timeout:g} allows twice as long)"
        )

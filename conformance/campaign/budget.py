"""Time budgets: every cell runs its first cases before any cell runs its second cases."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from time import monotonic

from conformance.campaign.planning import CASES_PER_MODULE
from conformance.campaign.tasks import Task
from conformance.errors import UsageError
from conformance.results.left_out import LeftOut
from conformance.results.store import CellKey

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)")
_SECONDS = {"s": 1, "m": 60, "h": 3600}

FIRST = 2
"""Cases of the first round of a cell.

Each later round doubles the number of cases, but adds at most as many as fill a module.
"""


def seconds_of(budget: str) -> float:
    """Return the seconds of a budget such as 90s, 30m or 8h.

    Raises:
        UsageError: if the text cannot be parsed.
    """
    found = _TIME.fullmatch(budget.strip())
    if found is None or not float(found[1]):
        raise UsageError(f"--budget takes a time such as 90s, 30m or 8h, not {budget!r}")
    return float(found[1]) * _SECONDS[found[2]]


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a session of a run: `seconds` after its start, or no limit."""

    begun: float
    seconds: float | None
    grace: float = 0.0

    @property
    def is_over(self) -> bool:
        """Whether the time is over: no further task may start."""
        return self.seconds is not None and monotonic() - self.begun >= self.seconds

    @property
    def is_long_over(self) -> bool:
        """Whether work in progress must be abandoned."""
        return self.seconds is not None and monotonic() - self.begun >= self.seconds + self.grace


def cut_into_rounds(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Return tasks cut into rounds of doubling size by cell: indices 0 to 1, 2 to 3, 4 to 7 and so
    on.
    """
    return tuple(part for task in tasks for part in _split_task(task))


def _split_task(task: Task) -> Iterable[Task]:
    start = task.start
    while start < task.stop:
        size = max(FIRST, min(start, CASES_PER_MODULE))
        stop = min(task.stop, start + size)
        yield replace(task, start=start, stop=stop, plans=None)
        start = stop


def rounds(tasks: Sequence[Task], seed: int) -> list[list[Task]]:
    """Return the first task of every cell, then the second of every cell, and so on.

    In each round the seed decides the order of ops, so that a limit does not always leave out the
    same ops.
    """
    found: dict[int, list[Task]] = {}
    for task in tasks:
        found.setdefault(task.start, []).append(task)
    return [
        sorted(found[start], key=lambda task: _turn(task.cell.op, seed)) for start in sorted(found)
    ]


def _turn(op: str, seed: int) -> tuple[int, str]:
    return zlib.crc32(f"{op} {seed}".encode()), op


def count_left_out(tasks: Iterable[Task]) -> list[LeftOut]:
    """Return the cases of these tasks that were left out, by cell."""
    spans: dict[CellKey, list[tuple[int, int]]] = {}
    for task in tasks:
        if len(task):
            spans.setdefault(task.cell.key, []).append((task.start, task.stop))
    return [LeftOut(*cell, tuple(found)) for cell, found in spans.items()]

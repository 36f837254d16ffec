"""The time for which a process waited for a processor although it could have run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_NANOSECONDS = 1e9


def waiting_seconds(pid: int) -> dict[int, float]:
    """Return by thread the seconds for which threads of a process have waited for a processor.

    Empty if there is no such process, or if the system does not report it.
    Source: Linux, Documentation/scheduler/sched-stats.rst, /proc/<pid>/schedstat.
    """
    found: dict[int, float] = {}
    with suppress(OSError, ValueError, IndexError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):  # the thread has ended
                _, waited, *_ = (thread / "schedstat").read_text(encoding="ascii").split()
                found[int(thread.name)] = int(waited) / _NANOSECONDS
    return found


def longest_wait(before: Mapping[int, float], after: Mapping[int, float]) -> float:
    """Return the seconds for which the thread that waited longest did so between two readings."""
    return max((seconds - before.get(one, 0.0) for one, seconds in after.items()), default=0.0)

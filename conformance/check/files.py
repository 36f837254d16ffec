"""Checking many files: in worker processes, a batch of files at a time, answers in order.

A worker that dies or hangs takes its batch with it; the files of the batch are then checked one by
one, and only those that do it again are blamed.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from conformance.check.settings import UNJUDGED, Checked, Settings
from conformance.errors import NotAvailable, UsageError
from conformance.executors.executor import Executor
from conformance.executors.limit import memory_note
from conformance.executors.local import Call, Died, Ended, TimedOut
from conformance.executors.lost import why
from conformance.frontends.arguments import InputsError
from conformance.verdict import Verdict

BATCH = 16
"""Files in a batch; fewer where that would leave workers idle."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Files to be checked in one call, from the one numbered `start`."""

    start: int
    files: tuple[str, ...]
    settings: Settings

    def singles(self) -> Iterator[Batch]:
        """The same files, each a batch of its own."""
        for number, file in enumerate(self.files):
            yield Batch(self.start + number, (file,), self.settings)


def check_batch(batch: Batch) -> tuple[Checked, ...]:
    """Return the verdicts on a batch's files, in this process."""
    is_single = len(batch.files) == 1  # the files of any other batch come again if time is over
    deadline = time.monotonic() + batch.settings.timeout if is_single else None
    return tuple(_checked(file, batch.settings, deadline) for file in batch.files)


def _checked(file: str, settings: Settings, deadline: float | None) -> Checked:
    from conformance.check.file import check_file  # loads jaxlib, which the parent does not

    try:
        return check_file(file, settings, deadline)
    except (NotAvailable, InputsError, UsageError):
        raise
    except MemoryError as error:
        message = ": ".join(filter(None, ("out of memory", str(error))))
        message = f"{message}; {memory_note()}"
        return Checked(file, Verdict.UNSUPPORTED, "not evaluated", "", message)
    except RecursionError:
        return Checked(file, Verdict.UNSUPPORTED, "not evaluated", "", "nested too deeply")
    except Exception as error:  # ours, and no reason to leave the other files unchecked
        if os.environ.get("HLO_CONFORMANCE_DEBUG"):
            raise
        message = f"{type(error).__name__}: {error}; please report it"
        return Checked(file, Verdict.UNSUPPORTED, "defect of hlo-conformance", "", message)


def batches(files: Sequence[str], settings: Settings, jobs: int) -> list[Batch]:
    """The files in batches of consecutive ones."""
    size = max(1, min(BATCH, len(files) // (4 * jobs)))
    return [
        Batch(start, tuple(files[start : start + size]), settings)
        for start in range(0, len(files), size)
    ]


def check_files(
    executor: Executor,
    files: Sequence[str],
    settings: Settings,
    timeout: float,
    jobs: int,
) -> Generator[Checked | None]:
    """Check files in workers and yield the verdicts in the order of the files.

    A file may take `timeout` seconds; so may a batch, the files of which are then given as much
    one by one. Yields None now and then, while nothing is ready.

    Raises:
        NotAvailable: when the backend cannot be had, or no worker can be started.
        InputsError: when inputs are given that a program does not take.
        UsageError: when what fails cannot be saved.
    """
    waiting = batches(files, settings, jobs)
    calls = (Call(one, check_batch, (one,), timeout) for one in waiting)
    ready: dict[int, Checked] = {}
    following = 0
    for ended in executor.results(calls):
        if ended is not None:
            for number, checked in _taken(executor, ended, timeout):
                ready[number] = checked
        if following not in ready:
            yield None
        while following in ready:
            yield ready.pop(following)
            following += 1


def _taken(executor: Executor, ended: Ended, timeout: float) -> deque[tuple[int, Checked]]:
    """The verdicts of a batch by number; none yet where it must be done again, file by file."""
    batch: Batch = ended.call.name
    value: object = ended.value
    found: deque[tuple[int, Checked]] = deque()
    if isinstance(value, tuple):
        verdicts = cast("tuple[Checked, ...]", value)
        found.extend((batch.start + n, checked) for n, checked in enumerate(verdicts))
        return found
    if not isinstance(value, (Died, TimedOut)):
        raise value if isinstance(value, Exception) else NotAvailable(str(value))
    if len(batch.files) > 1:
        for single in batch.singles():
            executor.push(Call(single, check_batch, (single,), timeout))
        return found
    if isinstance(value.kept, Checked) and (value.kept.fails or value.kept.is_settled):
        found.append((batch.start, _unexplained(value.kept, value)))
        return found
    if ended.call.function is check_batch:
        executor.push(Call(batch, _lost, (batch, *why(value)), timeout))
        return found
    _, verdict, kind, message = ended.call.arguments  # it is lost again by being read
    found.append((batch.start, Checked("".join(batch.files), verdict, kind, "", message)))
    return found


def _unexplained(settled: Checked, lost: Died | TimedOut) -> Checked:
    """Return a verdict that was settled before its worker was lost, with what is missing."""
    if settled.is_settled:
        return replace(settled, notes=(f"{UNJUDGED}: {why(lost)[2]}",), is_settled=False)
    message = f"{settled.message}; the search for the cause was not finished: {why(lost)[2]}"
    return replace(settled, message=message)


def _lost(batch: Batch, verdict: Verdict, kind: str, message: str) -> tuple[Checked, ...]:
    """The verdict on a file that a worker was lost over, in another one: it is read once more, to
    see what expectations know of its operations."""
    from conformance.check.file import known_of

    (file,) = batch.files
    known = known_of(file, batch.settings, verdict, kind, message)
    return (Checked(file, verdict, kind, "", message, (), known),)

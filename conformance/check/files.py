"""Checking many files: in worker processes, a batch of files at a time, answers in order.

A worker that dies or hangs takes its batch with it; the files of the batch are then checked one by
one, and only those that do it again are blamed.
"""

from __future__ import annotations

import os
import time
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
from conformance.pipeline.splitting import run_in_parts
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
    deadline = time.monotonic() + batch.settings.limits.timeout if is_single else None
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
    jobs: int,
) -> Generator[Checked | None]:
    """Check files in workers and yield the verdicts in the order of the files.

    A file has as much time as a batch of files has, and is checked again by itself where the batch
    takes longer. Yields None now and then, while nothing is ready.

    Raises:
        NotAvailable: when the backend cannot be had, or no worker can be started.
        InputsError: when inputs are given that a program does not take.
        UsageError: when what fails cannot be saved.
    """
    calls = (_call(one) for one in batches(files, settings, jobs))
    ready: dict[int, Checked] = {}
    following = 0
    for ended in run_in_parts(executor, calls, _singles, _question):
        if ended is not None:
            start = ended.call.name.start
            ready.update(enumerate(_verdicts(ended), start))
        if following not in ready:
            yield None
        while following in ready:
            yield ready.pop(following)
            following += 1


def _call(batch: Batch) -> Call:
    return Call(batch, check_batch, (batch,), batch.settings.limits.timeout)


def _singles(call: Call, value: object) -> list[Call]:
    """Return the calls that replace a batch which lost its worker: one for each file."""
    batch: Batch = call.name
    if isinstance(value, Exception) or len(batch.files) == 1:
        return []
    return [_call(one) for one in batch.singles()]


def _question(call: Call, value: Died | TimedOut) -> Call | None:
    """Return the call that reads a file again in another worker, to match expectations with it;
    none where the verdict was settled before the worker was lost."""
    if _is_settled(value):
        return None
    return replace(call, function=_lost, arguments=(call.name, value))


def _verdicts(ended: Ended) -> tuple[Checked, ...]:
    """Return the verdicts on the files of a batch.

    Raises:
        NotAvailable: when the call did not begin.
        Exception: when the call raised it.
    """
    value: object = ended.value
    if isinstance(value, tuple):
        return cast("tuple[Checked, ...]", value)
    if isinstance(value, (Died, TimedOut)):
        if _is_settled(value):
            return (_unexplained(value.kept, value),)
        verdict, kind, message = why(value)  # the file ends the process that reads it, too
        return (Checked("".join(ended.call.name.files), verdict, kind, "", message),)
    raise value if isinstance(value, Exception) else NotAvailable(str(value))


def _is_settled(lost: Died | TimedOut) -> bool:
    """Return whether a call left a verdict that stands."""
    return isinstance(lost.kept, Checked) and (lost.kept.fails or lost.kept.is_settled)


def _unexplained(settled: Checked, lost: Died | TimedOut) -> Checked:
    """Return a verdict that was settled before its worker was lost, with what is missing."""
    if settled.is_settled:
        return replace(settled, notes=(f"{UNJUDGED}: {why(lost)[2]}",), is_settled=False)
    message = f"{settled.message}; the search for the cause was not finished: {why(lost)[2]}"
    return replace(settled, message=message)


def _lost(batch: Batch, lost: Died | TimedOut) -> tuple[Checked, ...]:
    """Return the verdict on a file that lost its worker, with the expectations that match it."""
    (file,) = batch.files
    from conformance.check.file import known_of

    verdict, kind, message = why(lost)
    known = known_of(file, batch.settings, verdict, kind, message)
    return (Checked(file, verdict, kind, "", message, (), known),)

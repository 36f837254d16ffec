"""Checks of many files: batches of files in worker processes, verdicts in order.

If a worker crashes or times out, the files of its batch are checked one by one; only files that
crash or time out again are blamed.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from conformance.checking.calls import CHECK_BATCH, JUDGE_CRASH
from conformance.checking.settings import UNJUDGED, Batch, CheckedFile, Settings
from conformance.executors.executor import Executor
from conformance.executors.local import Call, CallEnd, WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict
from conformance.pipeline.splitting import BatchCall, answers_of, run_in_parts

BATCH = 16
"""Files in a batch; fewer where that would leave workers idle."""


def batches(files: Sequence[str], settings: Settings, jobs: int) -> list[Batch]:
    """Return the files in batches of consecutive files."""
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
) -> Generator[CheckedFile | None]:
    """Check files in workers and yield the verdicts in the order of the files.

    A file has the time of a whole batch, and is checked again in isolation if the batch takes
    longer. Yields None periodically while nothing is ready.

    Raises:
        NotAvailable: when the backend is not available, or no worker can be started.
        InputsError: when inputs are given that a program does not take.
        UsageError: when a failing program cannot be saved.
    """
    calls = (_call(batch) for batch in batches(files, settings, jobs))
    ready: dict[int, CheckedFile] = {}
    following = 0
    for ended in run_in_parts(executor, calls):
        if ended is not None:
            start = ended.call.name.start
            ready.update(enumerate(_verdicts(ended), start))
        if following not in ready:
            yield None
        while following in ready:
            yield ready.pop(following)
            following += 1


def _call(batch: Batch) -> BatchCall:
    """Return the call that checks a batch of files.

    If its worker crashes or times out, each file gets a call of its own.
    """
    seconds = batch.settings.limits.timeout

    def question(value: WorkerCrash | WorkerTimeout) -> Call | None:
        """Read a file again, to match expectations with it, unless its verdict was settled."""
        return None if _is_settled(value) else Call(batch, JUDGE_CRASH, (batch, value), seconds)

    return BatchCall(
        batch,
        CHECK_BATCH,
        (batch,),
        seconds,
        parts=lambda: [_call(single) for single in batch.singles()],
        question=question,
    )


def _verdicts(ended: CallEnd) -> tuple[CheckedFile, ...]:
    """Return the verdicts on the files of a batch; raise the exception of its call."""

    def crash_outcomes(value: WorkerCrash | WorkerTimeout) -> tuple[CheckedFile, ...]:
        if _is_settled(value):
            return (_note_missing_explanation(value.kept, value),)
        (file,) = ended.call.name.files  # the file ends the process that reads it, too
        return (CheckedFile(*crash_verdict(value), file=file),)

    return answers_of(ended, crash_outcomes)


def _is_settled(lost: WorkerCrash | WorkerTimeout) -> bool:
    """Return whether a call left a verdict that stands."""
    return isinstance(lost.kept, CheckedFile) and (lost.kept.is_new_failure or lost.kept.is_settled)


def _note_missing_explanation(
    settled: CheckedFile, lost: WorkerCrash | WorkerTimeout
) -> CheckedFile:
    """Return a verdict that was settled before its worker crashed, with a note about the missing
    cause.
    """
    if settled.is_settled:
        return replace(settled, notes=(f"{UNJUDGED}: {crash_verdict(lost)[2]}",), is_settled=False)
    message = (
        f"{settled.message}; the search for the cause was not finished: {crash_verdict(lost)[2]}"
    )
    return replace(settled, message=message)

"""A corpus: folders of findings that a campaign looks at first, whether they still fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from conformance.campaign.fuzzing.calls import came_to
from conformance.campaign.fuzzing.trials import Trial
from conformance.check.outcome import Outcome
from conformance.check.saving import INPUTS, PROGRAM
from conformance.errors import NotAvailable
from conformance.executors.executor import Executor
from conformance.executors.local import Call, Died, TimedOut
from conformance.executors.lost import why
from conformance.verdict import Verdict

STILL, GONE = "still there", "gone"


def folders(corpus: Path) -> list[Path]:
    """The folders of findings in a corpus, by name."""
    if not corpus.is_dir():
        return []
    return [path for path in sorted(corpus.iterdir()) if (path / PROGRAM).is_file()]


def replayed(
    executor: Executor, trial: Trial, corpus: Path, timeout: float
) -> Iterator[tuple[str, str]]:
    """The name of each finding of a corpus, and what it comes to now, in words.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    calls = (
        Call(path, came_to, (trial, path / PROGRAM, path / INPUTS), timeout)
        for path in folders(corpus)
    )
    for ended in executor.results(calls):
        if ended is None:
            continue
        value: object = ended.value
        if isinstance(value, NotAvailable):
            raise value
        yield ended.call.name.name, _told(value)


def _told(value: object) -> str:
    if isinstance(value, (Died, TimedOut)):
        verdict, kind, _ = why(value)
        return f"{STILL}: {verdict} ({kind})"
    if not isinstance(value, Outcome):
        return f"not tried: {' '.join(str(value).split())}"
    if value.verdict is Verdict.UNSUPPORTED:
        return f"not tried: {value.message}"
    if not value.verdict.fails:
        return GONE
    known = f", known as {', '.join(value.known)}" if value.known else ""
    return f"{STILL}: {value.verdict} ({value.kind}){known}"

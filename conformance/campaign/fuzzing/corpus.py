"""A corpus: folders of findings that a campaign looks at first, whether they still fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from conformance.campaign.fuzzing.calls import failing
from conformance.campaign.fuzzing.trials import Hit, Trial
from conformance.check.saving import INPUTS, PROGRAM
from conformance.errors import NotAvailable
from conformance.executors.local import Call, Died, LocalExecutor, TimedOut
from conformance.executors.lost import why

STILL, GONE = "still there", "gone"


def folders(corpus: Path) -> list[Path]:
    """The folders of findings in a corpus, by name."""
    if not corpus.is_dir():
        return []
    return [path for path in sorted(corpus.iterdir()) if (path / PROGRAM).is_file()]


def replayed(
    executor: LocalExecutor, trial: Trial, corpus: Path, timeout: float
) -> Iterator[tuple[str, str]]:
    """The name of each finding of a corpus, and what it comes to now, in words.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    calls = (
        Call(path, failing, (trial, path / PROGRAM, path / INPUTS), timeout)
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
    if isinstance(value, Hit):
        outcome = value.outcome
        known = f", known as {', '.join(outcome.known)}" if outcome.known else ""
        return f"{STILL}: {outcome.verdict} ({outcome.kind}){known}"
    if value is None:
        return GONE
    return f"not tried: {' '.join(str(value).split())}"

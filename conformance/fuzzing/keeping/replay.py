"""Replay of findings: a finding on several backends, or all findings of a corpus on one backend."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.backends.registry import Choice, parse_all
from conformance.checking.saving import INPUTS, PROGRAM, VERDICT
from conformance.errors import NOT_AVAILABLE, NOTHING_TESTED, NotAvailable, UsageError
from conformance.executors.backend_workers import describe, executor_of
from conformance.executors.executor import Executor
from conformance.executors.local import Call, WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict
from conformance.fuzzing.calls import CRASH_OF_FILE, OUTCOME_OF_FILE
from conformance.fuzzing.keeping.bundle import FINDING
from conformance.fuzzing.trial import Trial
from conformance.gate.files import Given
from conformance.gate.reading import load
from conformance.gate.versions import applicable_entries
from conformance.judging.messages import verdict_text
from conformance.limits import LIMITS, Limits
from conformance.pipeline.outcome import Outcome
from conformance.results.versions import versions
from conformance.text import join_versions


@dataclass(frozen=True, slots=True)
class SavedFailure:
    """A failing program in a folder: a finding, or a failing check saved by `check --save`.

    Verdict and class are text as the folder has it. Without a stored verdict only the folder is
    set.
    """

    folder: Path
    backend: str = ""
    verdict: str = ""
    kind: str = ""

    @property
    def line(self) -> str:
        """The finding in a line."""
        said = verdict_text(self.verdict, self.kind, "")
        told = f": {said} on {self.backend}" if self.verdict else ""
        return f"{self.folder.name}{told}"


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome of a saved program on a backend with these versions; None if the backend is not
    available.
    """

    backend: str
    versions: tuple[tuple[str, str], ...] = ()
    outcome: Outcome | None = None
    why: str = ""


def read_finding(folder: Path) -> SavedFailure:
    """Return the finding in a folder.

    Raises:
        UsageError: if it holds no finding, or the verdict cannot be read.
    """
    if not (folder / PROGRAM).is_file():
        inside = next(iter(folders(folder)), None)
        hint = f"; give a folder in it, such as {inside}" if inside else ""
        raise UsageError(f"{folder} holds no finding: it has no {PROGRAM}{hint}")
    told: Any = {}
    said = next((folder / name for name in (FINDING, VERDICT) if (folder / name).is_file()), None)
    if said is not None:
        try:
            told = json.loads(said.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(f"{said} cannot be read: {error}") from error
    if not isinstance(told, dict):
        raise UsageError(f"{said} is not a finding")
    found = [str(told.get(name, "")) for name in ("backend", "verdict", "class")]
    return SavedFailure(folder.resolve(), *found)


def replay(
    kept: SavedFailure, backends: Sequence[str], limits: Limits = LIMITS, given: Given = None
) -> list[Row]:
    """Run a finding on each backend, or on its own backend if none is given.

    The limits hold for each backend; `given` are the expectations, the shipped ones by default.

    Raises:
        UsageError: if a backend does not exist, or none is given or recorded.
    """
    if not backends and not kept.backend:
        raise UsageError(f"{kept.folder.name} does not name a backend: give --backend")
    return [_row(kept, one, limits, given) for one in parse_all(backends or [kept.backend])]


def _row(kept: SavedFailure, choice: Choice, limits: Limits, given_entries: Given) -> Row:
    known = load(given_entries, (choice.name,), versions())
    try:
        with executor_of(choice, jobs=1, limits=limits, functions=(OUTCOME_OF_FILE,)) as executor:
            described = describe(executor, choice)
            row = Row(choice.name, described.versions)
            known = applicable_entries(known, [described])
            trial = Trial(choice.spelling, 0, 0, 1, frozenset(), known, limits.evaluation)
            inputs = kept.folder / INPUTS
            given = (trial, kept.folder / PROGRAM, inputs if inputs.is_file() else None)
            value = executor.one(Call(choice.name, OUTCOME_OF_FILE, given, limits.timeout))
            if isinstance(value, (WorkerCrash, WorkerTimeout)):
                value = _match_crash(executor, choice.name, given, limits.timeout, value)
    except NotAvailable as error:
        return Row(choice.name, why=str(error))
    if isinstance(value, Outcome):
        return replace(row, outcome=value)
    raise value if isinstance(value, Exception) else UsageError(str(value))


def _match_crash(
    executor: Executor,
    name: object,
    given: tuple[Trial, Path, Path | None],
    timeout: float,
    lost: WorkerCrash | WorkerTimeout,
) -> Outcome:
    """Return the outcome of a program that crashed its worker, with expectations that match it."""
    outcome = Outcome(*crash_verdict(lost))
    found = executor.one(Call(name, CRASH_OF_FILE, (*given, outcome), timeout))
    if isinstance(found, Exception):
        raise found
    return found if isinstance(found, Outcome) else outcome


def lines(kept: SavedFailure, rows: Sequence[Row]) -> list[str]:
    """Return the finding, and a table of its outcomes by backend."""
    cells = [("backend", "the finding", "versions")]
    cells += [(row.backend, _row_text(kept, row), _versions(row)) for row in rows]
    widths = [max(len(cell[column]) for cell in cells) for column in range(2)]
    return [
        kept.line,
        *(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in cells),
    ]


def _row_text(kept: SavedFailure, row: Row) -> str:
    outcome = row.outcome
    if outcome is None:
        return "not available"
    if not outcome.verdict.is_tested:
        return "cannot be judged"
    if not outcome.verdict.fails:
        return "gone"
    here = "there" if (outcome.verdict, outcome.kind) == (kept.verdict, kept.kind) else "fails"
    said = verdict_text(outcome.verdict.value, outcome.kind, "")
    known = f", known as {', '.join(outcome.known)}" if outcome.known else ""
    return f"{here}: {said}{known}"


def _versions(row: Row) -> str:
    """Return the versions of a backend, or the reason why it was not tried."""
    if row.outcome is None:
        return row.why
    shown = join_versions(row.versions)
    return shown if row.outcome.verdict.is_tested else row.outcome.message


def exit_code(rows: Sequence[Row]) -> int:
    """Return 1 if a backend has the finding, else 3 if a backend is not available, else 4 if
    nothing could be judged, else 0.
    """
    outcomes = [row.outcome for row in rows]
    if any(outcome is not None and outcome.verdict.fails for outcome in outcomes):
        return 1
    if None in outcomes:
        return NOT_AVAILABLE
    judged = any(outcome is not None and outcome.verdict.is_tested for outcome in outcomes)
    return 0 if judged else NOTHING_TESTED


STILL, GONE = "still there", "gone"


def folders(corpus: Path) -> list[Path]:
    """Return the folders of findings in a corpus, by name."""
    if not corpus.is_dir():
        return []
    return [path for path in sorted(corpus.iterdir()) if (path / PROGRAM).is_file()]


def replay_corpus(
    executor: Executor, trial: Trial, corpus: Path, timeout: float
) -> Iterator[tuple[str, str]]:
    """Run the findings of a corpus; yield the name of each, and its state in words.

    Raises:
        NotAvailable: when the backend is not available.
    """
    given = {path: (trial, path / PROGRAM, path / INPUTS) for path in folders(corpus)}
    calls = (Call(path, OUTCOME_OF_FILE, one, timeout) for path, one in given.items())
    crashes: list[tuple[Path, WorkerCrash | WorkerTimeout]] = []
    for ended in executor.results(calls):
        if ended is None:
            continue
        value: object = ended.value
        if isinstance(value, NotAvailable):
            raise value
        if isinstance(value, (WorkerCrash, WorkerTimeout)):
            crashes.append((ended.call.name, value))
        else:
            yield ended.call.name.name, _state(value)
    for path, lost in crashes:
        yield path.name, _state(_match_crash(executor, path, given[path], timeout, lost))


def _state(value: object) -> str:
    if not isinstance(value, Outcome):
        return f"not tried: {' '.join(str(value).split())}"
    if not value.verdict.is_tested:
        return f"not tried: {value.message}"
    if not value.verdict.fails:
        return GONE
    known = f", known as {', '.join(value.known)}" if value.known else ""
    return f"{STILL}: {verdict_text(value.verdict.value, value.kind, '')}{known}"

"""Runs of the same backends at several dates or versions, in the order in which they began."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import msgspec

from conformance.errors import UsageError
from conformance.outputs import history as output
from conformance.outputs.fields import Version
from conformance.outputs.run import Backend, Shares
from conformance.results.database import StoreError
from conformance.results.shares import outcome
from conformance.results.store import FILE_NAME, CellKey
from conformance.results.summary import RunData, load

SUMMARY = "summary.json"
"""The report of a run as JSON, in its folder."""


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """The outcome of a planned cell in one of several runs, with its cases' worst verdict."""

    verdict: str
    outcome: str

    @property
    def words(self) -> str:
        """The verdict in words, with `new` or `known` where cases fail."""
        verdict = self.verdict.replace("_", " ")
        return f"{verdict}, {self.outcome}" if self.outcome in ("new", "known") else verdict


class _Cell(msgspec.Struct):
    """A cell in summary.json, with the fields that a history needs."""

    op: str
    element_type: str
    backend: str
    verdict: str
    known: int
    new_failures: int


class _Summary(msgspec.Struct):
    """A summary.json of any minor version, with the fields that a history needs."""

    schema_version: Version
    started: str
    profile: str
    seed: int
    versions: dict[str, str]
    backends: tuple[Backend, ...]
    shares: tuple[Shares, ...]
    cells: tuple[_Cell, ...]
    filters: dict[str, list[str] | str | None]
    exit_code: int | None
    build: str = ""


@dataclass(frozen=True)
class PastRun:
    """A run in a history, without its records."""

    path: str
    summary: _Summary

    @property
    def started(self) -> str:
        """The time at which the run began: UTC, in ISO 8601."""
        return self.summary.started

    @property
    def date(self) -> str:
        """The time at which the run began, to the minute: 2026-11-21 09:30."""
        return self.started[:16].replace("T", " ") or "not dated"

    @property
    def shares(self) -> tuple[Shares, ...]:
        """The planned cells of each backend by outcome."""
        return self.summary.shares

    @cached_property
    def cells(self) -> dict[CellKey, CellOutcome]:
        """The outcomes of the planned cells."""
        return {
            (cell.op, cell.element_type, cell.backend): CellOutcome(
                cell.verdict, outcome(cell.verdict, cell.new_failures, cell.known)
            )
            for cell in self.summary.cells
        }

    @cached_property
    def circumstances(self) -> dict[str, str]:
        """Facts on which its results may depend, by name: versions, filters, profile, seed,
        build."""
        return dict(_circumstances(self.summary))


@dataclass(frozen=True, slots=True)
class CellHistory:
    """The outcomes of a cell in each run, in order; None if the run did not plan the cell."""

    key: CellKey
    outcomes: tuple[CellOutcome | None, ...]

    @property
    def has_changed(self) -> bool:
        """Whether two runs that planned the cell differ in it."""
        return len({one for one in self.outcomes if one is not None}) > 1

    @property
    def is_same(self) -> bool:
        """Whether every run planned the cell, with the same outcome."""
        return len({*self.outcomes}) == 1

    @property
    def last_change(self) -> int:
        """The number of the run in which the outcome last changed; 0 if it never did."""
        present = [(at, one) for at, one in enumerate(self.outcomes) if one is not None]
        changes = pairwise(present)
        return max((at for (_, before), (at, after) in changes if before != after), default=0)


@dataclass(frozen=True)
class History:
    """Several runs, the oldest first, and the newest as a whole."""

    runs: tuple[PastRun, ...]
    newest: RunData

    @cached_property
    def cells(self) -> tuple[CellHistory, ...]:
        """Every cell that a run planned, in the order of the newest run, then of older runs."""
        keys = dict.fromkeys(key for run in reversed(self.runs) for key in run.cells)
        return tuple(CellHistory(key, tuple(run.cells.get(key) for run in self.runs))
                     for key in keys)  # fmt: skip

    @cached_property
    def changed_cells(self) -> tuple[CellHistory, ...]:
        """The cells in which runs differ, those that changed last first."""
        found = [cell for cell in self.cells if cell.has_changed]
        return tuple(sorted(found, key=lambda cell: -cell.last_change))

    def differences(self, number: int) -> tuple[tuple[str, str, str], ...]:
        """Return the differences of a run from the run before it, as (what, before, after)."""
        if not number:
            return ()
        before, after = (self.runs[at].circumstances for at in (number - 1, number))
        names = dict.fromkeys((*after, *before))
        return tuple(
            (name, before.get(name, ""), after.get(name, ""))
            for name in names
            if before.get(name, "") != after.get(name, "")
        )


def load_history(paths: Sequence[Path]) -> History:
    """Read runs, and sort them by the time at which they began.

    For all runs except the newest, a summary.json is enough: its folder or the file itself.

    Raises:
        UsageError: if there are fewer than two runs, or they have different backends.
        StoreError: if a run cannot be read.
    """
    if len(paths) < 2:
        raise UsageError("a history is of several runs: give at least two folders")
    found: dict[Path, PastRun] = {}
    newest: tuple[str, RunData] | None = None
    for path in paths:
        place = (path / FILE_NAME if path.is_dir() else path).resolve()
        if place in found:
            raise UsageError(f"{path} is given twice")
        run = _read_run(path)
        found[place] = _past_of(path) if run is None else past_run(path, run)
        if run is not None and (newest is None or run.started >= newest[1].started):
            newest = str(path), run
    runs = sorted(found.values(), key=lambda one: one.started)
    if newest is None or newest[1].started != runs[-1].started:
        raise UsageError(
            f"the newest run, {runs[-1].path}, is given as a {SUMMARY}, which is enough "
            f"only for older runs: give the folder with its {FILE_NAME}"
        )
    _check(runs)
    return History(tuple(runs), newest[1])


def _read_run(path: Path) -> RunData | None:
    """Return a run, or None if only its summary.json can be read."""
    if path.suffix == ".json":
        return None
    try:
        return load(path)
    except StoreError:
        if path.is_dir() and (path / SUMMARY).is_file():
            return None
        raise


def _past_of(path: Path) -> PastRun:
    """Return the run that a summary.json describes."""
    summary = path / SUMMARY if path.is_dir() else path
    try:
        return PastRun(str(path), msgspec.json.decode(summary.read_bytes(), type=_Summary))
    except OSError as error:
        raise UsageError(f"cannot read {summary}: {error.strerror or error}") from error
    except msgspec.DecodeError as error:  # values of another form included
        raise UsageError(
            f"{summary} is not a report of schema version 1 ({error}): make it again by "
            "`hlo-conformance report` of the version that ran it"
        ) from error


def _check(runs: Sequence[PastRun]) -> None:
    """Raise UsageError for a run that has no cell in common with the newest."""
    *others, newest = runs
    for one in others:
        if newest.cells.keys().isdisjoint(one.cells):
            raise UsageError(
                f"{one.path} and {newest.path} have no cell in common: a history is of runs of the "
                "same backends; without --history, runs of different backends are merged"
            )


def past_run(path: Path, run: RunData) -> PastRun:
    """Return the part of a run that a history needs."""
    return PastRun(str(path), msgspec.convert(run.report, _Summary, from_attributes=True))


def _circumstances(summary: _Summary) -> Iterator[tuple[str, str]]:
    yield from summary.versions.items()
    for backend in summary.backends:
        for name, version in backend.versions.items():
            if summary.versions.get(name) != version:
                yield f"{backend.name}: {name}", version
    for name, value in summary.filters.items():
        if value:
            words = " ".join(value) if isinstance(value, list) else value
            yield f"--{name.replace('_', '-')}", words
    yield "profile", summary.profile
    yield "seed", str(summary.seed)
    yield "build of hlo-conformance", summary.build


def history_json(history: History) -> output.History:
    """Return the JSON form of a history."""
    return output.History(
        runs=tuple(map(_run, history.runs)),
        cells=tuple(_cell(cell) for cell in history.cells if not cell.is_same),
    )


def _run(one: PastRun) -> output.PastRun:
    summary = one.summary
    return output.PastRun(
        path=one.path,
        started=summary.started,
        profile=summary.profile,
        seed=summary.seed,
        build=summary.build,
        versions=summary.versions,
        backends=summary.backends,
        shares=summary.shares,
        exit_code=summary.exit_code,
    )


def _cell(cell: CellHistory) -> output.PastCell:
    op, element_type, backend = cell.key
    return output.PastCell(
        op=op,
        element_type=element_type,
        backend=backend,
        verdicts=tuple(one and one.verdict for one in cell.outcomes),  # pyright: ignore[reportArgumentType]
        outcomes=tuple(one and one.outcome for one in cell.outcomes),  # pyright: ignore[reportArgumentType]
    )


_MOST_TOLD = 10
"""The number of changed cells that are printed."""


def history_lines(history: History) -> list[str]:
    """Return the printed lines of a history: a line per run, then the cells that changed last."""
    lines: list[str] = []
    for index, run in enumerate(history.runs):
        told = "; ".join(shares_words(share) for share in run.shares)
        changes = difference_words(history.differences(index))
        lines.append(f"{run.date} {told}" + (f" ({changes})" if changes else ""))
    changed = history.changed_cells
    lines.append(f"cells that changed over these runs: {len(changed)} of {len(history.cells)}")
    for cell in changed[:_MOST_TOLD]:
        op, element_type, backend = cell.key
        words = " → ".join(outcome_words(one) for one in cell.outcomes)
        lines.append(f"changed: {op} {element_type} on {backend}: {words}")
    return lines


def shares_words(shares: Shares) -> str:
    """Return how many cells of a backend conform, diverge or were not tested, in words."""
    counts = (
        (shares.new, "with new divergences"),
        (shares.known, "with known divergences"),
        (shares.unsupported, "unsupported"),
        (shares.untested, "not tested"),
    )
    rest = "".join(f", {count} {words}" for count, words in counts if count)
    return f"{shares.backend}: {shares.conforms} of {shares.planned} cells conform{rest}"


def difference_words(differences: Sequence[tuple[str, str, str]]) -> str:
    """Return the differences of a run from the run before it, in words."""
    return ", ".join(
        f"{what} {before or 'none'} → {after or 'none'}" for what, before, after in differences
    )


def outcome_words(outcome: CellOutcome | None) -> str:
    """Return the outcome of a cell in a run, in words."""
    return "not planned" if outcome is None else outcome.words

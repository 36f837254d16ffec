"""Sections of the Markdown summary about earlier runs, findings of campaigns, and sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from conformance.outputs.sweep import Sweep
from conformance.results.history import History, difference_words, outcome_words
from reports.context import Context
from reports.markdown import code, escape

if TYPE_CHECKING:  # it loads jax, and a report of no campaign needs none
    from conformance.fuzzing.keeping.collection import FoundCause
    from reports.sweeps.tables import Cell, FailingClass

RUNS, CELLS, CAUSES, CLASSES = 20, 30, 20, 20
"""The largest number of listed runs (the newest), cells (those that changed last), causes, and
classes of a sweep's failures."""


def sections(context: Context) -> list[str]:
    """Return the sections about earlier runs, findings and sweeps."""
    made: list[str] = []
    if context.history is not None:
        made += _history(context.history)
    if context.causes is not None:
        made += _causes(context.causes)
    if context.sweeps is not None:
        made += _sweeps(context.sweeps)
    return made


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))


def _history(history: History) -> list[str]:
    first = max(0, len(history.runs) - RUNS)
    rows = [
        (escape(run.date), escape(share.backend), str(share.planned),
         str(share.conforms),
         "–" if share.conforms_percent is None else f"{share.conforms_percent:g} %",
         str(share.new), str(share.known), str(share.unsupported), str(share.untested),
         escape(difference_words(history.differences(index)), 400) or "–")
        for index, run in enumerate(history.runs[first:], first)
        for share in run.shares
    ]  # fmt: skip
    head = ("run", "backend", "cells", "conform", "share", "new", "known", "unsupported",
            "untested", "since the run before")  # fmt: skip
    left = f"\n\n{first} older runs are in index.html." if first else ""
    changed = history.changed_cells
    count = f"{len(changed)} of {len(history.cells)} cells changed over these runs."
    return ["## History", _table(head, rows) + left, count, *_changes_table(history)]


def _changes_table(history: History) -> list[str]:
    shown, runs = history.changed_cells[:CELLS], history.runs[-6:]
    if not shown:
        return []
    head = ("op", "element type", "backend", *(escape(run.date) for run in runs))
    rows = [
        (
            *map(escape, cell.key),
            *(escape(outcome_words(outcome)) for outcome in cell.outcomes[-6:]),
        )
        for cell in shown
    ]
    left = len(history.changed_cells) - len(shown)
    return [_table(head, rows) + (f"\n\n{left} more are in index.html." if left else "")]


def _causes(causes: Sequence[FoundCause]) -> list[str]:
    if not causes:
        return ["## Findings of campaigns", "None."]
    rows = [
        (escape(one.cause), str(one.programs), escape(one.first_found[:10]) or "not recorded",
         escape(one.findings[0].backend), escape(one.findings[0].message),
         code(one.findings[0].folder))
        for one in (cause.described for cause in causes[:CAUSES])
    ]  # fmt: skip
    head = ("cause", "programs", "since", "backend", "message", "folder")
    left = len(causes) - len(rows)
    more = f"\n\n{left} more are in index.html." if left > 0 else ""
    return ["## Findings of campaigns", _table(head, rows) + more]


def _sweeps(sweeps: Sequence[Sweep]) -> list[str]:
    """Return the worst errors and the failures of each backend that was swept."""
    from reports.sweeps.tables import tables_of  # loads the sweep, which a report of none needs not

    made = ["## Sweeps"]
    for one in tables_of(sweeps):
        made.append(f"{escape(one.backend)}: {one.functions} functions, {one.values:,} values; ")
        made[-1] += f"worst errors in ulp ({escape(one.versions)}). Bold: all values were tried."
        rows = [(escape(op), *map(_error, cells)) for op, cells in one.rows]
        if rows:
            made.append(_table(("op", *map(escape, one.types)), rows))
        made += _failures(one.failures)
    return made


def _error(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    return f"**{cell.error}**" if cell.is_exhaustive else cell.error


def _failures(failures: Sequence[FailingClass]) -> list[str]:
    rows = [
        (escape(failure.function), failure.found.verdict.value, escape(failure.found.class_) or "–",
         str(failure.found.count), escape(failure.found.known) or "**none**",
         escape(failure.example))
        for failure in failures[:CLASSES]
    ]  # fmt: skip
    if not rows:
        return []
    head = ("function", "verdict", "class", "results", "expectation", "example")
    left = len(failures) - len(rows)
    return [_table(head, rows) + (f"\n\n{left} more are in index.html." if left else "")]

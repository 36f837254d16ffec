"""Earlier runs, and findings of campaigns, in the Markdown summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from conformance.results.history import History, difference_words, outcome_words
from reports.context import Context
from reports.markdown import code, escape

if TYPE_CHECKING:  # it loads jax, and a report of no campaign needs none
    from conformance.fuzzing.keeping.collection import FoundCause

RUNS, CELLS, CAUSES = 20, 30, 20
"""The largest number of listed runs (the newest), cells (those that changed last) and causes."""


def sections(context: Context) -> list[str]:
    """Return the sections about earlier runs and findings."""
    made: list[str] = []
    if context.history is not None:
        made += _history(context.history)
    if context.causes is not None:
        made += _causes(context.causes)
    return made


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))


def _history(history: History) -> list[str]:
    first = max(0, len(history.runs) - RUNS)
    rows = [
        (escape(run.date), escape(one.backend), str(one.planned),
         str(one.conforms), "–" if one.conforms_percent is None else f"{one.conforms_percent:g} %",
         str(one.new), str(one.known), str(one.unsupported), str(one.untested),
         escape(difference_words(history.differences(number)), 400) or "–")
        for number, run in enumerate(history.runs[first:], first)
        for one in run.shares
    ]  # fmt: skip
    head = ("run", "backend", "cells", "conform", "share", "new", "known", "unsupported",
            "untested", "since the run before")  # fmt: skip
    left = f"\n\n{first} older runs are in index.html." if first else ""
    changed = history.changed
    count = f"{len(changed)} of {len(history.cells)} cells changed over these runs."
    return ["## History", _table(head, rows) + left, count, *_changed(history)]


def _changed(history: History) -> list[str]:
    shown, runs = history.changed[:CELLS], history.runs[-6:]
    if not shown:
        return []
    head = ("op", "element type", "backend", *(escape(run.date) for run in runs))
    rows = [
        (*map(escape, cell.key), *(escape(outcome_words(one)) for one in cell.outcomes[-6:]))
        for cell in shown
    ]
    left = len(history.changed) - len(shown)
    return [_table(head, rows) + (f"\n\n{left} more are in index.html." if left else "")]


def _causes(causes: Sequence[FoundCause]) -> list[str]:
    if not causes:
        return ["## Findings of campaigns", "None."]
    rows = [
        (escape(one.cause), str(one.programs), escape(one.first_found[:10]) or "not recorded",
         escape(one.findings[0].backend), escape(one.findings[0].message),
         code(one.findings[0].folder))
        for one in (each.described for each in causes[:CAUSES])
    ]  # fmt: skip
    head = ("cause", "programs", "since", "backend", "message", "folder")
    left = len(causes) - len(rows)
    more = f"\n\n{left} more are in index.html." if left > 0 else ""
    return ["## Findings of campaigns", _table(head, rows) + more]

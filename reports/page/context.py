"""Earlier runs and findings of campaigns, as the page's script draws them."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Any

from conformance.outputs.finding import Finding
from conformance.outputs.run import Shares
from conformance.results.history import CellOutcome, History
from reports import text
from reports.context import Context

if TYPE_CHECKING:  # it loads jax, and a report of no campaign needs none
    from conformance.fuzzing.keeping.collection import FoundCause

SCRIPTS = 60
"""The number of findings whose program and script are on the page; others have a link to the
folder."""

LONGEST = 6_000
"""Largest number of characters of a program or a script on the page."""

_CODES = ascii_letters + digits
_ABSENT = "-"


def context_data(context: Context) -> dict[str, Any]:
    """Return the data of the section on earlier runs and of the section on findings; None for a
    section that was not requested.
    """
    return {
        "history": None if context.history is None else _history(context.history),
        "causes": None if context.causes is None else _causes(context.causes),
    }


def _history(history: History) -> dict[str, Any]:
    """Return the runs, and for each cell a string with one character per run for its outcome.

    A cell with equal outcomes in all runs has none.
    """
    cells = [cell for cell in history.cells if not cell.is_same]
    outcomes = dict.fromkeys(
        outcome for cell in cells for outcome in cell.outcomes if outcome is not None
    )
    codes = dict(zip(outcomes, _CODES, strict=False))
    return {
        "runs": [
            {
                "date": text.escape_controls(run.date),
                "path": text.escape_controls(run.path),
                "shares": [_shares(share) for share in run.shares],
                "differences": [
                    [text.clip_line(word, 120) for word in words]
                    for words in history.differences(index)
                ],
            }
            for index, run in enumerate(history.runs)
        ],
        "outcomes": {code: [one.verdict, one.outcome] for one, code in codes.items()},
        "cells": {
            text.escape_controls("/".join(cell.key)): "".join(
                _code(codes, outcome) for outcome in cell.outcomes
            )
            for cell in cells
        },
        "count": len(history.cells),
        "changed": [text.escape_controls("/".join(cell.key)) for cell in history.changed_cells],
    }


def _code(codes: dict[CellOutcome, str], outcome: CellOutcome | None) -> str:
    return _ABSENT if outcome is None else codes.get(outcome, _ABSENT)


def _shares(one: Shares) -> dict[str, Any]:
    return {
        "backend": text.escape_controls(one.backend),
        "planned": one.planned,
        "percent": "–" if one.conforms_percent is None else f"{one.conforms_percent:g} %",
        "conforms": one.conforms,
        "new": one.new,
        "known": one.known,
        "unsupported": one.unsupported,
        "untested": one.untested,
    }


def _causes(causes: Sequence[FoundCause]) -> list[dict[str, Any]]:
    left = SCRIPTS
    rows: list[dict[str, Any]] = []
    for cause in causes:
        described = cause.described
        findings: list[dict[str, Any]] = []
        for finding in described.findings:
            script = cause.scripts.get(finding.folder, "") if left > 0 else ""
            findings.append(_finding(finding, script, is_whole=left > 0))
            left -= 1
        rows.append(
            {
                "cause": text.clip_line(described.cause),
                "programs": described.programs,
                "first": described.first_found[:10],
                "last": described.last_found[:10],
                "findings": findings,
            }
        )
    return rows


def _finding(one: Finding, script: str, *, is_whole: bool) -> dict[str, Any]:
    return {
        "name": text.escape_controls(one.name),
        "folder": text.escape_controls(one.folder),
        "replay": f"hlo-conformance replay {text.shell_word(one.folder)}",
        "backend": text.escape_controls(one.backend),
        "verdict": one.verdict.value,
        "kind": text.clip_line(one.class_, 120),
        "culprit": text.clip_line(one.culprit),
        "types": [text.escape_controls(of) for of in one.element_types],
        "message": text.clip_line(one.message, 600),
        "programs": one.programs,
        "first": one.first_found[:10],
        "versions": text.clip_line(
            ", ".join(f"{name} {v}" for name, v in one.versions.items()), 400
        ),
        "vanishes": [text.clip_line(way) for way in one.vanishes],
        "program": text.clip_lines(text.escape_controls(one.program), LONGEST)[0]
        if is_whole
        else "",
        "script": text.escape_controls(script),
    }

"""All data of the page as JSON, from which its script draws the sections that a reader opens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reports import squares, text
from reports.page import cells, changes, comparison, curves, divergences, near_misses
from reports.page.cells import Tables
from reports.page.divergences import ListedGroup, Programs
from reports.view import View


def data_of(
    seen: View, groups: Sequence[ListedGroup], pretty: Callable[[], Mapping[str, str]]
) -> dict[str, Any]:
    """Return the data of the page. Programs have their `pretty` forms, which are computed last."""
    tables = Tables(seen)
    made: dict[str, Any] = {
        "backends": [text.escape_controls(name) for name in seen.backends],
        "types": [text.escape_controls(name) for name in tables.types],
        "states": cells.STATES, "statuses": cells.STATUSES, "fields": cells.CELL_FIELDS,
        "nearMisses": cells.NEAR_MISSES, "glyphs": squares.GLYPHS, "meanings": squares.MEANINGS,
        "replay": replay_words(seen.db),
        "ops": cells.op_rows(tables),
        "cells": cells.cell_rows(tables),
        "batches": cells.batch_rows(tables),
        "curves": curves.curves(tables),
        "invalid": near_misses.near_miss_rows(tables),
        "differences": comparison.difference_rows(tables) if len(seen.backends) > 1 else None,
        "changes": None if seen.comparison is None else changes.changes(tables, seen.comparison),
    }  # fmt: skip
    programs = Programs(pretty())
    made["groups"] = divergences.group_rows(tables, groups, programs)
    made["programs"] = programs.texts
    made["refusals"] = list(tables.refusals)
    return made


def replay_words(db: str) -> list[str]:
    """Return the text before and after a case's id in the command that replays it."""
    return ["hlo-conformance replay ", f" --db {text.shell_word(db)}" if db else ""]

"""Near misses: the constraints of each op that were tried, and the backends' answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from conformance.verdict import Record, Verdict
from generators.case.columns import INVALID
from reports import text
from reports.page.cells import Tables

REFUSED, ACCEPTED, OTHER = "refused", "accepted", "other"


def near_miss_rows(tables: Tables) -> list[list[Any]]:
    """Return a row for each op with near misses in the run.

    It has the op, how many of its constraints were tried, how many it has, and for each backend the
    numbers of programs refused, accepted or answered differently, with the constraints whose
    programs it did not refuse.
    """
    by_op: dict[str, list[Record]] = defaultdict(list)
    for record in tables.seen.run.records:
        if record.element_type == INVALID.name:
            by_op[record.op].append(record)
    rows: list[list[Any]] = []
    for op in tables.ops:
        records = by_op.get(op.name)
        if records:
            rows.append(_row(tables, op.name, op.constraints, records))
    return rows


def _row(tables: Tables, op: str, constraints: tuple[str, ...], records: list[Record]) -> list[Any]:
    ids = _ids(op)
    tried = {ids[r.index] for r in records if r.index < len(ids)} & set(constraints)
    backends: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        backends[record.backend].append(record)
    answers = [
        [tables.backend(name), *_count_answers(ids, found)] for name, found in backends.items()
    ]
    return [tables.op(op), len(tried), len(constraints), answers]


def _count_answers(ids: tuple[str, ...], records: list[Record]) -> list[Any]:
    counts = Counter(_answer(record) for record in records)
    others = [
        [ids[record.index] if record.index < len(ids) else "", record.verdict.value, record.index]
        for record in records
        if record.verdict is not Verdict.PASS
    ]
    return [counts[REFUSED], counts[ACCEPTED], counts[OTHER], others]


def _answer(record: Record) -> str:
    if record.verdict is Verdict.PASS:
        return REFUSED
    return ACCEPTED if record.verdict is Verdict.ACCEPTED else OTHER


def _ids(op: str) -> tuple[str, ...]:
    """Return the constraint that each near miss of an op breaks, by its index."""
    from generators.cells.columns import ordered_misses  # loads every near miss

    try:
        return tuple(text.escape_controls(id_) for id_, _ in ordered_misses(op))
    except KeyError:  # a stored run may have been of another version
        return ()

"""The store of a run: a database with one transaction per task.

A run that is killed at any moment loses no task for which `add_task` returned. A task is stored
whole or not at all. A power failure may lose the last tasks, which are then run again.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple
from functools import reduce
from typing import Any, TypeVar

import msgspec

from conformance.results.database import Database, explain_errors, write_meta
from conformance.verdict import (
    Detail,
    Element,
    Errors,
    Failing,
    LostBatch,
    Record,
    Repeats,
    Timing,
    Verdict,
)

FILE_NAME = "results.sqlite"

CellKey = tuple[str, str, str]
"""A cell as stored: op, element type, backend."""

_TABLES = """
CREATE TABLE tasks (
  id TEXT PRIMARY KEY, op TEXT, element_type TEXT, backend TEXT,
  modules INTEGER, peak_rss_mb REAL, timing TEXT, from_cache INTEGER) WITHOUT ROWID;
CREATE TABLE records (
  op TEXT, element_type TEXT, backend TEXT, number INTEGER, digest TEXT, verdict TEXT, kind TEXT,
  message TEXT, pairs INTEGER, elements INTEGER, worst_ulp REAL, budget_ulp REAL, known TEXT,
  failing TEXT, repeats TEXT, wrong_digest TEXT,
  PRIMARY KEY (op, element_type, backend, number)) WITHOUT ROWID;
CREATE TABLE details (
  op TEXT, element_type TEXT, backend TEXT, number INTEGER,
  program TEXT, inputs BLOB, wrong INTEGER, total INTEGER, elements TEXT,
  PRIMARY KEY (op, element_type, backend, number));
CREATE TABLE errors (
  task TEXT PRIMARY KEY, op TEXT, element_type TEXT, backend TEXT,
  histogram TEXT, points TEXT) WITHOUT ROWID;
CREATE TABLE lost_batches (name TEXT PRIMARY KEY, backend TEXT, batch TEXT) WITHOUT ROWID;
"""

_RECORDS = """
SELECT r.op, r.element_type, r.backend, r.number, r.digest, r.verdict, r.kind, r.message, r.pairs,
       r.elements, r.worst_ulp, r.budget_ulp, r.known, r.failing, r.repeats, r.wrong_digest,
       d.program, d.inputs, d.wrong, d.total, d.elements
FROM records r LEFT JOIN details d USING (op, element_type, backend, number)
"""
_OF_KEY = "WHERE r.op = ? AND r.element_type = ? AND r.backend = ? AND r.number = ?"
_START = (
    """op || '-' || replace(replace(element_type, '<', '_'), '>', '') || '-' || backend || '-'"""
)
"""SQL of the beginning of a record's id, without its number (`Record.id`)."""
_CELLS = "(SELECT DISTINCT op, element_type, backend FROM tasks)"
_CELL_STARTS = f"SELECT op, element_type, backend, {_START} FROM {_CELLS}"  # noqa: S608


_T = TypeVar("_T")


class Store(Database):
    """A run's results on disk. Use as a context manager, from one thread."""

    HOLDS = "run"
    TABLES = _TABLES
    FORMAT = 6
    APPLICATION = 0x484C4F43  # "HLOC"

    def add_task(
        self,
        task_id: str,
        cell: CellKey,
        records: Sequence[Record],
        errors: Errors,
        timing: Timing,
        *,
        modules: int = 0,
        peak_rss_mb: float = 0.0,
        from_cache: int = 0,
        meta: Mapping[str, Any] | None = None,
        lost: Sequence[LostBatch] = (),
    ) -> None:
        """Store a finished task as a whole; once this returns, it survives the end of the process.

        `lost` are batches that failed as a whole and contain cases of the task. `from_cache` is the
        number of cases taken from a cache. Adding a stored task again changes nothing.
        """
        with self.transaction() as database:
            row = (task_id, *cell, modules, peak_rss_mb, json.dumps(astuple(timing)), from_cache)
            added = database.execute("INSERT OR IGNORE INTO tasks VALUES (?,?,?,?,?,?,?,?)", row)
            if not added.rowcount:
                return
            for record in records:
                _write_record(database, record)
            pictures = (json.dumps(errors.histogram), json.dumps(errors.points))
            if any(errors.histogram):
                database.execute(
                    "INSERT INTO errors VALUES (?,?,?,?,?,?)", (task_id, *cell, *pictures)
                )
            _write_lost(database, lost)
            write_meta(database, meta or {})

    def keep_lost(self, batches: Sequence[LostBatch]) -> None:
        """Store batches that failed as a whole, replacing stored versions of the same batches."""
        with self.transaction() as database:
            _write_lost(database, batches)

    def lost_batches(self) -> list[LostBatch]:
        """Return the batches that failed as a whole, in the order of their cases."""
        rows = self.rows("SELECT batch FROM lost_batches")
        with explain_errors(self.path):
            found = [_parse_column(row[0], LostBatch) for row in rows]
        return sorted(found, key=lambda batch: (batch.backend, batch.cases))

    def add_store(self, other: Store) -> None:
        """Add all tasks and records of another store; none may be in this store."""
        with self.transaction() as database:
            for table in ("tasks", "records", "details", "errors", "lost_batches"):
                rows = other.rows(f"SELECT * FROM {table}")  # noqa: S608
                if rows:
                    places = ",".join("?" * len(rows[0]))
                    database.executemany(f"INSERT INTO {table} VALUES ({places})", rows)  # noqa: S608

    def finished_tasks(self) -> set[str]:
        """Return the ids of the stored tasks."""
        return {row[0] for row in self.rows("SELECT id FROM tasks")}

    def records(self) -> list[Record]:
        """Return every record, sorted by backend, op, element type and index."""
        with explain_errors(self.path):
            found = [_read_record(row) for row in self._connection.execute(_RECORDS)]
        # sorting in SQLite would copy programs and inputs, too
        return sorted(found, key=lambda r: (r.backend, r.op, r.element_type, r.index))

    def record(self, id: str) -> Record | None:  # noqa: A002 - what it is called everywhere
        """Return the record with an id, or None, without reading the others."""
        # tasks are few; a look at every record takes a second where there are a million
        for *cell, start in self.rows(_CELL_STARTS):
            number = id.removeprefix(start)
            if number != id and number.isascii() and number.isdecimal():
                for row in self.rows(_RECORDS + _OF_KEY, *cell, number):
                    if str(row[3]) == number:
                        with explain_errors(self.path):
                            return _read_record(row)
        return None

    def count_records(self) -> int:
        """Count the records."""
        return self.rows("SELECT count(*) FROM records")[0][0]

    def ids(self) -> list[str]:
        """Return the ids of all records."""
        rows = self.rows(f"SELECT {_START} || number FROM records")  # noqa: S608
        return [row[0] for row in rows]

    def settle(self, records: Sequence[Record]) -> None:
        """Replace stored records after they were matched with other expectations."""
        with self.transaction() as database:
            for record in records:
                for table in ("records", "details"):
                    database.execute(
                        f"DELETE FROM {table} "  # noqa: S608
                        "WHERE op = ? AND element_type = ? AND backend = ? AND number = ?",
                        _key(record),
                    )
                _write_record(database, record)

    def errors(self) -> dict[CellKey, Errors]:
        """Return the error statistics of each cell that has them, merged over tasks."""
        from conformance.judging.judgement import merge_errors  # writers need not load it

        query = "SELECT op, element_type, backend, histogram, points FROM errors ORDER BY task"
        parts: dict[CellKey, list[Errors]] = {}
        for op, element_type, backend, histogram, points in self.rows(query):
            with explain_errors(self.path):
                stored = {"histogram": json.loads(histogram), "points": json.loads(points)}
            found = self.convert(stored, Errors)
            parts.setdefault((op, element_type, backend), []).append(found)
        return {cell: reduce(merge_errors, found) for cell, found in parts.items()}

    def totals(self) -> tuple[Timing, int, float]:
        """Return, over all tasks, the seconds by part, the compiled modules, and a worker's peak
        memory in MB."""
        found = self.rows("SELECT timing, modules, peak_rss_mb FROM tasks")
        with explain_errors(self.path):
            parts = zip(*(json.loads(row[0]) for row in found), strict=True)
        timing = Timing(*(math.fsum(seconds) for seconds in parts))
        return timing, sum(row[1] for row in found), max((row[2] for row in found), default=0.0)

    def cell_seconds(self) -> dict[CellKey, float]:
        """Return the seconds spent on each cell with results."""
        query = "SELECT op, element_type, backend, timing FROM tasks ORDER BY id"
        found: dict[CellKey, list[float]] = {}
        for op, element_type, backend, timing in self.rows(query):
            found.setdefault((op, element_type, backend), []).extend(json.loads(timing))
        return {key: math.fsum(seconds) for key, seconds in found.items()}

    def cached_cases(self) -> dict[CellKey, int]:
        """Count the cases of each cell that were taken from a cache."""
        query = (
            "SELECT op, element_type, backend, sum(from_cache) FROM tasks WHERE from_cache > 0 "
            "GROUP BY op, element_type, backend"
        )
        return {(row[0], row[1], row[2]): row[3] for row in self.rows(query)}


def _key(record: Record) -> tuple[str, str, str, int]:
    return (record.op, record.element_type, record.backend, record.index)


def _write_lost(database: sqlite3.Connection, batches: Sequence[LostBatch]) -> None:
    for batch in batches:
        text = msgspec.json.encode(batch).decode()
        cases = json.dumps([batch.backend, batch.cases, batch.kind])
        name = hashlib.sha256(cases.encode()).hexdigest()[:16]
        row = (name, batch.backend, text)
        database.execute("INSERT OR REPLACE INTO lost_batches VALUES (?,?,?)", row)


def _write_record(database: sqlite3.Connection, record: Record) -> None:
    row = (
        *_key(record), record.digest, record.verdict.value, record.kind, record.message,
        record.pairs, record.values, record.worst_ulp, record.budget_ulp, record.known,
        msgspec.json.encode(record.failing).decode() if record.failing else "",
        msgspec.json.encode(record.repeats).decode() if record.repeats else "",
        record.wrong_digest,
    )  # fmt: skip
    database.execute("INSERT INTO records VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", row)
    detail = record.detail
    if detail is not None:
        elements = json.dumps([asdict(element) for element in detail.elements])
        database.execute(
            "INSERT INTO details VALUES (?,?,?,?,?,?,?,?,?)",
            (*_key(record), detail.program, detail.inputs, detail.wrong, detail.total, elements),
        )


def _read_record(row: Sequence[Any]) -> Record:
    (op, element_type, backend, number, digest, verdict, kind, message, pairs, values) = row[:10]
    worst_ulp, budget_ulp, known, failing, repeats, wrong_digest = row[10:16]
    program, inputs, wrong, total, elements = row[16:]
    detail = None
    if program is not None:
        found = _parse_column(elements, tuple[Element, ...])
        detail = Detail(program, inputs, wrong, total, found)
    all_failing = _parse_column(failing, tuple[Failing, ...]) if failing else ()
    return Record(
        op, element_type, backend, number, digest, Verdict(verdict), kind, message, pairs, values,
        worst_ulp, budget_ulp, known, detail, all_failing,
        _parse_column(repeats, Repeats) if repeats else None, wrong_digest,
    )  # fmt: skip


def _parse_column(stored: str, into: type[_T]) -> _T:
    """Convert the JSON text of a column to a type.

    Raises:
        msgspec.DecodeError: if it is no JSON, or has another form.
    """
    return msgspec.json.decode(stored, type=into)

"""The store of a run: one SQLite file with a single writer, one transaction per task.

A run that is killed at any moment loses no task for which `add_task` returned. A task is stored
whole or not at all. A power failure may lose the last tasks, which are then run again. The journal
is a write-ahead log while the run writes; closing the store folds it into the file.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, astuple
from functools import reduce
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from conformance.text import one_line
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
SCHEMA_VERSION = 5
_APPLICATION_ID = 0x484C4F43  # "HLOC": tells our file from any other SQLite database

CellKey = tuple[str, str, str]
"""A cell as stored: op, element type, backend."""

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tasks (
  id TEXT PRIMARY KEY, op TEXT, element_type TEXT, backend TEXT,
  modules INTEGER, peak_rss_mb REAL, timing TEXT, from_cache INTEGER) WITHOUT ROWID;
CREATE TABLE records (
  op TEXT, element_type TEXT, backend TEXT, number INTEGER, digest TEXT, verdict TEXT, kind TEXT,
  message TEXT, pairs INTEGER, elements INTEGER, worst_ulp REAL, budget_ulp REAL, known TEXT,
  failing TEXT, repeats TEXT,
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
       r.elements, r.worst_ulp, r.budget_ulp, r.known, r.failing, r.repeats, d.program, d.inputs,
       d.wrong, d.total, d.elements
FROM records r LEFT JOIN details d USING (op, element_type, backend, number)
"""
_OF_KEY = "WHERE r.op = ? AND r.element_type = ? AND r.backend = ? AND r.number = ?"
_START = (
    """op || '-' || replace(replace(element_type, '<', '_'), '>', '') || '-' || backend || '-'"""
)
"""The parts of a record's id except its number (`Record.id`), in SQL."""
_CELLS = "(SELECT DISTINCT op, element_type, backend FROM tasks)"
_CELL_STARTS = f"SELECT op, element_type, backend, {_START} FROM {_CELLS}"  # noqa: S608


_T = TypeVar("_T")


class StoreError(Exception):
    """The store cannot be read or written; the message says in one line why, and what to do."""


def decode(stored: Any, into: type[_T]) -> _T:
    """Convert a JSON value to a type.

    Raises:
        StoreError: if it has another form; the message says where.
    """
    try:
        return msgspec.convert(stored, into)
    except msgspec.ValidationError as error:
        raise StoreError(f"damaged: {error}; start over with --fresh") from error


class Store:
    """A run's results on disk. Use as a context manager, from one thread."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file; create it and its folder if `read_only` is false.

        Raises:
            StoreError: if it is damaged, of another program, read-only or in use, or the disk is
                full.
        """
        self.path = path
        self._lock: int | None = None
        with _explained(path):
            if read_only:
                self._connection = _open_to_read(path)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._lock = _lock_folder(path)
                if not path.exists() or path.stat().st_size == 0:
                    _create(path)
                self._connection = sqlite3.connect(path, isolation_level=None)
        try:
            with _explained(path):
                self._check()
                if not read_only:
                    self._connection.execute("PRAGMA journal_mode = WAL")
                    # what the system has is safe from our end; waiting for the disk took a tenth
                    # of a run (measured)
                    self._connection.execute("PRAGMA synchronous = NORMAL")
        except StoreError:
            self._release()
            raise

    def _check(self) -> None:
        database = self._connection
        if database.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
            raise StoreError(f"{self.path} is a database, but not one of hlo-conformance")
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version != SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} has format {version}, this hlo-conformance reads {SCHEMA_VERSION}: "
                "start over with --fresh, or read it with the version that wrote it"
            )
        found = database.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(found)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Fold the log into the file and close it. Closing twice is harmless.

        Raises:
            StoreError: if there is no space for that; the log is kept, and nothing is lost.
        """
        try:
            if self._lock is not None:
                with _explained(self.path):
                    # a plain journal lets the file be read from a folder that cannot be written
                    self._connection.execute("PRAGMA journal_mode = DELETE")
        finally:
            self._release()

    def _release(self) -> None:
        self._connection.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with _explained(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def meta(self) -> dict[str, Any]:
        """Return all values about the run as a whole, by key."""
        with _explained(self.path):
            rows = self._connection.execute("SELECT key, value FROM meta ORDER BY key").fetchall()
        return {key: json.loads(value) for key, value in rows}

    def set_meta(self, values: Mapping[str, Any]) -> None:
        """Store values (anything that JSON can represent), replacing those with the same keys."""
        with self._transaction() as database:
            _write_meta(database, values)

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
        with self._transaction() as database:
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
            _write_meta(database, meta or {})

    def keep_lost(self, batches: Sequence[LostBatch]) -> None:
        """Store batches that failed as a whole, replacing earlier facts about the same batches."""
        with self._transaction() as database:
            _write_lost(database, batches)

    def lost_batches(self) -> list[LostBatch]:
        """Return the batches that failed as a whole, in the order of their cases."""
        with _explained(self.path):
            rows = self._connection.execute("SELECT batch FROM lost_batches").fetchall()
        found = [_parsed(row[0], LostBatch) for row in rows]
        return sorted(found, key=lambda batch: (batch.backend, batch.cases))

    def add_store(self, other: Store) -> None:
        """Add all tasks and records of another store; none may be in this store."""
        with self._transaction() as database:
            for table in ("tasks", "records", "details", "errors", "lost_batches"):
                with _explained(other.path):
                    rows = other._connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608
                if rows:
                    places = ",".join("?" * len(rows[0]))
                    database.executemany(f"INSERT INTO {table} VALUES ({places})", rows)  # noqa: S608

    def finished_tasks(self) -> set[str]:
        """Return the ids of the stored tasks."""
        with _explained(self.path):
            return {row[0] for row in self._connection.execute("SELECT id FROM tasks")}

    def records(self) -> list[Record]:
        """Return every record, sorted by backend, op, element type and index."""
        with _explained(self.path):
            found = [_read_record(row) for row in self._connection.execute(_RECORDS)]
        # sorting in SQLite would copy programs and inputs, too
        return sorted(found, key=lambda r: (r.backend, r.op, r.element_type, r.index))

    def record(self, id: str) -> Record | None:  # noqa: A002 - what it is called everywhere
        """Return the record with an id, or None, without reading the others."""
        with _explained(self.path):
            # tasks are few; a look at every record takes a second where there are a million
            for *cell, start in self._connection.execute(_CELL_STARTS).fetchall():
                number = id.removeprefix(start)
                if number != id and number.isascii() and number.isdecimal():
                    row = self._connection.execute(_RECORDS + _OF_KEY, (*cell, number)).fetchone()
                    if row is not None and str(row[3]) == number:
                        return _read_record(row)
        return None

    def count_records(self) -> int:
        """Count the records."""
        with _explained(self.path):
            return self._connection.execute("SELECT count(*) FROM records").fetchone()[0]

    def ids(self) -> list[str]:
        """Return the ids of all records."""
        with _explained(self.path):
            rows = self._connection.execute(f"SELECT {_START} || number FROM records").fetchall()  # noqa: S608
        return [row[0] for row in rows]

    def settle(self, records: Sequence[Record]) -> None:
        """Write these records again, after other expectations were matched."""
        with self._transaction() as database:
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
        with _explained(self.path):
            for op, element_type, backend, histogram, points in self._connection.execute(query):
                stored = {"histogram": json.loads(histogram), "points": json.loads(points)}
                part = decode(stored, Errors)
                parts.setdefault((op, element_type, backend), []).append(part)
        return {cell: reduce(merge_errors, found) for cell, found in parts.items()}

    def totals(self) -> tuple[Timing, int, float]:
        """Return, over all tasks, the seconds by part, the compiled modules, and a worker's peak
        memory in MB."""
        with _explained(self.path):
            rows = self._connection.execute("SELECT timing, modules, peak_rss_mb FROM tasks")
            found = rows.fetchall()
        parts = zip(*(json.loads(row[0]) for row in found), strict=True)
        timing = Timing(*(math.fsum(seconds) for seconds in parts))
        return timing, sum(row[1] for row in found), max((row[2] for row in found), default=0.0)

    def cell_seconds(self) -> dict[CellKey, float]:
        """Return the seconds spent on each cell with results."""
        query = "SELECT op, element_type, backend, timing FROM tasks ORDER BY id"
        found: dict[CellKey, list[float]] = {}
        with _explained(self.path):
            for op, element_type, backend, timing in self._connection.execute(query):
                found.setdefault((op, element_type, backend), []).extend(json.loads(timing))
        return {key: math.fsum(seconds) for key, seconds in found.items()}

    def cached_cases(self) -> dict[CellKey, int]:
        """Count the cases of each cell that were taken from a cache."""
        query = (
            "SELECT op, element_type, backend, sum(from_cache) FROM tasks WHERE from_cache > 0 "
            "GROUP BY op, element_type, backend"
        )
        with _explained(self.path):
            return {(row[0], row[1], row[2]): row[3] for row in self._connection.execute(query)}


def discard(path: Path) -> None:
    """Delete a store in any state; harmless if there is none.

    Raises:
        StoreError: if it cannot be deleted, or another run uses it.
    """
    if not path.parent.is_dir():
        return
    with _explained(path):
        lock = _lock_folder(path)
        try:
            for end in ("", "-wal", "-shm", "-journal"):
                path.with_name(path.name + end).unlink(missing_ok=True)
        finally:
            os.close(lock)


def _key(record: Record) -> tuple[str, str, str, int]:
    return (record.op, record.element_type, record.backend, record.index)


def _write_meta(database: sqlite3.Connection, values: Mapping[str, Any]) -> None:
    rows = [(key, json.dumps(value, sort_keys=True)) for key, value in values.items()]
    database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)


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
    )  # fmt: skip
    database.execute("INSERT INTO records VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", row)
    detail = record.detail
    if detail is not None:
        elements = json.dumps([asdict(element) for element in detail.elements])
        database.execute(
            "INSERT INTO details VALUES (?,?,?,?,?,?,?,?,?)",
            (*_key(record), detail.program, detail.inputs, detail.wrong, detail.total, elements),
        )


def _read_record(row: Sequence[Any]) -> Record:
    (op, element_type, backend, number, digest, verdict, kind, message, pairs, values) = row[:10]
    worst_ulp, budget_ulp, known, failing, repeats, program, inputs, wrong, total, elements = row[
        10:
    ]
    detail = None
    if program is not None:
        found = _parsed(elements, tuple[Element, ...])
        detail = Detail(program, inputs, wrong, total, found)
    all_failing = _parsed(failing, tuple[Failing, ...]) if failing else ()
    return Record(
        op, element_type, backend, number, digest, Verdict(verdict), kind, message, pairs, values,
        worst_ulp, budget_ulp, known, detail, all_failing,
        _parsed(repeats, Repeats) if repeats else None,
    )  # fmt: skip


def _parsed(stored: str, into: type[_T]) -> _T:
    """Convert the JSON text of a column to a type."""
    try:
        return msgspec.json.decode(stored, type=into)
    except msgspec.DecodeError as error:  # values of another form included
        raise StoreError(f"damaged: {error}; start over with --fresh") from error


def _open_to_read(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise StoreError(f"there is no {path}: give the folder of a run, or its {FILE_NAME}")
    with path.open("rb"):
        pass  # raises the operating system's own reason, which SQLite would not tell
    # SQLite writes beside a log; where it cannot and there is no log, the file is all there is
    alone = not path.with_name(path.name + "-wal").exists() and not os.access(path.parent, os.W_OK)
    uri = f"{path.absolute().as_uri()}?mode=ro" + ("&immutable=1" if alone else "")
    return sqlite3.connect(uri, uri=True, isolation_level=None)


def _create(path: Path) -> None:
    # elsewhere, then moved: who reads while a run begins finds no database or a whole one
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    with closing(sqlite3.connect(new)) as database:
        database.executescript(_SCHEMA)
        database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    new.replace(path)


def _lock_folder(path: Path) -> int:
    """Return a lock on the folder, held until it is closed or the process ends."""
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise StoreError(
            f"{path.parent} is in use by another run: wait for it, or choose another --out"
        ) from None
    except OSError:
        os.close(handle)
        raise
    return handle


@contextmanager
def _explained(path: Path) -> Generator[None]:
    """Turn errors of SQLite and of the operating system into one line that says what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreError(_operational(path, str(error))) from error
    except sqlite3.DatabaseError as error:
        raise StoreError(
            f"{path} is damaged or not a database ({one_line(error)}): "
            "move it away, or start over with --fresh"
        ) from error
    except OSError as error:
        reason = error.strerror or one_line(error)
        raise StoreError(f"cannot use {path}: {reason}; choose another folder") from error


def _operational(path: Path, said: str) -> str:
    said = one_line(said)
    if "disk is full" in said or "disk I/O" in said:
        return (
            f"no space to write {path} ({said}): make room, then give the same command again; "
            "what was stored is kept"
        )
    if "readonly" in said or "unable to open" in said:
        return f"cannot write {path} ({said}): choose another folder, or change its permissions"
    if "locked" in said:
        return f"{path} is in use by another process: wait for it, or choose another folder"
    return f"cannot use {path} ({said}): move it away, or start over with --fresh"

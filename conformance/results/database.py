"""A database with a single writer: a SQLite file with values by key and tables of its own.

A store of a run and the journal of a campaign are such files. A process that is killed at any
moment loses nothing that a call has stored. The journal is a write-ahead log while a process
writes; closing the file folds the log into it.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import msgspec

from conformance.errors import UsageError
from conformance.text import one_line

_T = TypeVar("_T")

START_OVER = "move it away, or repeat the command that wrote it with --fresh"
"""Advice about a file that cannot be read."""

_META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"


class StoreError(UsageError):
    """Raised when the file cannot be read or written; the message says why and how to mend it, in
    one line.
    """


class Database:
    """An open file. Use as a context manager, from one thread."""

    HOLDS: ClassVar[str]
    """The content of a file, for messages."""

    TABLES: ClassVar[str]
    """The statements that create its tables besides `meta`."""

    FORMAT: ClassVar[int]
    """The version of the format: the number of changes of the tables so far."""

    APPLICATION: ClassVar[int]
    """The SQLite application id, which distinguishes the file from other programs' files."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file; create it and its folder if `read_only` is false.

        Raises:
            StoreError: if it is damaged, of another program, read-only or in use, or the disk is
                full.
        """
        self.path = path
        self._lock: int | None = None
        with explain_errors(path):
            if read_only:
                self._connection = self._open_to_read()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._lock = _lock_folder(path)
                try:
                    if not path.exists() or path.stat().st_size == 0:
                        self._create()
                    self._connection = sqlite3.connect(path, isolation_level=None)
                except BaseException:
                    self._unlock()
                    raise
        try:
            with explain_errors(path):
                self._check()
                if not read_only:
                    self._connection.execute("PRAGMA journal_mode = WAL")
                    # what the system has is safe from our end; waiting for the disk took a tenth
                    # of a run (measured)
                    self._connection.execute("PRAGMA synchronous = NORMAL")
        except StoreError:
            self._release()
            raise

    def _open_to_read(self) -> sqlite3.Connection:
        path = self.path
        if not path.is_file():
            raise StoreError(
                f"there is no {path}: give the folder of a {self.HOLDS}, or its database file"
            )
        with path.open("rb"):
            pass  # raises the operating system's own reason, which SQLite would not tell
        # SQLite writes beside a log; where it cannot and there is no log, the file is all there is
        has_log = path.with_name(path.name + "-wal").exists()
        alone = not has_log and not os.access(path.parent, os.W_OK)
        uri = f"{path.absolute().as_uri()}?mode=ro" + ("&immutable=1" if alone else "")
        return sqlite3.connect(uri, uri=True, isolation_level=None)

    def _create(self) -> None:
        # elsewhere, then moved: who reads while a command begins finds no database or a whole one
        new = self.path.with_name(self.path.name + ".new")
        new.unlink(missing_ok=True)
        with closing(sqlite3.connect(new)) as database:
            database.executescript(_META + self.TABLES)
            database.execute(f"PRAGMA application_id = {self.APPLICATION}")
            database.execute(f"PRAGMA user_version = {self.FORMAT}")
        new.replace(self.path)

    def _check(self) -> None:
        database = self._connection
        if database.execute("PRAGMA application_id").fetchone()[0] != self.APPLICATION:
            raise StoreError(f"{self.path} is a database, but not one of hlo-conformance")
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version != self.FORMAT:
            raise StoreError(
                f"{self.path} has format {version}, this hlo-conformance reads {self.FORMAT}: "
                "read it with the version that wrote it, or repeat the command that wrote it with "
                "--fresh"
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
                with explain_errors(self.path):
                    self._fold_log()
        finally:
            self._release()

    def _fold_log(self) -> None:
        """Fold the log into the file, unless another process is reading it: then the log stays.

        Without a log, the file can be read from a folder that cannot be written.
        """
        try:
            self._connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise

    def _release(self) -> None:
        self._connection.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Store all that is written in the block, or nothing."""
        with explain_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def rows(self, query: str, *given: Any) -> list[Any]:
        """Return the rows of a query."""
        with explain_errors(self.path):
            return self._connection.execute(query, given).fetchall()

    def meta(self) -> dict[str, Any]:
        """Return all metadata, by key."""
        rows = self.rows("SELECT key, value FROM meta ORDER BY key")
        with explain_errors(self.path):
            return {key: json.loads(value) for key, value in rows}

    def convert(self, stored: Any, into: type[_T]) -> _T:
        """Convert a stored JSON value to a type.

        Raises:
            StoreError: if it has another form; the message says where.
        """
        with explain_errors(self.path):
            return msgspec.convert(stored, into)

    def set_meta(self, values: Mapping[str, Any]) -> None:
        """Store metadata (values that JSON can represent), replacing values of the same keys."""
        with self.transaction() as database:
            write_meta(database, values)


def write_meta(database: sqlite3.Connection, values: Mapping[str, Any]) -> None:
    """Store metadata by key, within an open transaction."""
    rows = [(key, json.dumps(value, sort_keys=True)) for key, value in values.items()]
    database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)


def discard(path: Path) -> None:
    """Delete a database in any state; harmless if there is none.

    Raises:
        StoreError: if it cannot be deleted, or another command uses it.
    """
    if not path.parent.is_dir():
        return
    with explain_errors(path):
        lock = _lock_folder(path)
        try:
            for end in ("", "-wal", "-shm", "-journal"):
                path.with_name(path.name + end).unlink(missing_ok=True)
        finally:
            os.close(lock)


def _lock_folder(path: Path) -> int:
    """Return a lock on the folder, held until it is closed or the process ends."""
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise StoreError(
            f"{path.parent} is in use by another command: wait for it, or choose another --out"
        ) from None
    except OSError:
        os.close(handle)
        raise
    return handle


@contextmanager
def explain_errors(path: Path) -> Generator[None]:
    """Turn errors of SQLite, of the operating system and of stored values in the block into one
    line with advice.
    """
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreError(_operational(path, str(error))) from error
    except sqlite3.DatabaseError as error:
        said = f"{path} is damaged or not a database ({one_line(error)}): {START_OVER}"
        raise StoreError(said) from error
    except (msgspec.DecodeError, json.JSONDecodeError) as error:
        said = f"{path} is damaged (a stored value: {one_line(error)}): {START_OVER}"
        raise StoreError(said) from error
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
    return f"cannot use {path} ({said}): {START_OVER}"

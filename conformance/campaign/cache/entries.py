"""The file of a cache: values by key, which any number of runs may share at a time.

A value is a digest of the key and the content, then the content, so that damage is always noticed.
If anything is wrong with the file, the run prints a line and goes on without the cache, or with a
new file.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from conformance.errors import UsageError
from conformance.text import one_line

FILE_NAME = "hlo-conformance-cache.sqlite"
FORMAT = 2
KEPT_DAYS = 30
"""Number of days after which an unused entry is deleted."""

_APPLICATION_ID = 0x484C4F4B  # "HLOK"
_LOCK = "hlo-conformance-cache.lock"
_CHECK = 8  # bytes of the digest before each value
_WAIT = 30.0  # seconds for another run to finish writing
_PENDING = 256  # entries that are written together
_LATEST = 1.0  # seconds after which entries are written, however few

_SCHEMA = """
CREATE TABLE entries (key BLOB PRIMARY KEY, used INTEGER NOT NULL, value BLOB NOT NULL)
  WITHOUT ROWID;
"""


def key_of(*parts: object) -> bytes:
    """Return the key for values that JSON can represent."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


class Entries:
    """The entries of a cache, opened. Use as a context manager, from one thread."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        """Open the cache in a folder; create folder and file if necessary.

        `say` is called with a line if the cache is damaged and replaced, or cannot be used.

        Raises:
            UsageError: when the folder cannot be created, or has another program's file.
        """
        self.path = folder / FILE_NAME
        self._say = say
        self._pending: dict[bytes, bytes] = {}
        self._asked: set[bytes] = set()
        self._today = datetime.now(UTC).toordinal()
        self._written = monotonic()
        self._has_told = False
        self._connection: sqlite3.Connection | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with _lock_folder(folder):
                self._connection = self._open_connection()
        except OSError as error:
            raise UsageError(
                f"--cache {folder}: {error.strerror or error}: choose a folder that can be written"
            ) from error

    def _open_connection(self) -> sqlite3.Connection | None:
        """Return a connection to an intact file, created if necessary, or None."""
        for is_last in (False, True):
            try:
                return self._require_connection()
            except _OtherFormat as error:
                self._move_away(str(error))
            except sqlite3.OperationalError as error:
                self._tell(f"the cache {self.path} cannot be used ({error}): all cases are run")
                return None
            except sqlite3.DatabaseError as error:
                if is_last:
                    raise UsageError(f"--cache: {self.path} cannot be made: {error}") from error
                self._move_away(f"is damaged ({error})")
        return None

    def _require_connection(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=_WAIT)
        try:
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                connection.executescript(_SCHEMA)
                connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
            self._check(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            oldest = self._today - KEPT_DAYS
            connection.execute("DELETE FROM entries WHERE used < ?", (oldest,))
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
            raise UsageError(
                f"--cache: {self.path} is a database of another program: choose another folder"
            )
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found != FORMAT:
            raise _OtherFormat(f"has format {found}, this version reads {FORMAT}")
        said = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if said != "ok":
            raise sqlite3.DatabaseError(said)

    def _move_away(self, why: str) -> None:
        why = one_line(why)
        for end in ("-wal", "-shm", ""):
            part = self.path.with_name(self.path.name + end)
            if part.exists():
                part.replace(part.with_name(f"{FILE_NAME}.damaged{end}"))
        self._tell(f"the cache {self.path} {why}: starting an empty one")

    def __enter__(self) -> Entries:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write pending entries and close the file. Closing twice is harmless."""
        self.flush()
        if self._connection is None:
            return
        with self._disable_on_error():
            rows = [(self._today, key, self._today) for key in self._asked]
            self._execute_in_transaction(
                "UPDATE entries SET used = ? WHERE key = ? AND used < ?", rows
            )
        self._let_go()

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the stored values of these keys."""
        found = {key: self._pending[key] for key in keys if key in self._pending}
        if self._connection is None or not keys:
            return found
        with self._disable_on_error():
            places = ",".join("?" * len(keys))
            query = f"SELECT key, value FROM entries WHERE key IN ({places})"  # noqa: S608
            rows = self._connection.execute(query, keys).fetchall()
            for key, value in rows:
                content = _check_content(key, value)
                if content is None:
                    self._delete_damaged(key)
                else:
                    found.setdefault(key, content)
        self._asked |= found.keys()
        return found

    def _delete_damaged(self, key: bytes) -> None:
        if not self._has_told:
            self._tell(f"the cache {self.path} has damaged entries: these cases are run again")
        self.forget([key])

    def put(self, key: bytes, content: bytes) -> None:
        """Store a value at the next flush; an existing key keeps its value."""
        if self._connection is not None:
            self._pending.setdefault(key, content)
            if len(self._pending) >= _PENDING or monotonic() - self._written >= _LATEST:
                self.flush()

    def forget(self, keys: Iterable[bytes]) -> None:
        """Delete the entries of these keys."""
        rows = [(key,) for key in keys]
        for (key,) in rows:
            self._pending.pop(key, None)
        if self._connection is not None:
            with self._disable_on_error():
                self._execute_in_transaction("DELETE FROM entries WHERE key = ?", rows)

    def flush(self) -> None:
        """Write pending entries."""
        pending, self._pending = self._pending, {}
        self._written = monotonic()
        if self._connection is not None and pending:
            rows = [
                (key, self._today, _check_of(key, content) + content)
                for key, content in pending.items()
            ]
            with self._disable_on_error():
                self._execute_in_transaction("INSERT OR IGNORE INTO entries VALUES (?,?,?)", rows)

    def _execute_in_transaction(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if self._connection is None or not rows:
            return
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.executemany(statement, rows)
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _disable_on_error(self) -> Generator[None]:
        """Print a line and continue without the cache if SQLite raises an error in the block."""
        try:
            yield
        except sqlite3.Error as error:
            said = one_line(error)
            self._tell(
                f"the cache {self.path} cannot be used any more ({said}): all further cases are run"
            )
            self._let_go()

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _tell(self, line: str) -> None:
        self._has_told = True
        self._say(line)


class _OtherFormat(Exception):
    """A cache file in the format of another version of hlo-conformance."""


def _check_of(key: bytes, content: bytes) -> bytes:
    return hashlib.blake2b(key + content, digest_size=_CHECK).digest()


def _check_content(key: bytes, value: object) -> bytes | None:
    """Return the content of a stored value; None where it is damaged."""
    if not isinstance(value, bytes) or len(value) < _CHECK:
        return None
    content = value[_CHECK:]
    return content if _check_of(key, content) == value[:_CHECK] else None


@contextmanager
def _lock_folder(folder: Path) -> Generator[None]:
    """Hold the lock of a cache's folder, so that no process replaces the new cache of another."""
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)

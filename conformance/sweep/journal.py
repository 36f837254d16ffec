"""The progress of a sweep on disk: a line for each finished block.

If the process is killed while it writes a line, the incomplete line is removed when the file is
opened again, and its block runs again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from conformance.backends.base import Description
from conformance.errors import UsageError
from conformance.sweep.outcome import SweepOutcome
from conformance.text import list_differences

FILE_NAME = "blocks.jsonl"
"""The name of the file in the folder of a sweep."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a sweep that decide its plan and its verdicts."""

    ops: tuple[str, ...]
    backend: str
    element_types: tuple[str, ...]
    to: tuple[str, ...]
    arity: int
    sample: int
    exhaustive: bool
    seed: int
    expectations: tuple[str, ...] | None
    backend_versions: tuple[str, ...]


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line: the identity of the sweep, the time of its start, and its command.

    `identity` decides the outcomes. `request` and `backend` are what another process needs to add
    them up.
    """

    identity: Mapping[str, str]
    started: str
    command: str
    request: Request
    backend: Description


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A finished block: its functions, its first argument, and an outcome for each function."""

    indices: tuple[int, ...]
    start: int
    outcomes: tuple[SweepOutcome, ...]
    seconds: float


class Journal:
    """The file of a sweep, open for more lines. Use as a context manager."""

    def __init__(self, folder: Path, header: Header) -> None:
        """Open the file in a folder, or create it.

        Raises:
            UsageError: when the file belongs to another sweep, or cannot be written.
        """
        self._path = folder / FILE_NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("a+b")
        except OSError as error:
            message = f"cannot write {self._path}: {error.strerror or error}; choose another --out"
            raise UsageError(message) from error
        self.header = header
        self._done: list[Line] = []
        try:
            self._continue(self._whole_lines(), folder)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def _continue(self, lines: list[bytes], folder: Path) -> None:
        """Resume the sweep in the file, or write the header of a new sweep."""
        if lines:
            self.header = _check_header(_read(lines[0], Header, self._path), self.header, folder)
            self._done = [_read(line, Line, self._path) for line in lines[1:]]
        else:
            self._write(self.header)

    def finished_blocks(self) -> list[Line]:
        """Return the finished blocks; blocks of earlier sessions come first."""
        return list(self._done)

    def add(self, line: Line) -> None:
        """Store a block on disk before returning."""
        self._write(line)
        self._done.append(line)

    def extend(self, lines: Sequence[Line]) -> None:
        """Store several finished blocks on disk before returning."""
        self._file.writelines(msgspec.json.encode(line) + b"\n" for line in lines)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._done.extend(lines)

    def _write(self, line: Header | Line) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _whole_lines(self) -> list[bytes]:
        self._file.seek(0)
        content = self._file.read()
        end = content.rfind(b"\n") + 1
        self._file.truncate(end)
        return content[:end].splitlines()


def read_journal(path: Path) -> tuple[Header, list[Line]]:
    """Return the content of a sweep's file, given its folder or the file itself.

    Raises:
        UsageError: when there is none, or it cannot be read.
    """
    file = path / FILE_NAME if path.is_dir() else path
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}") from error
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    if not lines:
        raise UsageError(f"{file} holds no sweep that has begun")
    return _read(lines[0], Header, file), [_read(line, Line, file) for line in lines[1:]]


def _read(line: bytes, shape: type[Any], path: Path) -> Any:
    try:
        return msgspec.json.decode(line, type=shape)
    except msgspec.MsgspecError as error:
        message = (
            f"{path} was not written by `sweep` of this version: {error}; "
            "repeat that sweep with --fresh"
        )
        raise UsageError(message) from error


def _check_header(found: Header, wanted: Header, folder: Path) -> Header:
    differing = list_differences(found.identity, wanted.identity)
    if differing:
        raise UsageError(
            f"{folder} holds a sweep with {'; '.join(differing)}: "
            "choose another --out, or start over with --fresh"
        )
    return found

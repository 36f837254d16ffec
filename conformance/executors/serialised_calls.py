"""Calls serialised for another machine, with the files that they name, which may be missing
there.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TransferredFile = tuple[str, int, int]
"""A file by its absolute path, its size, and its time of modification in ns."""


@dataclass(frozen=True, slots=True)
class SerialisedCall:
    """A serialised function with its arguments, and the files among the arguments.

    `ends_worker` says that the worker is replaced afterwards.
    """

    pickled: bytes
    files: tuple[TransferredFile, ...]
    ends_worker: bool = False


class _Writer(pickle.Pickler):
    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream)
        self.files: dict[TransferredFile, None] = {}

    def persistent_id(self, obj: object, /) -> TransferredFile | None:
        if not isinstance(obj, Path) or not obj.is_file():
            return None
        file = _carried_file(obj.resolve())
        self.files[file] = None
        return file


class _Reader(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, folder: Path) -> None:
        super().__init__(stream)
        self._folder = folder

    def persistent_load(self, pid: TransferredFile, /) -> Path:
        return Path(pid[0]) if is_local(pid) else transferred_path(pid, self._folder)


def _carried_file(path: Path) -> TransferredFile:
    stat = path.stat()
    return str(path), stat.st_size, stat.st_mtime_ns


def serialise_call(
    function: Callable[..., Any], arguments: tuple[Any, ...], *, ends_worker: bool = False
) -> SerialisedCall:
    """Return a serialised call. Files that its arguments name as `Path` are listed, not read."""
    stream = io.BytesIO()
    writer = _Writer(stream)
    writer.dump((function, arguments))
    return SerialisedCall(stream.getvalue(), tuple(writer.files), ends_worker)


def run_serialised(pickled: bytes, folder: Path) -> bytes:
    """Make a serialised call and return its pickled result; `folder` holds files that this machine
    lacks.
    """
    function, arguments = _Reader(io.BytesIO(pickled), folder).load()
    return pickle.dumps(function(*arguments))


def is_local(file: TransferredFile) -> bool:
    """Return whether this machine has the file: same path, size and time of modification."""
    try:
        return _carried_file(Path(file[0])) == file
    except OSError:
        return False


def transferred_path(file: TransferredFile, folder: Path) -> Path:
    """Return the path of a transferred file in a folder, which keeps its name."""
    digest = hashlib.sha256(repr(file).encode()).hexdigest()[:16]
    return folder / digest / Path(file[0]).name


def write_file(file: TransferredFile, content: bytes, folder: Path) -> None:
    """Write a transferred file into a folder, unless this machine or the folder has it."""
    place = transferred_path(file, folder)
    if is_local(file) or place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    new = place.with_name(f".{place.name}")
    new.write_bytes(content)
    new.replace(place)  # a worker sees all of it or nothing

"""Expectation files in order: the given files, and the files that they include."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conformance.backends.registry import names_of
from conformance.errors import describe_unknown
from conformance.text import one_line

SHIPPED = Path(__file__).with_name("known")
"""The folder of the shipped files, one file per backend."""

NONE = "none"
"""The value of `--expectations` for no expectations."""

EVERY = ("*",)
"""Patterns of the backends that a file is about, if it is not limited to a backend."""

Given = str | Sequence[str] | None
"""A value of `--expectations`: None for the shipped files, or files, folders or names."""

_KEYS = ("include", "known")
_ENTRY = "#"
"""The separator between a file and the id of an entry in 'include'."""


class ExpectationError(Exception):
    """Raised when an expectation file cannot be read or has no meaning; the message says where, in
    one line.
    """


@dataclass(frozen=True, slots=True)
class File:
    """One file: its content as TOML, and the backends of entries that name none.

    Other files may include some of its entries. `included` are the backends for which they do so,
    by the id of the entry; `backends` are the backends of all its entries.
    """

    path: Path
    backends: tuple[str, ...]
    content: Mapping[str, Any]
    included: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    @property
    def is_shipped(self) -> bool:
        """Whether the file is shipped with hlo-conformance."""
        return is_shipped(self.path)

    @property
    def tables(self) -> list[dict[str, Any]]:
        """Its [[known]] tables.

        Raises:
            ExpectationError: if 'known' is something else.
        """
        entries = self.content.get("known", [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise ExpectationError(f"{self.path}: 'known' must be tables, each headed [[known]]")
        return entries

    def backends_of(self, entry: Any) -> tuple[str, ...]:
        """Return the backends of the entry with an id, if it names none; () if it is not used."""
        return _union(self.backends, self.included.get(entry, ()))

    @property
    def includes(self) -> list[str]:
        """The files and entries that it includes, as it names them.

        Raises:
            ExpectationError: if 'include' is not a list of names.
        """
        given = self.content.get("include", [])
        if not isinstance(given, list) or not all(isinstance(one, str) and one for one in given):
            raise ExpectationError(
                f"{self.path}: 'include' must be a list of files, shipped names or their entries, "
                'such as include = ["cpu"] or ["cpu#f6-constants"]'
            )
        return given


def is_shipped(path: Path) -> bool:
    """Return whether a file is shipped with hlo-conformance."""
    return path.parent == SHIPPED


def as_tuple(given: Given) -> tuple[str, ...] | None:
    """Return the given files as a tuple; None for the shipped files."""
    return (given,) if isinstance(given, str) else tuple(given or ()) or None


def files_of(given: Given, backends: Sequence[str]) -> list[File]:
    """Return the files for `--expectations`, each once, included files before those that include
    them.

    Raises:
        ExpectationError: if a file cannot be read, does not exist, or includes itself.
    """
    asked = as_tuple(given)
    if asked is not None and NONE in asked:
        if len(asked) > 1:
            others = " ".join(one for one in asked if one != NONE)
            raise ExpectationError(
                f"--expectations none cannot be combined with others ({others or 'none'}): "
                "give one or the other"
            )
        return []
    found: dict[Path, File] = {}
    for one in asked or (None,):
        for path, names in files_for_name(one, backends).items():
            _add(path, names, (), found)
    return list(found.values())


def files_for_name(given: str | None, backends: Sequence[str]) -> dict[Path, tuple[str, ...]]:
    """Return the files for one name, each with the backends that it is about."""
    if given is None:
        return _files_in_folder(SHIPPED, backends)
    shipped = SHIPPED / f"{given}.toml"
    path = shipped if shipped.exists() and not Path(given).exists() else Path(given)
    return _files_in_folder(path, backends) if path.is_dir() else {path: EVERY}


def _files_in_folder(folder: Path, backends: Sequence[str]) -> dict[Path, tuple[str, ...]]:
    """Return the files of a folder for these backends, each with the backends that it is about."""
    found: dict[Path, tuple[str, ...]] = {}
    for backend in dict.fromkeys(backends):
        for name in names_of(backend):
            file = folder / f"{name.replace(':', '-', 1)}.toml"
            if file.exists():
                found[file] = (*found.get(file, ()), backend)
    return found


def _add(
    path: Path, backends: tuple[str, ...], within: tuple[Path, ...], found: dict[Path, File]
) -> None:
    """Add a file after those that it includes; `within` are the files that include it."""
    key = path.resolve()
    if key in [one.resolve() for one in within]:
        circle = " includes ".join(map(str, (*within, path)))
        raise ExpectationError(f"{circle}: a file cannot include itself: remove one 'include'")
    file = found.get(key) or File(path, (), content_of(path))
    both = _union(file.backends, backends)
    if both == file.backends:
        return
    for name in file.includes:
        other, entry = _resolve_include(file, name)
        if entry is None:
            _add(other, backends, (*within, path), found)
        else:
            _add_entry(other, entry, backends, f"{path}: include {name!r}", found)
    found[key] = replace(found.get(key, file), backends=both)


def _add_entry(
    path: Path, entry: str, backends: tuple[str, ...], where: str, found: dict[Path, File]
) -> None:
    """Add one entry of a file; `where` begins the message if the file has no such entry."""
    key = path.resolve()
    file = found.get(key) or File(path, (), content_of(path))
    ids = [str(one.get("id")) for one in file.tables]
    if entry not in ids:
        raise ExpectationError(f"{where}: {describe_unknown('entry', entry, ids)}")
    both = _union(file.included.get(entry, ()), backends)
    found[key] = replace(file, included={**file.included, entry: both})


def _union(some: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    """Return the backends of two tuples, each once."""
    return EVERY if EVERY in (some, others) else tuple(dict.fromkeys((*some, *others)))


def _resolve_include(file: File, name: str) -> tuple[Path, str | None]:
    """Return the file for an 'include', and the id of the entry if it names a single entry."""
    of, separator, entry = name.rpartition(_ENTRY)
    if separator and not (file.path.parent / name).is_file():
        return _included_file(file, of), entry
    return _included_file(file, name), None


def _included_file(file: File, name: str) -> Path:
    """Return the file for a name in 'include': beside the including file, or a shipped file."""
    beside = file.path.parent / Path(name).expanduser()
    if beside.is_file():
        return beside
    if beside.is_dir():
        raise ExpectationError(f"{file.path}: include {name!r} is a folder: name its files")
    shipped = {one.stem: one for one in sorted(SHIPPED.glob("*.toml"))}
    if name in shipped:
        return shipped[name]
    raise ExpectationError(
        f"{file.path}: include {name!r}: there is no file {beside}, and no shipped file of that "
        f"name ({', '.join(shipped)})"
    )


def content_of(path: Path) -> dict[str, Any]:
    """Return the content of a file as TOML.

    Raises:
        ExpectationError: if it cannot be read, or has unknown keys.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExpectationError(
            f"cannot read expectations {path}: {error.strerror or error}"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = one_line(error)
        raise ExpectationError(f"{path} is not a TOML file: {reason}") from error
    wrong = sorted(content.keys() - set(_KEYS))
    if wrong:
        raise ExpectationError(
            f"{path}: unknown key {wrong[0]!r}; a file holds [[known]] tables, and 'include'"
        )
    return content

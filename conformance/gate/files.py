"""Expectation files that are read, in order: those asked for, and those that they include."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.backends.registry import names_of

SHIPPED = Path(__file__).with_name("known")
"""The folder of the files that are shipped, one per backend."""

NONE = "none"
"""What is asked for where nothing is to be known."""

EVERY = ("*",)
"""The backends of a file that is not of one backend."""

Given = str | Sequence[str] | None
"""What `--expectations` was given: nothing for the shipped files, else files, folders or names."""

_KEYS = ("include", "known")


class ExpectationError(Exception):
    """An expectation file cannot be read or means nothing; the message says where, in one line."""


@dataclass(frozen=True, slots=True)
class File:
    """One file: what it holds as TOML, and the backends of entries that name none."""

    path: Path
    backends: tuple[str, ...]
    content: Mapping[str, Any]

    @property
    def is_shipped(self) -> bool:
        """Whether it comes with hlo-conformance."""
        return is_shipped(self.path)

    @property
    def tables(self) -> list[dict[str, Any]]:
        """Its [[known]] tables.

        Raises:
            ExpectationError: when 'known' is something else.
        """
        entries = self.content.get("known", [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise ExpectationError(f"{self.path}: 'known' must be tables, each headed [[known]]")
        return entries

    @property
    def includes(self) -> list[str]:
        """The files that it includes, as it writes them.

        Raises:
            ExpectationError: when 'include' is no list of names.
        """
        given = self.content.get("include", [])
        if not isinstance(given, list) or not all(isinstance(one, str) and one for one in given):
            raise ExpectationError(
                f"{self.path}: 'include' must be a list of files or shipped names, "
                'such as include = ["cpu"]'
            )
        return given


def is_shipped(path: Path) -> bool:
    """Tell whether a file comes with hlo-conformance."""
    return path.parent == SHIPPED


def each(given: Given) -> tuple[str, ...] | None:
    """Return what was given as a tuple; None for the shipped files."""
    return (given,) if isinstance(given, str) else tuple(given or ()) or None


def files_of(given: Given, backends: Sequence[str]) -> list[File]:
    """Return the files that are meant, included ones before those that include them, each once.

    Raises:
        ExpectationError: when one cannot be read, is no such file, or includes itself.
    """
    asked = each(given)
    if asked is not None and NONE in asked:
        if len(asked) > 1:
            others = " ".join(one for one in asked if one != NONE)
            raise ExpectationError(
                f"--expectations none cannot stand beside others ({others or 'none'}): "
                "give either alone"
            )
        return []
    found: dict[Path, File] = {}
    for one in asked or (None,):
        for path, names in named(one, backends).items():
            _add(path, names, (), found)
    return list(found.values())


def named(given: str | None, backends: Sequence[str]) -> dict[Path, tuple[str, ...]]:
    """Return the files that one name stands for, each with the backends that it speaks of."""
    if given is None:
        return _in_folder(SHIPPED, backends)
    shipped = SHIPPED / f"{given}.toml"
    path = shipped if shipped.exists() and not Path(given).exists() else Path(given)
    return _in_folder(path, backends) if path.is_dir() else {path: EVERY}


def _in_folder(folder: Path, backends: Sequence[str]) -> dict[Path, tuple[str, ...]]:
    """Return the files of a folder that match these backends, each with those that it matches."""
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
        raise ExpectationError(f"{circle}: a file cannot include itself, take one 'include' out")
    if key in found:
        before = found[key]
        both = EVERY if EVERY in (before.backends, backends) else (*before.backends, *backends)
        found[key] = replace(before, backends=tuple(dict.fromkeys(both)))
        if before.backends == found[key].backends:
            return
    file = found.get(key) or File(path, backends, content_of(path))
    for name in file.includes:
        _add(_included(file, name), backends, (*within, path), found)
    found.setdefault(key, file)


def _included(file: File, name: str) -> Path:
    """Return the file that an 'include' means: beside the file that has it, or a shipped one."""
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
    """Return what a file holds as TOML.

    Raises:
        ExpectationError: when it cannot be read, or has keys that mean nothing.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExpectationError(
            f"cannot read expectations {path}: {error.strerror or error}"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise ExpectationError(f"{path} is not a TOML file: {reason}") from error
    wrong = sorted(content.keys() - set(_KEYS))
    if wrong:
        raise ExpectationError(
            f"{path}: unknown key {wrong[0]!r}; a file holds [[known]] tables, and 'include'"
        )
    return content

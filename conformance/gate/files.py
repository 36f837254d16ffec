"""Expectation files in order: the given files, and the files that they include."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from conformance.backends.registry import names_of
from conformance.errors import describe_unknown
from conformance.text import one_line

SHIPPED = Path(__file__).with_name("known")
"""The folder of the shipped files."""

FAMILIES = (
    "subnormals", "chlo", "complex-numbers", "constant-folding", "data-movement", "simplifications",
    "reductions", "verification", "contractions", "sub-byte-types", "collectives", "normalization",
    "narrow-floats", "accuracy", "wide-types", "random-numbers", "iree",
)  # fmt: skip
"""The shipped files, a file for each family of causes, in the order in which entries are asked."""

NONE = "none"
"""The value of `--expectations` for no expectations."""

EVERY = ("*",)
"""Patterns of the backends that an entry is about, if it is not limited to a backend."""

Given = str | Sequence[str] | None
"""A value of `--expectations`: None for the shipped files, or files, folders or backends."""

_KEYS = ("include", "known")
_ENTRY = "#"
"""The separator between a file and the id of an entry in 'include'."""


class ExpectationError(Exception):
    """Raised when an expectation file cannot be read or has no meaning; the message says where, in
    one line.
    """


class Table(NamedTuple):
    """A [[known]] table: its file, its number there or among all shipped tables, and its keys."""

    path: Path
    number: int
    keys: Mapping[str, Any]


_Used = tuple[Path, Table, tuple[str, ...]]
"""A table to use: its file (`SHIPPED` for all shipped ones), and the backends that it is about;
none for those that it names itself.
"""


def is_shipped(path: Path) -> bool:
    """Return whether a file is shipped with hlo-conformance."""
    return path.parent == SHIPPED


def as_tuple(given: Given) -> tuple[str, ...] | None:
    """Return the given files as a tuple; None for the shipped files."""
    return (given,) if isinstance(given, str) else tuple(given or ()) or None


def tables_of(given: Given, backends: Sequence[str]) -> list[Table]:
    """Return the tables for `--expectations`, each once; what a file includes comes first.

    The key `backends` is the backends for which a table is used.

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
    found: dict[Path, dict[int, Table]] = {}
    for name in asked or (str(SHIPPED),):
        for file, table, about in _named_tables(name, backends):
            used, named = found.setdefault(file, {}), table.keys.get("backends")
            if named is None or file == SHIPPED:
                before = used[table.number].keys["backends"] if table.number in used else ()
                both = (*before, *(about or named or ()))
                named = EVERY if EVERY[0] in both else tuple(dict.fromkeys(both))
            used[table.number] = table._replace(keys={**table.keys, "backends": named})
    return [table for used in found.values() for _, table in sorted(used.items())]


def _named_tables(name: str, backends: Sequence[str]) -> Iterator[_Used]:
    """Yield the tables of one value of `--expectations`."""
    if name == str(SHIPPED):
        own = [one for backend in backends for one in names_of(backend)]
        yield from ((SHIPPED, table, ()) for table in shipped_about(*own))
    elif is_shipped_backend(name):
        yield from ((SHIPPED, table, EVERY) for table in shipped_about(name))
    else:
        for path, about in files_for_name(name, backends).items():
            yield from _tables_of_file(path, about, ())


@cache
def shipped_tables() -> tuple[Table, ...]:
    """Return the tables of the shipped files. Each table names its backends."""
    tables = [one for family in FAMILIES for one in read_file(SHIPPED / f"{family}.toml")[0]]
    return tuple(table._replace(number=index) for index, table in enumerate(tables))


def shipped_about(*names: str) -> list[Table]:
    """Return the shipped tables about any of some backends."""
    return [table for table in shipped_tables() if not {*names}.isdisjoint(table.keys["backends"])]


def shipped_backends() -> list[str]:
    """Return the backends that shipped entries are about."""
    return sorted({name for table in shipped_tables() for name in table.keys["backends"]})


def is_shipped_backend(name: str) -> bool:
    """Return whether a value of `--expectations` means the shipped entries about a backend."""
    return name in shipped_backends() and not Path(name).exists()


def files_for_name(name: str, backends: Sequence[str]) -> dict[Path, tuple[str, ...]]:
    """Return a file, or the files in a folder for these backends, each with the backends that it is
    about.
    """
    path = Path(name)
    if not path.is_dir():
        return {path: EVERY}
    found: dict[Path, tuple[str, ...]] = {}
    for backend in dict.fromkeys(backends):
        for own in names_of(backend):
            file = path / f"{own.replace(':', '-', 1)}.toml"
            if file.exists():
                found[file] = (*found.get(file, ()), backend)
    return found


def _tables_of_file(
    path: Path, about: tuple[str, ...], within: tuple[Path, ...]
) -> Iterator[_Used]:
    """Yield a file's tables after those that it includes; files `within` include it."""
    if path.resolve() in [one.resolve() for one in within]:
        circle = " includes ".join(map(str, (*within, path)))
        raise ExpectationError(f"{circle}: a file cannot include itself: remove one 'include'")
    tables, names = read_file(path)
    for name in names:
        yield from _included_tables(name, about, (*within, path))
    yield from ((path.resolve(), table, about) for table in tables)


def _included_tables(
    name: str, about: tuple[str, ...], within: tuple[Path, ...]
) -> Iterator[_Used]:
    """Yield what the last of some files includes: a file, the shipped tables about a backend, or
    one table of either.
    """
    path = within[-1]
    of, separator, id_ = name.rpartition(_ENTRY)
    if not separator or (path.parent / name).is_file():
        of, id_ = name, None
    beside = path.parent / Path(of).expanduser()
    if beside.is_dir():
        raise ExpectationError(f"{path}: include {of!r} is a folder: name its files")
    if beside.is_file() and id_ is None:
        yield from _tables_of_file(beside, about, within)
        return
    if beside.is_file():
        file, tables = beside.resolve(), read_file(beside)[0]
    elif of in shipped_backends():
        file, tables = SHIPPED, shipped_about(of)
    else:
        raise ExpectationError(
            f"{path}: include {of!r}: there is no file {beside}, and no backend of that name with "
            f"shipped entries ({', '.join(shipped_backends())})"
        )
    ids = [str(table.keys.get("id")) for table in tables]
    if id_ is not None and id_ not in ids:
        raise ExpectationError(f"{path}: include {name!r}: {describe_unknown('entry', id_, ids)}")
    for table, own in zip(tables, ids, strict=True):
        if id_ in (None, own):
            yield file, table, about


def read_file(path: Path) -> tuple[list[Table], list[str]]:
    """Return the [[known]] tables of a file, and the files and entries that it includes.

    Raises:
        ExpectationError: if it cannot be read, or has other content.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExpectationError(
            f"cannot read expectations {path}: {error.strerror or error}"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ExpectationError(f"{path} is not a TOML file: {one_line(error)}") from error
    wrong = sorted(content.keys() - set(_KEYS))
    if wrong:
        raise ExpectationError(
            f"{path}: unknown key {wrong[0]!r}; a file holds [[known]] tables, and 'include'"
        )
    entries, names = content.get("known", []), content.get("include", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ExpectationError(f"{path}: 'known' must be tables, each headed [[known]]")
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise ExpectationError(
            f"{path}: 'include' must be a list of files, backends or their entries, such as "
            'include = ["cpu"] or ["cpu#f6-constants"]'
        )
    return [Table(path, index, keys) for index, keys in enumerate(entries, 1)], names

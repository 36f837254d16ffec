"""Expectations: known divergences, named in TOML files, with the reason why each is known.

A file holds `[[known]]` tables:

    [[known]]
    id = "atan2-zero-sign"            # unique in the file; what the report shows
    op = "atan2"                      # a name or a glob, or a list of them; of operations that
                                      # go wrong together only: "convolution + maximum + reduce"
    element_types = ["complex<*>"]    # names or globs; every type when left out
    verdicts = ["divergent"]          # failing verdicts; every one when left out
    kinds = ["signed zero"]           # class labels or globs; every one when left out
    max_ulp = 8                       # errors up to here; of any size when left out
    rare = true                       # optional: not stale where a run does not meet it
    reason = "why this is known, in a sentence"
    link = "https://..."              # optional: where it is discussed
    program = '''...'''               # optional: a minimal program that shows it
    versions = "<0.11"                # optional: the versions of jaxlib that it is true of
    backends = ["cpu"]                # optional: names or globs; in a file of one backend, that one

The shipped files are conformance/gate/known/<backend>.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from conformance.catalog import CATALOG
from conformance.results.store import CellKey
from conformance.verdict import Record, Verdict
from generators.case.columns import INVALID
from generators.case.quantized_types import QUANTIZED_COLUMNS
from reference.ir.types import ELEMENT_TYPES

SHIPPED = Path(__file__).with_name("known")
"""The folder of the files that are shipped, one per backend."""

_FAILING = tuple(verdict.value for verdict in Verdict if verdict.fails)


class ExpectationError(Exception):
    """An expectation file cannot be read or means nothing; the message says where, in one line."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """One known divergence; see the module's description for what the fields hold."""

    id: str
    op: tuple[str, ...]
    reason: str
    element_types: tuple[str, ...] = ("*",)
    verdicts: tuple[str, ...] = _FAILING
    kinds: tuple[str, ...] = ("*",)
    link: str = ""
    program: str = ""
    versions: str = ""
    max_ulp: float = float("inf")
    rare: bool = False
    backends: tuple[str, ...] = ("*",)

    def applies(self, cell: CellKey) -> bool:
        """Whether it speaks of that cell."""
        op, of, backend = cell
        return (
            any(fnmatchcase(op, pattern) for pattern in self.op)
            and any(fnmatchcase(of, pattern) for pattern in self.element_types)
            and any(fnmatchcase(backend, pattern) for pattern in self.backends)
        )

    def knows(self, record: Record) -> bool:
        """Whether that record's failure is the one it speaks of."""
        return (
            record.verdict.value in self.verdicts
            and any(fnmatchcase(record.kind, pattern) for pattern in self.kinds)
            and (record.worst_ulp or 0.0) <= self.max_ulp
            and self.applies((record.op, record.element_type, record.backend))
        )


_KEYS = {f.name: f for f in fields(Expectation)}
_LISTS = ("op", "element_types", "verdicts", "kinds", "backends")


def known_by(expectations: Sequence[Expectation], record: Record) -> str:
    """The id of the first expectation that knows the record's failure, "" when none does."""
    if not record.verdict.fails:
        return ""
    return next((e.id for e in expectations if e.knows(record)), "")


def crashes(expectations: Sequence[Expectation], cell: CellKey) -> bool:
    """Whether the cell's programs are known to end their process, and not just now and then."""
    only = (Verdict.CRASHED.value,)
    return any(e.verdicts == only and not e.rare and e.applies(cell) for e in expectations)


def stale(
    expectations: Sequence[Expectation], tested: Iterable[CellKey], records: Iterable[Record]
) -> list[str]:
    """The ids of those that apply to a tested cell and know none of the records."""
    cells = list(tested)
    failing = [record for record in records if record.verdict.fails]
    return [
        e.id
        for e in expectations
        if not e.rare and any(map(e.applies, cells)) and not any(map(e.knows, failing))
    ]  # fmt: skip


def load(
    given: str | None, backends: Sequence[str], versions: Mapping[str, str]
) -> tuple[Expectation, ...]:
    """The expectations of a run on these backends.

    `given` is a file, a folder of <backend>.toml files (plugin-NAME.toml for a plugin), the name of
    a shipped file, such as "cpu", for all these backends, "none" for no expectations, or None for
    the shipped ones, each for its backend. Those that are not true of the version of jaxlib in
    `versions` are left out.

    Raises:
        ExpectationError: when a file cannot be read or says something that has no meaning.
    """
    if given == "none":
        return ()
    path = _path(given)
    if path.is_dir():
        found: list[Expectation] = []
        for name in dict.fromkeys(backends):
            family, _, argument = name.partition(":")
            file = path / (f"{family}-{argument}.toml" if argument else f"{family}.toml")
            if file.exists():
                found += read(file, (name,))
    else:
        found = read(path)
    _check_unique(path, found)
    jaxlib = versions.get("jaxlib", "")
    return tuple(e for e in found if not e.versions or _contains(e.versions, jaxlib))


def _path(given: str | None) -> Path:
    """The file or folder that is meant."""
    if given is None:
        return SHIPPED
    shipped = SHIPPED / f"{given}.toml"
    return shipped if shipped.exists() and not Path(given).exists() else Path(given)


def _contains(specifier: str, version: str) -> bool:
    return bool(version) and SpecifierSet(specifier).contains(version, prereleases=True)


def read(path: Path, backends: tuple[str, ...] = ("*",)) -> list[Expectation]:
    """The expectations of one file; `backends` are those it speaks of where an entry says nothing.

    Raises:
        ExpectationError: when it cannot be read or says something that has no meaning.
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
    unknown = sorted(content.keys() - {"known"})
    if unknown:
        raise ExpectationError(f"{path}: unknown key {unknown[0]!r}; a file holds [[known]] tables")
    entries = content.get("known", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ExpectationError(f"{path}: 'known' must be tables, each headed [[known]]")
    found = [_entry(path, number, entry, backends) for number, entry in enumerate(entries, 1)]
    _check_unique(path, found)
    return found


def _check_unique(path: Path, found: Sequence[Expectation]) -> None:
    seen: set[str] = set()
    for expectation in found:
        if expectation.id in seen:
            raise ExpectationError(f"{path}: the id {expectation.id!r} is given twice")
        seen.add(expectation.id)


def _entry(
    path: Path, number: int, given: dict[str, Any], backends: tuple[str, ...]
) -> Expectation:
    where = f"{path}: entry {given.get('id', number)!r}"
    for key, value in given.items():
        if key not in _KEYS:
            raise ExpectationError(f"{where}: unknown key {key!r}; known: {', '.join(_KEYS)}")
        _check_type(where, key, value)
    missing = [key for key in ("id", "op", "reason") if not given.get(key)]
    if missing:
        raise ExpectationError(f"{where}: {missing[0]!r} is missing")
    values: dict[str, Any] = {"backends": backends, **given}
    for key in _LISTS:
        if key in given:
            values[key] = (given[key],) if isinstance(given[key], str) else tuple(given[key])
    found = Expectation(**values)
    _check_meaning(where, found)
    return found


def _check_type(where: str, key: str, value: Any) -> None:
    if key == "rare":
        if not isinstance(value, bool):
            raise ExpectationError(f"{where}: 'rare' must be true or false")
    elif key == "max_ulp":
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise ExpectationError(f"{where}: 'max_ulp' must be a number, not negative")
    elif key in _LISTS and not (key == "op" and isinstance(value, str)):
        if not (isinstance(value, list) and value and all(isinstance(v, str) for v in value)):
            raise ExpectationError(f"{where}: {key!r} must be a list of strings, not empty")
    elif not isinstance(value, str):
        raise ExpectationError(f"{where}: {key!r} must be a string")


def _check_meaning(where: str, found: Expectation) -> None:
    """Every pattern must match something that exists: a misspelt one would silently do nothing."""
    ops = tuple(one for pattern in found.op for one in pattern.split(" + "))
    checks = [
        ("op", ops, CATALOG),
        ("element type", found.element_types, (*ELEMENT_TYPES, *QUANTIZED_COLUMNS, INVALID.name)),
    ]
    for what, patterns, names in checks:
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise ExpectationError(f"{where}: there is no {what} {pattern!r}")
    for verdict in found.verdicts:
        if verdict not in _FAILING:
            raise ExpectationError(f"{where}: there is no failing verdict {verdict!r}")
    try:
        SpecifierSet(found.versions)
    except InvalidSpecifier:
        raise ExpectationError(
            f"{where}: {found.versions!r} names no versions; write such as '<0.11'"
        ) from None

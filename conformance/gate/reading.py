"""Expectation files: TOML that holds a [[known]] table for each known divergence.

[[known]]
id = "atan2-zero-sign"            # unique in the file; what the report shows
op = "atan2"                      # a name or a glob, or a list of them; of operations that
                                  # go wrong together only: "convolution + maximum + reduce"
element_types = ["complex<*>"]    # names or globs; every type when left out
verdicts = ["divergent"]          # failing verdicts; when left out, every one on results
kinds = ["signed zero"]           # classes or globs; every one when left out
words = ["foo.cc:*] Check failed: size > 0"]  # in the message, one of these; * is any text
where = ["sort\"*dimension = -"]  # in the operation as MLIR's generic form spells it, one of these
max_ulp = 8                       # errors up to here; of any size when left out
reason = "why this is known, in a sentence"
link = "https://..."              # optional: where it is discussed
versions = "<0.11"                # optional: the versions of jaxlib that it is true of
backends = ["cpu"]                # optional: names or globs; in a file of one backend, that one
computes = "%0 = ..."             # optional: what is computed in place of the op; see computes.py
within = "2 ulp"                  # of that; bit for bit when left out
isa = "<AVX512_FP16"              # optional: of XLA on x86 where it targets these instructions (>=)
                                  # or does not (<); several conditions with commas
rare = true                       # optional: of cells that seldom end their process
unpredictable = true              # no program predicts these elements; see unpredictable.py

A program that is rejected, crashes or times out has no results that a class could describe. Entries
of these verdicts say by `words` what the backend itself says of it (`*` for anything at all), or by
`where` which operations end it without a word.

[known.counterexample]            # optional: what shows it; see counterexamples.py
program = '''func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { ... }'''
inputs = ["[-0.0, nan]"]
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from conformance.backends import isa
from conformance.backends.registry import names_of
from conformance.errors import unknown
from conformance.gate import computes, unpredictable
from conformance.gate.classes import CLASSES
from conformance.gate.expectations import (
    FAILING,
    WITHOUT_RESULTS,
    Counterexample,
    Expectation,
)
from generators.case.columns import INVALID
from generators.case.quantized_types import QUANTIZED_COLUMNS
from reference.ir.types import ELEMENT_TYPES
from reference.ops.table import OPS

SHIPPED = Path(__file__).with_name("known")
"""The folder of the files that are shipped, one per backend."""

_CONSTRAINT = re.compile(r"[A-Z]\d+|exit code \d+")
"""What beside CLASSES may be a class: the id of a constraint, and how a process exits."""

_NEEDED = ("id", "op", "reason")


class ExpectationError(Exception):
    """An expectation file cannot be read or means nothing; the message says where, in one line."""


def load(
    given: str | None, backends: Sequence[str], versions: Mapping[str, str]
) -> tuple[Expectation, ...]:
    """The expectations of a run on these backends.

    `given` is a file, a folder of <backend>.toml files (plugin-NAME.toml for a plugin, cpu.toml for
    cpu:AVX2 too), the name of a shipped file, such as "cpu", for all these backends, "none" for no
    expectations, or None for the shipped ones, each for its backend. Left out is what does not hold
    here: of the version of jaxlib in `versions`, or of the instruction sets that XLA targets.

    Raises:
        ExpectationError: when a file cannot be read or says something that has no meaning.
    """
    if given == "none":
        return ()
    path = _path(given)
    found: list[Expectation] = []
    if path.is_dir():
        for file, names in _files(path, backends).items():
            found += read(file, names)
    else:
        found = read(path)
    _check_unique(path, found)
    if path != SHIPPED and path.parent != SHIPPED:  # a test does so for the shipped ones
        _check_instances(found)
    jaxlib = versions.get("jaxlib", "")
    true_here = (e for e in found if not e.versions or _contains(e.versions, jaxlib))
    return tuple(e for e in map(partial(_where_targeted, backends), true_here) if e.backends)


def _check_instances(found: Sequence[Expectation]) -> None:
    """Have MLIR read what entries say that backends compute, for the ops that they are about.

    Raises:
        ExpectationError: when it does not.
    """
    for one in found:
        try:
            computes.check_instances(one)
        except ValueError as error:
            raise ExpectationError(f"entry {one.id!r}: {error}") from None


def _files(folder: Path, backends: Sequence[str]) -> dict[Path, tuple[str, ...]]:
    """Return the files of a folder that match these backends, each with those that it matches."""
    found: dict[Path, tuple[str, ...]] = {}
    for backend in dict.fromkeys(backends):
        for name in names_of(backend):
            file = folder / f"{name.replace(':', '-', 1)}.toml"
            if file.exists():
                found[file] = (*found.get(file, ()), backend)
    return found


def _where_targeted(backends: Sequence[str], entry: Expectation) -> Expectation:
    """Return an entry for those backends alone whose instruction sets satisfy its condition."""
    if not entry.isa:
        return entry
    held = [
        name
        for name in dict.fromkeys(backends)
        if entry.speaks_of(name) and isa.satisfies(isa.targeted_by(name), entry.isa)
    ]
    return structs.replace(entry, backends=tuple(held))


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
    wrong = sorted(content.keys() - {"known"})
    if wrong:
        raise ExpectationError(f"{path}: unknown key {wrong[0]!r}; a file holds [[known]] tables")
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
    values = {"backends": backends, **given}
    if isinstance(values.get("op"), str):
        values["op"] = (values["op"],)
    try:
        found = computes.completed(msgspec.convert(values, Expectation), given)
        _check_meaning(found)
        _check_words(found, given)
    except msgspec.ValidationError as error:
        raise ExpectationError(f"{where}: {_explained(error)}") from None
    except ValueError as error:
        raise ExpectationError(f"{where}: {error}") from None
    return found


_WRONG_TYPE = re.compile(r"Expected `([^`]+)`, got `([^`]+)`(?: - at `\$\.?([^`]*)`)?")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`(?: - at `\$\.?([^`]*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `([^`]+)`(?: - at `\$\.?([^`]*)`)?")
_WORDS = {
    "str": "a string", "array": "a list of strings", "bool": "true or false", "float": "a number",
    "int": "a number", "object": "a table", "object | null": "a table",
}  # fmt: skip


def _explained(error: msgspec.ValidationError) -> str:
    """What msgspec found wrong with an entry, for those who write the file."""
    said = str(error)
    if found := _WRONG_TYPE.match(said):
        wanted, given, key = found.groups()
        key, inner = re.sub(r"\[.*", "", key), "[" in key
        wanted = "a list of strings" if inner else _WORDS.get(wanted, wanted)
        return f"{key!r} must be {wanted}, not {_WORDS.get(given, given)}"
    if found := _UNKNOWN.match(said):
        key, table = found.groups()
        keys = (Counterexample if table else Expectation).__struct_fields__
        return unknown("key", key, keys) + (f" (in {table})" if table else "")
    if found := _MISSING.match(said):
        key, table = found.groups()
        return f"{key!r} of {table!r} is missing" if table else f"{key!r} is missing"
    return said


def _check_meaning(found: Expectation) -> None:
    """Every pattern must match something that exists: a misspelt one would silently do nothing.

    Raises:
        ValueError: with what is wrong.
    """
    for key in _NEEDED:
        if not getattr(found, key):
            raise ValueError(f"{key!r} is missing")
    for key in ("op", "element_types", "verdicts", "kinds", "backends"):
        if not getattr(found, key):
            raise ValueError(f"{key!r} must be a list of strings that is not empty")
    if not found.max_ulp >= 0:
        raise ValueError("'max_ulp' must be a number that is not negative")
    ops = tuple(op for pattern in found.op for op in pattern.split(" + "))
    columns = (*ELEMENT_TYPES, *QUANTIZED_COLUMNS, INVALID.name)
    _check_names("op", ops, OPS)
    _check_names("element type", found.element_types, columns)
    classes = [kind for kind in found.kinds if not _CONSTRAINT.fullmatch(kind)]
    if found.computes:
        classes = []
        computes.check(found)
    _check_names("class", classes, CLASSES)
    unpredictable.check(found)
    _check_names("failing verdict", found.verdicts, FAILING, globs=False)
    try:
        SpecifierSet(found.versions)
    except InvalidSpecifier:
        raise ValueError(f"{found.versions!r} names no versions; write such as '<0.11'") from None
    isa.check_condition(found.isa)


def _check_words(found: Expectation, given: Collection[str]) -> None:
    """Check that an entry says by which message or operations it knows programs without results.

    Raises:
        ValueError: with what is missing.
    """
    for key in ("words", "where"):
        texts = getattr(found, key)
        if (key in given and not texts) or "" in texts:
            raise ValueError(f"{key!r} must be a list of texts, none of them empty")
    without = [verdict for verdict in found.verdicts if verdict in WITHOUT_RESULTS]
    if without and len(without) < len(found.verdicts):
        results = next(verdict for verdict in found.verdicts if verdict not in without)
        raise ValueError(
            f"{results!r} is about results and {without[0]!r} about programs without results: "
            "make an entry of each"
        )
    if found.where and not without:
        raise ValueError("'where' is for programs without results: rejected, crashed or timed_out")
    if without and not (found.words or found.where):
        raise ValueError(
            f"'words' is missing: part of what the backend says of what is {without[0]!r}, "
            "such as 'Check failed: size > 0'; or 'where', if it says nothing"
        )


def _check_names(
    what: str,
    patterns: Sequence[str],
    names: Collection[str],
    *,
    globs: bool = True,
) -> None:
    for pattern in patterns:
        if not (any(fnmatchcase(name, pattern) for name in names) if globs else pattern in names):
            raise ValueError(unknown(what, pattern, names))

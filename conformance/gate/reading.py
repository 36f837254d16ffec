"""Expectation files: TOML that holds a [[known]] table for each known divergence.

The keys of a table are the fields of `Expectation`. docs/divergences.md describes them. Entries of
files that a file includes come before its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
from msgspec import structs

from conformance.backends import isa
from conformance.backends.base import Description
from conformance.backends.registry import release_of
from conformance.errors import describe_unknown
from conformance.gate import computes
from conformance.gate.classes import (
    CLASSES,
    FLUSHED,
    NOT_DETERMINISTIC,
    ONLY_IN_BATCH,
    UNPREDICTED,
)
from conformance.gate.expectations import (
    FAILING,
    WITHOUT_RESULTS,
    Cause,
    Counterexample,
    Expectation,
    Versions,
)
from conformance.gate.files import (
    ExpectationError,
    Given,
    Table,
    is_shipped,
    read_file,
    tables_of,
)
from conformance.gate.versions import (
    add_given_version,
    applicable_entries,
    holds_for_jaxlib,
    needs_backend_version,
)
from conformance.gate.versions import check as check_versions
from conformance.known.crashing_operations import CONDITIONS, PREFIX, parts_of
from conformance.text import is_regular_expression
from generators.case.columns import INVALID
from generators.case.quantized_types import QUANTIZED_COLUMNS
from reference.ir.types import ELEMENT_TYPES
from reference.ops.table import OPS

_CONSTRAINT = re.compile(r"[A-Z]\d+|exit code \d+")
"""Further failure classes, besides CLASSES: the id of a constraint, the exit code of a process."""

COLUMNS = (*ELEMENT_TYPES, *QUANTIZED_COLUMNS, INVALID.name)
"""The names of all columns of the matrix, which `element_types` may match."""

_NEEDED = ("id", "op", "reason")


def load(
    given: Given, backends: Sequence[str], versions: Mapping[str, str]
) -> tuple[Expectation, ...]:
    """Return the expectations of a run on these backends.

    `given` is a file, a folder of <backend>.toml files (plugin-NAME.toml for a plugin, cpu.toml
    also for cpu:AVX2), the name of a backend, such as "cpu", whose shipped entries are then about
    all these backends, or several of these, which add up in order; "none" for no expectations, or
    None for the shipped ones, each about the backends that it names. Entries for other versions of
    jaxlib than that in `versions`, or for other instruction sets than XLA targets, are left out.
    `conformance.gate.versions.applicable_entries` selects by a backend's own version, which is
    available only from an open backend.

    Raises:
        ExpectationError: if a file cannot be read or has no meaning.
    """
    found = entries_of(given, backends)
    for path, entry in found:
        if not is_shipped(path):
            try:
                computes.check_instances(entry)
            except ValueError as error:
                raise ExpectationError(f"entry {entry.id!r}: {error}") from None
    jaxlib = versions.get("jaxlib", "")
    limited = (_limit_to_backends(entry, backends, jaxlib) for _, entry in found)
    return tuple(entry for entry in limited if entry.backends)


def load_applicable(
    given: Given,
    backend: str,
    versions: Mapping[str, str],
    describe: Callable[[], Description],
    own_version: Mapping[str, str],
) -> tuple[Expectation, ...]:
    """Return the expectations that apply to a backend here, by its own version, too.

    `describe` returns the backend's description. It is called only if an entry depends on it.
    `own_version` has the version that the user gave for the backend, if any.

    Raises:
        ExpectationError: see `load`; if an entry requires a version that is not known.
    """
    entries = load(given, (backend,), versions)
    if not needs_backend_version(entries):
        return entries
    return applicable_entries(entries, [add_given_version(describe(), own_version)])


def entries_of(given: Given, backends: Sequence[str]) -> list[tuple[Path, Expectation]]:
    """Return each entry that `load` reads with its file, also entries for other versions.

    Raises:
        ExpectationError: see `load`.
    """
    return _read_entries(tables_of(given, backends))


def paths_of(given: Given, backends: Sequence[str]) -> dict[str, Path]:
    """Return the file of each entry that `load` reads, by id.

    Raises:
        ExpectationError: see `load`.
    """
    return {entry.id: path for path, entry in entries_of(given, backends)}


def _limit_to_backends(entry: Expectation, backends: Sequence[str], jaxlib: str) -> Expectation:
    """Return an entry limited to the backends whose version of jaxlib and whose instruction sets
    satisfy its conditions.
    """

    def holds(name: str) -> bool:
        has_sets = (
            not entry.isa or isa.is_stated(name) or isa.satisfies(isa.backend_sets(name), entry.isa)
        )
        return has_sets and holds_for_jaxlib(entry, release_of(name) or jaxlib)

    about = [name for name in dict.fromkeys(backends) if entry.matches_backend(name)]
    if not entry.isa and all(map(holds, about)):
        return entry
    return structs.replace(entry, backends=tuple(filter(holds, about)))


def read(path: Path) -> list[Expectation]:
    """Return the expectations of one file, without those that it includes.

    Raises:
        ExpectationError: if it cannot be read or has no meaning.
    """
    return [entry for _, entry in _read_entries(read_file(path)[0])]


def _read_entries(tables: Sequence[Table]) -> list[tuple[Path, Expectation]]:
    where: dict[str, Path] = {}
    found: list[tuple[Path, Expectation]] = []
    for table in tables:
        entry = _entry(table)
        other = where.setdefault(entry.id, table.path)
        found.append((table.path, entry))
        if len(where) < len(found):
            both = "twice in" if other == table.path else f"in {other} and in"
            raise ExpectationError(
                f"the id {entry.id!r} is {both} {table.path}: rename one of them"
            )
    return found


def _entry(table: Table) -> Expectation:
    given = table.keys
    where = f"{table.path}: entry {given.get('id', table.number)!r}"
    values = dict(given)
    if isinstance(values.get("op"), str):
        values["op"] = (values["op"],)
    try:
        if "op" not in values and "cause" in values:
            values["op"] = ("*",)
        found = computes.add_prediction_class(msgspec.convert(values, Expectation), given)
        _check_meaning(found)
        _check_words(found, given)
    except msgspec.ValidationError as error:
        raise ExpectationError(f"{where}: {_describe_error(error)}") from None
    except ValueError as error:
        raise ExpectationError(f"{where}: {error}") from None
    return found


_WRONG_TYPE = re.compile(r"Expected `([^`]+)`, got `([^`]+)`(?: - at `\$\.?([^`]*)`)?")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`(?: - at `\$\.?([^`]*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `([^`]+)`(?: - at `\$\.?([^`]*)`)?")
_TABLES = {"cause": Cause, "counterexample": Counterexample, "versions": Versions}
_WORDS = {
    "str | object": "a string or a table",
    "str": "a string", "array": "a list of strings", "bool": "true or false", "float": "a number",
    "int": "a number", "object": "a table", "object | null": "a table",
}  # fmt: skip


def _describe_error(error: msgspec.ValidationError) -> str:
    """Return msgspec's error in words for the author of the file."""
    said = str(error)
    if found := _WRONG_TYPE.match(said):
        wanted, given, key = found.groups()
        key, inner = re.sub(r"\[.*", "", key), "[" in key
        wanted = "a list of strings" if inner else _WORDS.get(wanted, wanted)
        return f"{key!r} must be {wanted}, not {_WORDS.get(given, given)}"
    if found := _UNKNOWN.match(said):
        key, table = found.groups()
        keys = _TABLES.get(table, Expectation).__struct_encode_fields__
        return describe_unknown("key", key, keys) + (f" (in {table})" if table else "")
    if found := _MISSING.match(said):
        key, table = found.groups()
        return f"{key!r} of {table!r} is missing" if table else f"{key!r} is missing"
    return said


def _check_meaning(found: Expectation) -> None:
    """Raise ValueError for a pattern that matches nothing, and for keys without a meaning."""
    for key in _NEEDED:
        if not getattr(found, key):
            raise ValueError(f"{key!r} is missing")
    for key in ("op", "element_types", "verdicts", "kinds", "backends"):
        if not getattr(found, key):
            raise ValueError(f"{key!r} must be a list of strings that is not empty")
    if not found.max_ulp >= 0:
        raise ValueError("'max_ulp' must be a number that is not negative")
    ops = tuple(op for pattern in found.op for op in pattern.split(" + "))
    _check_names("op", ops, OPS)
    _check_names("element type", found.element_types, COLUMNS)
    classes = [kind for kind in found.kinds if not _CONSTRAINT.fullmatch(kind)]
    if found.predicts:
        classes = []
        computes.check(found)
    _check_names("class", classes, CLASSES)
    _check_unpredictable(found)
    _check_names("failing verdict", found.verdicts, FAILING, globs=False)
    check_versions(found.versions)
    isa.check_condition(found.isa)


def _check_regular_expression(key: str, text: str) -> None:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"'/{text}/' in {key!r} is not a regular expression: {error}") from None


def _check_unpredictable(found: Expectation) -> None:
    """Raise ValueError unless an entry is `unpredictable` if and only if its classes are: memory
    outside the program, or results that change when the program is compiled or executed again.
    """
    if found.predicts:
        return
    if not found.unpredictable:
        if NOT_DETERMINISTIC in found.kinds and not found.flaky:
            raise ValueError(
                f"class {NOT_DETERMINISTIC!r} has elements that no program predicts: "
                "write 'unpredictable = true', and why in 'reason'"
            )
        return
    without = [verdict for verdict in found.verdicts if verdict in WITHOUT_RESULTS]
    if without:
        raise ValueError(f"'unpredictable' applies to results, and {without[0]!r} has none")
    permitted = UNPREDICTED | {NOT_DETERMINISTIC, ONLY_IN_BATCH, FLUSHED}
    wrong = [kind for kind in found.kinds if kind not in permitted]
    if wrong:
        listed = ", ".join(map(repr, sorted(permitted)))
        raise ValueError(
            f"class {wrong[0]!r} does not say which elements are 'unpredictable': "
            f"name one of {listed}, or predict the other elements by 'computes' with a mask"
        )


def _check_words(found: Expectation, given: Collection[str]) -> None:
    """Raise ValueError unless an entry about programs without results has `words` or `where`."""
    for key in ("words", "where"):
        texts = getattr(found, key)
        if (key in given and not texts) or "" in texts:
            raise ValueError(f"{key!r} must be a list of texts, none of them empty")
        for text in (part for one in texts for part in parts_of(one)):
            if text.startswith(PREFIX):
                _check_names("condition", [text.removeprefix(PREFIX)], CONDITIONS, globs=False)
            elif is_regular_expression(text):
                _check_regular_expression(key, text[1:-1])
    without = [verdict for verdict in found.verdicts if verdict in WITHOUT_RESULTS]
    if without and len(without) < len(found.verdicts):
        results = next(verdict for verdict in found.verdicts if verdict not in without)
        raise ValueError(
            f"{results!r} is about results and {without[0]!r} about programs without results: "
            "make an entry of each"
        )
    if without and not (found.words or found.where):
        raise ValueError(
            f"'words' is missing: a part of the backend's message about {without[0]!r}, "
            "such as 'Check failed: size > 0'; give 'where' if there is no message"
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
            raise ValueError(describe_unknown(what, pattern, names))

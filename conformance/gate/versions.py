"""Versions to which an expectation is limited: of jaxlib, of the backend, of its library."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from conformance.backends import isa
from conformance.backends.base import Description
from conformance.backends.versions import GIVEN
from conformance.errors import UsageError, describe_unknown
from conformance.gate.expectations import Expectation, Versions
from conformance.gate.files import ExpectationError

_RUNTIME, _LIBRARY = "runtime", "library"
_SAID = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)+(?:[-+.]?(?:a|b|rc|dev|post)\d*)?)(?![\w.])")
"""Pattern of a version number in a client's description: digits with at least one dot."""
_OURS = frozenset({_RUNTIME, _LIBRARY, GIVEN, "instruction sets", "PJRT API", "StableHLO", "jax",
                   "jaxlib"})  # fmt: skip
_SHORTEST = 6
_DIGEST = re.compile(rf"[0-9a-f]{{{_SHORTEST},64}}")


@dataclass(frozen=True, slots=True)
class OwnVersions:
    """A backend's own versions, "" if unknown, what its client says, and the instruction sets that
    it states.
    """

    number: str
    library: str
    said: str
    sets: frozenset[str] = frozenset()


def check(versions: str | Versions) -> None:
    """Check that each condition can be parsed.

    Raises:
        ValueError: with the first that cannot.
    """
    wanted = conditions(versions)
    for text in (wanted.jaxlib, wanted.plugin):
        try:
            SpecifierSet(text)
        except InvalidSpecifier:
            raise ValueError(
                f"{text!r} is not a range of versions; write for example '<0.11'"
            ) from None
    for digest in _digests(wanted.library):
        if not _DIGEST.fullmatch(digest):
            raise ValueError(
                f"{digest!r} is not a digest: write at least {_SHORTEST} hexadecimal digits of the "
                "library's SHA-256, as `hlo-conformance backends` shows it"
            )
    if isinstance(versions, Versions) and versions == Versions():
        raise ValueError("'versions' is empty: name versions of jaxlib, plugin or library")


def conditions(versions: str | Versions) -> Versions:
    """Return the conditions of an entry; a plain text is about jaxlib."""
    return Versions(jaxlib=versions) if isinstance(versions, str) else versions


def versions_text(versions: str | Versions) -> str:
    """Return the conditions of an entry in a few words, "" for none."""
    if isinstance(versions, str):
        return versions
    named = (("jaxlib", versions.jaxlib), ("plugin", versions.plugin), (_LIBRARY, versions.library))
    return ", ".join(f"{name} {text}" for name, text in named if text)


def _digests(text: str) -> list[str]:
    """Return the beginnings of digests that a condition on a library lists."""
    listed = text.lower().split(",") if text else []
    return [one.strip().removeprefix("sha256:") for one in listed]


def holds_for_jaxlib(entry: Expectation, jaxlib: str) -> bool:
    """Return whether an entry applies to a version of jaxlib."""
    wanted = conditions(entry.versions).jaxlib
    return not wanted or _is_in_range(wanted, jaxlib)


def _is_in_range(specifier: str, version: str) -> bool:
    return bool(version) and SpecifierSet(specifier).contains(version, prereleases=True)


def needs_backend_version(entries: Collection[Expectation]) -> bool:
    """Return whether any entry depends on a version that only the backend reports, or on
    instruction sets that only it knows.
    """
    wanted = [conditions(entry.versions) for entry in entries]
    stated = (entry.isa and any(map(isa.is_stated, entry.backends)) for entry in entries)
    return any(one.plugin or one.library for one in wanted) or any(stated)


def given_versions(texts: Sequence[str], backends: Sequence[str]) -> dict[str, str]:
    """Return the versions of `--backend-version`, by the names of backends in records.

    `texts` are such as `2.1`, for a single backend, or `plugin:mine=2.1`.

    Raises:
        UsageError: if a text is no version, or its backend is not tested.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        if not equals:
            if len(backends) > 1:
                raise UsageError(
                    f"--backend-version {text}: say of which backend, such as {backends[0]}={text}"
                )
            name = backends[0]
        if name not in backends:
            raise UsageError(f"--backend-version: {describe_unknown('backend', name, backends)}")
        try:
            Version(number)
        except InvalidVersion:
            raise UsageError(
                f"--backend-version: {number!r} is not a version; write for example 2.1"
            ) from None
        found[name] = number
    return found


def add_given_version(description: Description, given: Mapping[str, str]) -> Description:
    """Return a description with the version that the user gave for its backend, if any."""
    number = given.get(description.name)
    if number is None:
        return description
    return replace(description, versions=(*description.versions, (GIVEN, number)))


def own_versions(description: Description) -> OwnVersions:
    """Return a backend's own versions.

    Its number is the user's, otherwise the number in its client's description, otherwise the
    version of the distribution that installed its library.
    """
    told = dict(description.versions)
    library = told.get(_LIBRARY, "").rpartition(" ")[2]
    said = _SAID.search(told.get(_RUNTIME, ""))
    others = [number for name, number in description.versions if name not in _OURS]
    installed = others[:1] if library else []
    number = told.get(GIVEN) or (said[1] if said else "") or "".join(installed)
    sets = isa.stated_sets(told.get("instruction-sets", ""))
    return OwnVersions(number, library, told.get(_RUNTIME, ""), sets)


def applicable_entries(
    entries: Sequence[Expectation], described: Sequence[Description]
) -> tuple[Expectation, ...]:
    """Return the entries that apply to these backends, by the backends' own versions and the
    instruction sets that they state.

    An entry that applies only to some backends is limited to these.

    Raises:
        ExpectationError: if an entry requires a plugin's version, and the plugin has none.
    """
    own = {one.name: own_versions(one) for one in described}
    found: list[Expectation] = []
    for entry in entries:
        if not needs_backend_version([entry]):
            found.append(entry)
            continue
        about = {name: one for name, one in own.items() if entry.matches_backend(name)}
        held = [name for name, one in about.items() if _is_true(entry, name, one)]
        if held:
            found.append(structs.replace(entry, backends=tuple(held)))
    return tuple(found)


def _is_true(entry: Expectation, backend: str, own: OwnVersions) -> bool:
    wanted = conditions(entry.versions)
    if wanted.plugin and not own.number and backend.startswith("plugin:"):
        said = f"it says {own.said!r}" if own.said else "it says none"
        raise ExpectationError(
            f"entry {entry.id!r} requires the version of {backend}, which is not known ({said}): "
            "give it by --backend-version, such as --backend-version 2.1"
        )
    if entry.isa and isa.is_stated(backend) and not isa.satisfies(own.sets, entry.isa):
        return False
    if wanted.plugin and not _is_in_range(wanted.plugin, own.number):
        return False
    library = own.library.lower()  # a description may have its first digits
    return not wanted.library or any(
        bool(library) and (library.startswith(digest) or digest.startswith(library))
        for digest in _digests(wanted.library)
    )

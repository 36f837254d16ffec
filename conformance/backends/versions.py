"""Versions of installed distributions."""

from __future__ import annotations

import hashlib
from importlib.metadata import PackageNotFoundError, distribution, distributions, version
from pathlib import Path

_DIGITS = 12
"""Hexadecimal digits of a file's digest that are shown."""

GIVEN = "version given"
"""The key of a description under which the version from `--backend-version` stands."""


def distribution_versions(*names: str) -> tuple[tuple[str, str], ...]:
    """Return the installed versions of distributions, by name."""
    return tuple((name, _version(name)) for name in names)


def file_version(path: Path) -> tuple[tuple[str, str], ...]:
    """Return the version of the distribution that installed a file; empty if none did."""
    resolved = path.resolve()
    for found in distributions():
        if path.name not in (found.read_text("RECORD") or ""):
            continue
        for file in found.files or ():
            if Path(str(found.locate_file(file))).resolve() == resolved:
                return ((found.name, found.version),)
    return ()


def described_file(path: Path) -> str:
    """Return the name of a file with the beginning of its SHA-256."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:_DIGITS]
    return f"{path.name} sha256 {digest}"


def libraries_of(name: str) -> tuple[Path, ...] | None:
    """Return the PJRT plugins that a distribution has installed; None if it is not installed.

    If it has several libraries, only those with plugin or PJRT in their name count.
    """
    try:
        found = distribution(name)
    except (PackageNotFoundError, ValueError):  # of no name
        return None
    files = [file for file in found.files or () if file.suffix == ".so"]
    if len(files) > 1:
        files = [file for file in files if "pjrt" in file.name or "plugin" in file.name]
    return tuple(Path(str(found.locate_file(file))).resolve() for file in files)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"

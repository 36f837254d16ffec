"""Versions of what is installed here."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

GIVEN = "version given"
"""What a backend's description calls the version that `--backend-version` gave."""


def of_distributions(*names: str) -> tuple[tuple[str, str], ...]:
    """The version of each of these distributions, by name."""
    return tuple((name, _version(name)) for name in names)


def of_file(path: Path) -> tuple[tuple[str, str], ...]:
    """The version of the distribution that a file was installed by; nothing where by none."""
    resolved = path.resolve()
    for distribution in distributions():
        if path.name not in (distribution.read_text("RECORD") or ""):
            continue
        for file in distribution.files or ():
            if Path(str(distribution.locate_file(file))).resolve() == resolved:
                return ((distribution.name, distribution.version),)
    return ()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"

"""Versions of what is installed here."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution, distributions, version
from pathlib import Path

GIVEN = "version given"
"""What a backend's description calls the version that `--backend-version` gave."""


def of_distributions(*names: str) -> tuple[tuple[str, str], ...]:
    """The version of each of these distributions, by name."""
    return tuple((name, _version(name)) for name in names)


def of_file(path: Path) -> tuple[tuple[str, str], ...]:
    """The version of the distribution that a file was installed by; nothing where by none."""
    resolved = path.resolve()
    for found in distributions():
        if path.name not in (found.read_text("RECORD") or ""):
            continue
        for file in found.files or ():
            if Path(str(found.locate_file(file))).resolve() == resolved:
                return ((found.name, found.version),)
    return ()


def libraries_of(name: str) -> tuple[Path, ...] | None:
    """Return the PJRT plugins that a distribution has installed; None where it is not installed.

    Of several libraries they are those that are called plugin or PJRT.
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

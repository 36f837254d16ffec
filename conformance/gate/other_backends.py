"""Expectation files whose entries match only backends that are not tested."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from conformance.gate.expectations import Expectation
from conformance.gate.files import Given, is_shipped
from conformance.gate.reading import entries_of


def files_about_others(given: Given, backends: Sequence[str]) -> list[str]:
    """Return a line for each file whose entries all concern other backends.

    A plugin under another name counts as another backend.

    Raises:
        ExpectationError: if a file cannot be read.
    """
    found: dict[Path, list[Expectation]] = {}
    for path, entry in entries_of(given, backends):
        if not is_shipped(path):
            found.setdefault(path, []).append(entry)
    return [
        _line(path, entries, backends)
        for path, entries in found.items()
        if not any(one.matches_backend(name) for one in entries for name in backends)
    ]


def _line(path: Path, entries: Sequence[Expectation], backends: Sequence[str]) -> str:
    about = ", ".join(dict.fromkeys(name for one in entries for name in one.backends))
    what = "the entry is" if len(entries) == 1 else f"all {len(entries)} entries are"
    return f"{path}: {what} about {about}, none about {', '.join(backends)}"

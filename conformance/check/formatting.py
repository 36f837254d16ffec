"""The command `expectations fmt`: expectation files in their canonical layout."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from conformance.errors import UsageError
from conformance.gate.formatting import NotFormatted, format_text
from conformance.gate.reading import read


def format_files(files: Sequence[Path], *, check_only: bool) -> int:
    """Put files in canonical layout, say which changed, and return the exit code.

    1 where `check_only` and a file would change, 0 otherwise.

    Raises:
        ExpectationError: when a file cannot be read, or is none of expectations.
        UsageError: when it cannot be written, or put in order.
    """
    changed = 0
    for file in files:
        read(file)
        before = file.read_text(encoding="utf-8")
        try:
            after = format_text(before)
        except NotFormatted as error:
            raise UsageError(f"{file}: {error}") from None
        if after == before:
            continue
        changed += 1
        sys.stdout.write(f"{file}: {'would change' if check_only else 'formatted'}\n")
        if not check_only:
            _write(file, after)
    return 1 if check_only and changed else 0


def _write(file: Path, text: str) -> None:
    try:
        partial = file.with_name(f"{file.name}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from error

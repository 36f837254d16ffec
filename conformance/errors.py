"""Errors of usage, reported in one line without a traceback, and exit codes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

USAGE, NOT_AVAILABLE, NOTHING_TESTED, INTERRUPTED = 2, 3, 4, 130
"""Exit codes of the command line. 0 means that the backend conforms, 1 a new divergence."""


MOST_NAMED = 60
"""Largest number of names that a message lists; the number of all names follows."""


class UsageError(Exception):
    """Raised for an invalid command; the message says why and suggests a correction if possible."""


class NotAvailable(Exception):
    """The backend is not available; the message says why and how to mend it (exit code 3)."""


def describe_unknown(what: str, given: str, known: Iterable[str]) -> str:
    """Return a line that says that a name is unknown, and suggests similar names."""
    names = list(known)
    bare = given.strip("*?")
    close = [name for name in names if bare and bare in name][:3]
    close = close or difflib.get_close_matches(bare, names, n=3, cutoff=0.5)
    shown = names if len(names) <= MOST_NAMED else [*names[:MOST_NAMED], f"{len(names)} in all"]
    hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(shown)}"
    return f"unknown {what} {given!r}; {hint}"

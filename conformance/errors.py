"""What users are told, and no traceback: errors of what was asked for, and the exit codes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

USAGE, NOT_AVAILABLE, NOTHING_TESTED, INTERRUPTED = 2, 3, 4, 130
"""Exit codes of the command line; 0 is conforms, 1 a new divergence."""


MOST_NAMED = 60
"""Names that a message lists at most; of more it says how many there are."""


class UsageError(Exception):
    """What was asked for makes no sense; the message says what and, if it can, what was meant."""


class NotAvailable(Exception):
    """The backend cannot be had here; the message says why and how to mend it (exit code 3)."""


def unknown(what: str, given: str, known: Iterable[str]) -> str:
    """A line saying that there is no such thing, and what may have been meant."""
    names = list(known)
    bare = given.strip("*?")
    close = [name for name in names if bare and bare in name][:3]
    close = close or difflib.get_close_matches(bare, names, n=3, cutoff=0.5)
    shown = names if len(names) <= MOST_NAMED else [*names[:MOST_NAMED], f"{len(names)} in all"]
    hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(shown)}"
    return f"unknown {what} {given!r}; {hint}"

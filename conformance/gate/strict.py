"""Entries that `--strict` refuses, because they are unfinished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.gate.expectations import Expectation
from conformance.gate.files import ExpectationError

TODO = "TODO"
"""The beginning of the reason that `expectations update` writes, until a person replaces it."""

_MOST = 3
"""Largest number of entries that a message names."""


def has_reason(entry: Expectation) -> bool:
    """Return whether the reason of an entry was written by a person."""
    return not entry.reason.strip().upper().startswith(TODO)


def check_finished(entries: Sequence[Expectation], paths: Mapping[str, Path]) -> None:
    """Check that each entry has a reason and a counterexample; `paths` has the files by id.

    Raises:
        ExpectationError: if an entry lacks either; the message says how to mend it.
    """
    unexplained = [one for one in entries if not has_reason(one)]
    if unexplained:
        raise ExpectationError(
            f"--strict: the reason of {_list_entries(unexplained, paths)} is still {TODO}: "
            "look at the divergence, and write why it is known"
        )
    bare = [one for one in entries if one.counterexample is None and one.needs_counterexample]
    if bare:
        raise ExpectationError(
            f"--strict: no counterexample in {_list_entries(bare, paths)}: without one nobody sees "
            "when it is fixed; add [known.counterexample] with a program and its inputs"
        )


def _list_entries(entries: Sequence[Expectation], paths: Mapping[str, Path]) -> str:
    shown = [f"{one.id!r} ({paths[one.id]})" for one in entries[:_MOST]]
    more = len(entries) - len(shown)
    what = "entry" if len(entries) == 1 else "entries"
    return f"{what} {', '.join(shown)}" + (f" and {more} more" if more else "")

"""Remarks on whole expectation files: entries that are unfinished or never match, and files whose
entries are about other backends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from conformance.gate.expectations import Expectation, names_of_op
from conformance.gate.files import ExpectationError, Given, is_shipped
from conformance.gate.reading import COLUMNS, entries_of, paths_of
from conformance.text import contains, matches_any, plural
from reference.ops.table import OPS

TODO = "TODO"
"""The beginning of the reason that `expectations update` writes, until a person replaces it."""

_MOST = 3
"""Largest number of entries that a message names."""


# --- Unfinished entries --------------------------------------------------------------------------


def has_reason(entry: Expectation) -> bool:
    """Return whether the reason of an entry was written by a person."""
    return not entry.reason.strip().upper().startswith(TODO)


def check_finished(entries: Sequence[Expectation], paths: Mapping[str, Path]) -> None:
    """Check that each entry has a reason and a counterexample; `paths` has the files by id.

    Raises:
        ExpectationError: if an entry lacks either; the message says how to mend it.
    """
    unexplained = [entry for entry in entries if not has_reason(entry)]
    if unexplained:
        raise ExpectationError(
            f"--strict: the reason of {_list_entries(unexplained, paths)} is still {TODO}: "
            "look at the divergence, and write why it is known"
        )
    bare = [
        entry for entry in entries if entry.counterexample is None and entry.needs_counterexample
    ]
    if bare:
        raise ExpectationError(
            f"--strict: no counterexample in {_list_entries(bare, paths)}: without one nobody sees "
            "when it is fixed; add [known.counterexample] with a program and its inputs"
        )


def _list_entries(entries: Sequence[Expectation], paths: Mapping[str, Path]) -> str:
    shown = [f"{entry.id!r} ({paths[entry.id]})" for entry in entries[:_MOST]]
    more = len(entries) - len(shown)
    what = "entry" if len(entries) == 1 else "entries"
    return f"{what} {', '.join(shown)}" + (f" and {more} more" if more else "")


# --- Other backends ------------------------------------------------------------------------------


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
    lines: list[str] = []
    for path, entries in found.items():
        if not any(one.matches_backend(name) for one in entries for name in backends):
            about = ", ".join(dict.fromkeys(name for one in entries for name in one.backends))
            what = "the entry is" if len(entries) == 1 else f"all {len(entries)} entries are"
            lines.append(f"{path}: {what} about {about}, none about {', '.join(backends)}")
    return lines


# --- Shadowed entries ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shadowed:
    """An entry that never matches: an earlier entry matches all its failures."""

    later: str
    earlier: str

    def __str__(self) -> str:
        """Return both entries in a line."""
        return (
            f"{self.later}: shadowed by {self.earlier}, which comes first and matches all that "
            "this entry matches: remove an entry, or put the narrower entry first"
        )


def shadowed_entries(
    entries: Sequence[Expectation], apart: Collection[str] = ()
) -> Iterator[Shadowed]:
    """Yield the shadowed entries in order, except pairs that are both in `apart`.

    Patterns are compared, not messages. Only the first entry that shadows another is reported.
    """
    for index, later in enumerate(entries):
        for earlier in entries[:index]:
            are_apart = later.id in apart and earlier.id in apart
            if not are_apart and _is_contained(later, earlier):
                yield Shadowed(later.id, earlier.id)
                break


def shadowed_in_files(
    given: Given, backends: Sequence[str], entries: Sequence[Expectation]
) -> tuple[Shadowed, ...]:
    """Return the shadowed entries among loaded entries, except shipped ones shadowed by shipped
    ones.

    Raises:
        ExpectationError: if a file cannot be read.
    """
    paths = paths_of(given, backends)
    apart = {id_ for id_, path in paths.items() if is_shipped(path)}
    return tuple(shadowed_entries(entries, apart)) if len(apart) < len(paths) else ()


def shadowed_line(found: Sequence[Shadowed]) -> str:
    """Return a line with the number of shadowed entries, "" for none."""
    if not found:
        return ""
    count = plural(len(found), "entry is", "entries are")
    which = "`hlo-conformance expectations check`, with the same --expectations, says which"
    return f"expectations: {count} shadowed by an earlier entry; {which}"


def _is_contained(later: Expectation, earlier: Expectation) -> bool:
    """Return whether the earlier entry matches everything that the later one matches."""
    groups = [one for one in later.op if " + " in one]
    return (
        later.cause == earlier.cause
        and _ops(later.op) <= _ops(earlier.op)
        and _are_matched(groups, earlier.op)
        and _columns(later.element_types) <= _columns(earlier.element_types)
        and {*later.verdicts} <= {*earlier.verdicts}
        and _are_matched(later.kinds, earlier.kinds)
        and _are_matched(later.backends, earlier.backends)
        and later.max_ulp <= earlier.max_ulp
        and _are_contained(later.words, earlier.words)
        and _are_contained(later.where, earlier.where)
        and (not later.where or bool(earlier.where) or not earlier.words)
    )


@lru_cache(maxsize=4096)
def _ops(patterns: tuple[str, ...]) -> frozenset[str]:
    return frozenset(op for op in OPS if any(matches_any(n, patterns) for n in names_of_op(op)))


@lru_cache(maxsize=4096)
def _columns(patterns: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name for name in COLUMNS if matches_any(name, patterns))


def _are_matched(narrow: Sequence[str], wide: Sequence[str]) -> bool:
    """Return whether `wide` patterns match each `narrow` pattern, read as a text.

    Then they also match every text that the narrow patterns match.
    """
    return all(matches_any(one, wide) for one in narrow)


def _are_contained(narrow: Sequence[str], wide: Sequence[str]) -> bool:
    """Return whether each text contains one of the wide texts, or there are no wide texts."""
    return not wide or (
        bool(narrow)
        and all(any(one == other or contains(one, other) for other in wide) for one in narrow)
    )

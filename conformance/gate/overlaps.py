"""Entries that match the same failures; the first in the order of a run is reported.

Patterns are compared, not messages. Two texts that only some message contains together are not
reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from conformance.gate.classes import CLASSES
from conformance.gate.expectations import Expectation, names_of_op
from conformance.gate.files import Given, is_shipped
from conformance.gate.reading import paths_of
from conformance.text import contains, matches_any
from generators.case.columns import INVALID
from generators.case.quantized_types import QUANTIZED_COLUMNS
from reference.ir.types import ELEMENT_TYPES
from reference.ops.table import OPS

_COLUMNS = (*ELEMENT_TYPES, *QUANTIZED_COLUMNS, INVALID.name)
_JOINED = " + "


@dataclass(frozen=True, slots=True)
class Overlap:
    """An entry that matches failures which earlier entries match; `is_shadowed` if a single earlier
    entry matches all its failures.
    """

    later: str
    earlier: tuple[str, ...]
    is_shadowed: bool

    def __str__(self) -> str:
        """Return the overlap in a line."""
        others = ", ".join(self.earlier)
        if self.is_shadowed:
            return (
                f"{self.later}: shadowed by {others}, which comes first and matches all that "
                "this entry matches: remove an entry, or put the narrower entry first"
            )
        come = "come" if len(self.earlier) > 1 else "comes"
        return (
            f"{self.later}: overlaps with {others}, which {come} first: what both match is not "
            f"reported as {self.later}"
        )


def overlaps(entries: Sequence[Expectation], apart: Collection[str] = ()) -> Iterator[Overlap]:
    """Yield the overlaps among entries in order, except pairs that are both in `apart`.

    For a shadowed entry, only the first entry that shadows it is reported.
    """
    shipped = frozenset(apart)
    for number, later in enumerate(entries):
        before = entries[:number]
        others = [one for one in before if one.id not in shipped] if later.id in shipped else before
        shadowing = next((one.id for one in others if _is_contained(later, one)), None)
        if shadowing is not None:
            yield Overlap(later.id, (shadowing,), is_shadowed=True)
        elif common := [one.id for one in others if _has_common(later, one)]:
            yield Overlap(later.id, tuple(common), is_shadowed=False)


def overlaps_between_files(
    given: Given, backends: Sequence[str], entries: Sequence[Expectation]
) -> tuple[Overlap, ...]:
    """Return the overlaps among loaded entries, except overlaps between shipped entries.

    Raises:
        ExpectationError: if a file cannot be read.
    """
    paths = paths_of(given, backends)
    apart = {id_ for id_, path in paths.items() if is_shipped(path)}
    return tuple(overlaps(entries, apart)) if len(apart) < len(paths) else ()


def overlap_line(found: Sequence[Overlap]) -> str:
    """Return a line with the number of overlaps, "" for none."""
    if not found:
        return ""
    shadowed = sum(one.is_shadowed for one in found)
    what = ("shadowed by an earlier entry", "overlapping with an earlier entry")
    counted = zip((shadowed, len(found) - shadowed), what, strict=True)
    told = [f"{_entries(count)} {words}" for count, words in counted if count]
    which = "`hlo-conformance expectations check`, with the same --expectations, says which"
    return f"expectations: {', '.join(told)}; {which}"


def _entries(count: int) -> str:
    return f"{count} {'entry is' if count == 1 else 'entries are'}"


def _is_contained(later: Expectation, earlier: Expectation) -> bool:
    """Return whether the earlier entry matches everything that the later one matches."""
    return (
        later.cause == earlier.cause
        and _ops(later.op) <= _ops(earlier.op)
        and _are_matched([one for one in later.op if _JOINED in one], earlier.op)
        and _columns(later.element_types) <= _columns(earlier.element_types)
        and {*later.verdicts} <= {*earlier.verdicts}
        and _are_matched(later.kinds, earlier.kinds)
        and _are_matched(later.backends, earlier.backends)
        and later.max_ulp <= earlier.max_ulp
        and _are_contained(later.words, earlier.words)
        and _are_contained(later.where, earlier.where)
        and (not later.where or bool(earlier.where) or not earlier.words)
    )


def _has_common(one: Expectation, other: Expectation) -> bool:
    """Return whether failures may exist that both entries match, by their patterns."""
    joined = [op for op in one.op if op in other.op and _JOINED in op]
    return (
        one.cause == other.cause
        and bool(joined or _ops(one.op) & _ops(other.op))
        and bool(_columns(one.element_types) & _columns(other.element_types))
        and bool({*one.verdicts} & {*other.verdicts})
        and _share_a_name(one.kinds, other.kinds, CLASSES)
        and _share_a_name(one.backends, other.backends, ())
        and _can_share_message(one.words, other.words)
        and _can_share_message(one.where, other.where)
    )


@lru_cache(maxsize=4096)
def _ops(patterns: tuple[str, ...]) -> frozenset[str]:
    return frozenset(op for op in OPS if any(matches_any(n, patterns) for n in names_of_op(op)))


@lru_cache(maxsize=4096)
def _columns(patterns: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name for name in _COLUMNS if matches_any(name, patterns))


def _are_matched(narrow: Sequence[str], wide: Sequence[str]) -> bool:
    """Return whether `wide` patterns match each `narrow` pattern, read as a text.

    Then they also match every text that the narrow patterns match.
    """
    return all(matches_any(one, wide) for one in narrow)


def _share_a_name(some: Sequence[str], others: Sequence[str], names: Collection[str]) -> bool:
    """Return whether a pattern of either list matches a pattern of the other, or a name matches
    both lists.
    """
    if any(fnmatchcase(a, b) or fnmatchcase(b, a) for a in some for b in others):
        return True
    return any(matches_any(name, some) and matches_any(name, others) for name in names)


def _are_contained(narrow: Sequence[str], wide: Sequence[str]) -> bool:
    """Return whether each text contains one of the wide texts, or there are no wide texts."""
    if not wide:
        return True
    return bool(narrow) and all(
        any(one == other or contains(one, other) for other in wide) for one in narrow
    )


def _can_share_message(some: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether a message may contain texts of both lists; an empty list permits any
    message."""
    if not some or not others:
        return True
    return any(a == b or contains(a, b) or contains(b, a) for a in some for b in others)

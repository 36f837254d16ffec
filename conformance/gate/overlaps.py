"""Entries that know the same failures: the first one of a run's entries is the one reported.

Patterns are compared, not messages: of two texts that only some message could both be in, nothing
is said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from conformance.gate.classes import CLASSES
from conformance.gate.expectations import Expectation, contains, names_and_twins
from conformance.gate.files import Given, is_shipped
from conformance.gate.reading import paths_of
from generators.case.columns import INVALID
from generators.case.quantized_types import QUANTIZED_COLUMNS
from reference.ir.types import ELEMENT_TYPES
from reference.ops.table import OPS

_COLUMNS = (*ELEMENT_TYPES, *QUANTIZED_COLUMNS, INVALID.name)
_JOINED = " + "


@dataclass(frozen=True, slots=True)
class Overlap:
    """An entry that knows failures which earlier ones know: one of them all where `is_shadowed`."""

    later: str
    earlier: tuple[str, ...]
    is_shadowed: bool

    def __str__(self) -> str:
        """What that means, in a line."""
        others = ", ".join(self.earlier)
        if self.is_shadowed:
            return (
                f"{self.later}: shadowed by {others}, which comes first and knows all that "
                "this entry knows: take one of them out, or put the narrower one first"
            )
        come = "come" if len(self.earlier) > 1 else "comes"
        return (
            f"{self.later}: overlaps with {others}, which {come} first: what both know is not "
            f"reported as {self.later}"
        )


def overlaps(entries: Sequence[Expectation], apart: Collection[str] = ()) -> Iterator[Overlap]:
    """Yield what overlaps among entries in order; nothing of pairs that are both in `apart`.

    Of an entry that is shadowed, the first one that shadows it is all that is said.
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


def between_files(
    given: Given, backends: Sequence[str], entries: Sequence[Expectation]
) -> tuple[Overlap, ...]:
    """Return what overlaps among loaded entries, but for shipped ones with each other.

    Raises:
        ExpectationError: when a file cannot be read.
    """
    paths = paths_of(given, backends)
    apart = {id_ for id_, path in paths.items() if is_shipped(path)}
    return tuple(overlaps(entries, apart)) if len(apart) < len(paths) else ()


def hint(found: Sequence[Overlap]) -> str:
    """Return a line that says how much overlaps, "" where nothing does."""
    if not found:
        return ""
    shadowed = sum(one.is_shadowed for one in found)
    what = ("shadowed by an earlier one", "overlapping with an earlier one")
    counted = zip((shadowed, len(found) - shadowed), what, strict=True)
    told = [f"{_entries(count)} {words}" for count, words in counted if count]
    which = "`hlo-conformance expectations check`, with the same --expectations, says which"
    return f"expectations: {', '.join(told)}; {which}"


def _entries(count: int) -> str:
    return f"{count} {'entry is' if count == 1 else 'entries are'}"


def _is_contained(later: Expectation, earlier: Expectation) -> bool:
    """Tell whether all that the later entry knows, the earlier one knows."""
    return (
        _ops(later.op) <= _ops(earlier.op)
        and _are_matched([one for one in later.op if _JOINED in one], earlier.op)
        and _columns(later.element_types) <= _columns(earlier.element_types)
        and {*later.verdicts} <= {*earlier.verdicts}
        and _are_matched(later.kinds, earlier.kinds)
        and _are_matched(later.backends, earlier.backends)
        and later.max_ulp <= earlier.max_ulp
        and _are_within(later.words, earlier.words)
        and _are_within(later.where, earlier.where)
        and (not later.where or bool(earlier.where) or not earlier.words)
    )


def _has_common(one: Expectation, other: Expectation) -> bool:
    """Tell whether there are failures that both entries know, as far as their patterns tell."""
    joined = [op for op in one.op if op in other.op and _JOINED in op]
    return (
        bool(joined or _ops(one.op) & _ops(other.op))
        and bool(_columns(one.element_types) & _columns(other.element_types))
        and bool({*one.verdicts} & {*other.verdicts})
        and _meet(one.kinds, other.kinds, CLASSES)
        and _meet(one.backends, other.backends, ())
        and _may_be_in_one(one.words, other.words)
        and _may_be_in_one(one.where, other.where)
    )


@lru_cache(maxsize=4096)
def _ops(patterns: tuple[str, ...]) -> frozenset[str]:
    return frozenset(op for op in OPS if any(_matches(n, patterns) for n in names_and_twins(op)))


@lru_cache(maxsize=4096)
def _columns(patterns: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name for name in _COLUMNS if _matches(name, patterns))


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _are_matched(narrow: Sequence[str], wide: Sequence[str]) -> bool:
    """Tell whether each pattern is matched as a text: so is all that it matches."""
    return all(_matches(one, wide) for one in narrow)


def _meet(some: Sequence[str], others: Sequence[str], names: Collection[str]) -> bool:
    """Tell whether a pattern of some is within one of others, or both match one of the names."""
    if any(fnmatchcase(a, b) or fnmatchcase(b, a) for a in some for b in others):
        return True
    return any(_matches(name, some) and _matches(name, others) for name in names)


def _are_within(narrow: Sequence[str], wide: Sequence[str]) -> bool:
    """Tell whether each text has one of the wide ones in it; all have where there are none."""
    if not wide:
        return True
    return bool(narrow) and all(
        any(one == other or contains(one, other) for other in wide) for one in narrow
    )


def _may_be_in_one(some: Sequence[str], others: Sequence[str]) -> bool:
    """Tell whether texts are in the same messages: where one side asks for none, any may be."""
    if not some or not others:
        return True
    return any(a == b or contains(a, b) or contains(b, a) for a in some for b in others)

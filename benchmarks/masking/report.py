"""Tables of the outcomes of corrupted results, and of the known divergences that hid them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.masking.changes import CHANGES
from benchmarks.masking.endings import ENDINGS
from benchmarks.masking.measuring import CorruptionOutcome, End, MaskingCounts

EXPONENTS = "f8E8M0FNU"
"""The element type without which all figures are printed once more: XLA's CPU is wrong in most of
its operations."""

_COLUMNS = (
    "change",
    "corrupted",
    *End,
    "known before",
    "still known",
    "pairs",
    "green",
    "as known",
)


@dataclass(frozen=True, slots=True)
class Share:
    """The number of corrupted results, and the number of results that end as known."""

    known: int
    of: int

    @property
    def percent(self) -> float:
        """The share in percent; 0 if the number is 0."""
        return 100 * self.known / self.of if self.of else 0.0

    def __str__(self) -> str:
        return f"{self.known} of {self.of} ({self.percent:.1f} %)"


def known_share(outcomes: Iterable[CorruptionOutcome]) -> Share:
    """Return the share of known outcomes among these outcomes."""
    ends = [outcome.end for outcome in outcomes]
    return Share(ends.count(End.KNOWN), len(ends))


def select_known_cases(outcomes: Iterable[CorruptionOutcome]) -> list[CorruptionOutcome]:
    """Return the outcomes of cases that had a known divergence before."""
    return [outcome for outcome in outcomes if outcome.before]


def green_pairs(outcomes: Iterable[CorruptionOutcome]) -> dict[tuple[str, str, str], bool]:
    """Return for each pair of cell and change whether a run stays green despite the corruption."""
    pairs: dict[tuple[str, str, str], bool] = {}
    for outcome in outcomes:
        pair = outcome.op, outcome.element_type, outcome.change
        pairs[pair] = pairs.get(pair, True) and outcome.end is not End.NEW
    return pairs


def _green_as_known(outcomes: Iterable[CorruptionOutcome]) -> int:
    """Count the pairs that stay green, and those in which an entry hides a result."""
    every = list(outcomes)
    hidden = {(one.op, one.element_type, one.change) for one in every if one.end is End.KNOWN}
    return sum(green and pair in hidden for pair, green in green_pairs(every).items())


def format_tables(measured: MaskingCounts) -> str:
    """Return all tables as text."""
    outcomes = measured.outcomes
    others = [outcome for outcome in outcomes if outcome.element_type != EXPONENTS]
    parts = [_cases(measured), table_by_change(outcomes)]
    if len(others) < len(outcomes):
        parts += [f"without {EXPONENTS}\n{table_by_change(others)}"]
    hidden = [table_by_entry(outcomes)] if any(outcome.entry for outcome in outcomes) else []
    return "\n\n".join([*parts, *hidden])


def _cases(measured: MaskingCounts) -> str:
    cells = {(outcome.op, outcome.element_type) for outcome in measured.outcomes}
    counts = len(measured.with_results), len(measured.without_results)
    head = f"{len(cells)} cells; {counts[0]} cases gave results, {counts[1]} none"
    return "\n".join([head, *(f"new as it is, left out: {one}" for one in measured.new_before)])


def table_by_change(outcomes: Sequence[CorruptionOutcome]) -> str:
    """Return a line for each change, then for corrupted results and endings as wholes."""
    names = list(dict.fromkeys(outcome.change for outcome in outcomes))
    rows = [
        _row(name, [outcome for outcome in outcomes if outcome.change == name]) for name in names
    ]
    for total, changes in (("all results", CHANGES), ("all endings", ENDINGS)):
        some = [outcome for outcome in outcomes if outcome.change in changes]
        rows += [_row(total, some)] if some else []
    return _table(_COLUMNS, rows)


def worst_share(outcomes: Iterable[CorruptionOutcome]) -> Share:
    """Return the larger of the known shares of corrupted results and of endings."""
    every = list(outcomes)
    wholes = ([one for one in every if one.change in changes] for changes in (CHANGES, ENDINGS))
    return max(map(known_share, wholes), key=lambda share: share.percent)


def _row(name: str, outcomes: Sequence[CorruptionOutcome]) -> list[str]:
    ends = Counter(outcome.end for outcome in outcomes)
    shares = [f"{ends[end]} {100 * ends[end] / len(outcomes):5.1f} %" for end in End]
    before = known_share(select_known_cases(outcomes))
    pairs = green_pairs(outcomes)
    still = f"{before.known} {before.percent:5.1f} %"
    green = [len(pairs), sum(pairs.values()), _green_as_known(outcomes)]
    return [name, str(len(outcomes)), *shares, str(before.of), still, *map(str, green)]


def table_by_entry(outcomes: Sequence[CorruptionOutcome]) -> str:
    """Return a line for each entry that hid anything, worst first, with an example of each.

    The second column counts results of cases that the same entry matched before.
    """
    entries = Counter(outcome.entry for outcome in outcomes if outcome.entry)
    rows = [
        _entry_row(count, [outcome for outcome in outcomes if outcome.entry == entry])
        for entry, count in entries.most_common()
    ]
    return _table(
        ("hidden", "known before", "cells", "entry", "changes", "classes", "ops", "example"), rows
    )


def _entry_row(count: int, hidden: Sequence[CorruptionOutcome]) -> list[str]:
    cells = {(one.op, one.element_type) for one in hidden}
    return [
        str(count),
        str(sum(one.entry == one.before for one in hidden)),
        str(len(cells)),
        hidden[0].entry,
        _most_frequent(one.change for one in hidden),
        _most_frequent(one.kind for one in hidden),
        _most_frequent(one.op for one in hidden),
        f"{hidden[0].id} {hidden[0].change}",
    ]


def _most_frequent(names: Iterable[str], shown: int = 3) -> str:
    counts = Counter(names)
    some = ", ".join(f"{name} {count}" for name, count in counts.most_common(shown))
    return f"{some}, ..." if len(counts) > shown else some


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    every = [heads, *rows]
    widths = [max(len(row[column]) for row in every) for column in range(len(heads))]
    lines = ("  ".join(text.ljust(n) for text, n in zip(row, widths, strict=True)) for row in every)
    return "\n".join(line.rstrip() for line in lines)


def tables_json(measured: MaskingCounts) -> dict[str, Any]:
    """Return all tables as a JSON object."""
    return asdict(measured)

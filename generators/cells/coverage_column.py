"""One column of a covering array: the values that its cases were offered and took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

Value = int
"""A value of a dimension, represented by its number in the op's coverage."""

Pair = int
"""Two values of different dimensions as one number, the smaller value first.

It is computed inline, because function calls for it took a fifth of the time of planning.
"""

Triple = tuple[Value, Value, Value]
"""Three values of different dimensions, in the order of their numbers."""

TRIES = 3
"""Number of attempts at a value or a pair before it counts as unreachable."""


@dataclass(slots=True)
class Column:
    """One column of an op: the values its cases were offered and took.

    `options` maps the values of each dimension to the index of the case that was first offered
    each; `offered_pairs` does so for pairs. `aimed` is the case that was first planned for a value
    or a pair. `offers` are the numbers of joint offers, `met` has each with the values taken
    before, as one number. `missing_values`,
    `missing_pairs` (not taken in the column) and `new_pairs` (not taken in the op) map an offer to
    the values taken before it. `rows` are the values of each planned case, `plans` its planned
    values. `triples` are the triples of the rows, and `to_combine` the next triples to aim at, when
    no other aim is left.
    """

    options: dict[str, dict[Value, int]] = field(default_factory=dict[str, dict[Value, int]])
    offered_pairs: dict[Pair, int] = field(default_factory=dict[Pair, int])
    aimed: dict[Pair, int] = field(default_factory=dict[Pair, int])
    values: set[Value] = field(default_factory=set[Value])
    pairs: set[Pair] = field(default_factory=set[Pair])
    missing_values: dict[Value, tuple[Value, ...]] = field(
        default_factory=dict[Value, tuple[Value, ...]]
    )
    missing_pairs: dict[Pair, tuple[Value, ...]] = field(
        default_factory=dict[Pair, tuple[Value, ...]]
    )
    new_pairs: dict[Pair, tuple[Value, ...]] = field(default_factory=dict[Pair, tuple[Value, ...]])
    offers: set[int] = field(default_factory=set[int])
    met: set[int] = field(default_factory=set[int])
    tries: dict[Pair, int] = field(default_factory=dict[Pair, int])
    rows: list[tuple[Value, ...]] = field(default_factory=list[tuple[Value, ...]])
    plans: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    triples: set[Triple] = field(default_factory=set[Triple])
    to_combine: Iterator[Triple] | None = None


def last_contributing_case(column: Column, count: int) -> int:
    """Return the last of a column's first cases that contributes to its coverage.

    Such a case takes or is offered a value for the first time, or first aims at a value that it
    never takes.
    """
    last = 0
    met: set[Value] = set()
    for index, row in enumerate(column.rows[:count]):
        if not met.issuperset(row):
            met.update(row)
            last = index
    offered = [index for options in column.options.values() for index in options.values()]
    never = {value for options in column.options.values() for value in options} - met
    vain = [index for value, index in column.aimed.items() if value in never]
    return max((last, *(index for index in (*offered, *vain) if index < count)))


def values_offered_until(last: int, *firsts: Mapping[int, int]) -> list[int]:
    """Return the values first offered by a case up to index `last`."""
    return [one for first in firsts for one, index in first.items() if index <= last]


def pop_missing(
    column: Column, missing: dict[int, tuple[Value, ...]], aimed: int
) -> tuple[Value, ...]:
    """Return the values taken before a missing value or pair, which is aimed at now.

    It moves to the end of the queue, until it is covered or was attempted often enough.
    """
    before = missing.pop(aimed)
    column.aimed.setdefault(aimed, len(column.plans))
    column.tries[aimed] = column.tries.get(aimed, 0) + 1
    if column.tries[aimed] < TRIES:
        missing[aimed] = before
    return before


def rotate_pairs(
    pairs: dict[Pair, tuple[Value, ...]], number: int, count: int
) -> dict[Pair, tuple[Value, ...]]:
    """Return the pairs rotated for each of `count` columns, so that they start at different
    pairs."""
    items = list(pairs.items())
    start = len(items) * number // count
    return dict(items[start:] + items[:start])

"""The columns of the matrix op x element type in which an op has cells, and its near misses."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from generators.case.columns import INVALID, Column
from generators.invalid.misses import Miss
from generators.invalid.table import NEAR_MISSES, near_misses
from generators.quantized.columns import quantized_columns
from reference.ops.table import OPS


def columns_of(op: str) -> tuple[Column, ...]:
    """Return the columns in which an op has cells."""
    misses = (INVALID,) if op in NEAR_MISSES else ()
    return (*OPS[op].element_types, *quantized_columns(op), *misses)


@cache
def ordered_misses(op: str) -> tuple[Miss, ...]:
    """Return an op's near misses: the first of each id, then the second of each, and so on."""
    by_id: dict[str, list[Miss]] = defaultdict(list)
    for miss in near_misses(op):
        by_id[miss[0]].append(miss)
    longest = max(map(len, by_id.values()), default=0)
    return tuple(
        misses[turn] for turn in range(longest) for misses in by_id.values() if turn < len(misses)
    )


def miss_count(op: str, per_id: int) -> int:
    """Return the number of `ordered_misses` with at most `per_id` of each id."""
    seen: dict[str, int] = defaultdict(int)
    for id_, _ in ordered_misses(op):
        seen[id_] += 1
    return sum(min(count, per_id) for count in seen.values())

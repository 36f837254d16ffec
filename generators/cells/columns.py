"""The columns of the matrix op x element type: the element types, quantized ones, near misses.

A cell of column `invalid` holds an op's near misses: programs that a backend must refuse.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache

from generators.case.quantized_types import QUANTIZED_COLUMNS, QuantizedColumn
from generators.invalid.misses import Miss
from generators.invalid.table import NEAR_MISSES, near_misses
from generators.quantized.columns import quantized_columns
from reference.ir.types import ElementType, element_type
from reference.ops.table import OPS


@dataclass(frozen=True, slots=True)
class Invalid:
    """The column of the near misses."""

    name: str = "invalid"

    def __str__(self) -> str:
        return self.name


INVALID = Invalid()

Column = ElementType | QuantizedColumn | Invalid
"""What a cell is about, besides its op and its backend."""


def columns_of(op: str) -> tuple[Column, ...]:
    """The columns in which an op has cells."""
    misses = (INVALID,) if op in NEAR_MISSES else ()
    return (*OPS[op].element_types, *quantized_columns(op), *misses)


def column(name: str) -> Column:
    """The column of that name.

    Raises:
        KeyError: when there is none.
    """
    if name in QUANTIZED_COLUMNS:
        return QUANTIZED_COLUMNS[name]
    return INVALID if name == INVALID.name else element_type(name)


@cache
def ordered_misses(op: str) -> tuple[Miss, ...]:
    """An op's near misses, one of each id first, then a second of each, and so on."""
    by_id: dict[str, list[Miss]] = defaultdict(list)
    for miss in near_misses(op):
        by_id[miss[0]].append(miss)
    longest = max(map(len, by_id.values()), default=0)
    return tuple(
        misses[turn] for turn in range(longest) for misses in by_id.values() if turn < len(misses)
    )


@cache
def miss_count(op: str, per_id: int) -> int:
    """How many of `ordered_misses` there are with at most `per_id` of each id."""
    seen: dict[str, int] = defaultdict(int)
    for id_, _ in ordered_misses(op):
        seen[id_] += 1
    return sum(min(count, per_id) for count in seen.values())

"""Planned cases: the cases of a cell by seed and index.

A case depends only on (op, column, seed, index). Its values of named dimensions come from the op's
coverage, the other choices from a stream of words (generators/case/stream.py). The Hypothesis
strategies, which shrink failures of a batch, use the same builders.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache

from generators.case.case import Case
from generators.case.choices import Pick
from generators.case.columns import INVALID, Column
from generators.case.quantized_types import QuantizedColumn
from generators.case.stream import key_of, stream
from generators.cells.columns import columns_of
from generators.cells.coverage import Coverage
from generators.cells.coverage_report import CoverageReport
from generators.families.table import builder
from generators.quantized.columns import quantized_case
from reference.ir.types import ElementType

_INPUT_SETS = 5
"""Offset of round-robin choices from case to case: most cases have this many input sets."""


def _picker(key: int, index: int, planned: Mapping[str, str]) -> Pick:
    """Return choices as planned, the others from a separate stream."""
    return stream(key, index, planned, (key >> 100) + index * _INPUT_SETS)


def _key(op: str, column: Column, seed: int) -> int:
    return key_of(f"{op} {column.name} {seed}")


def valid_columns(op: str) -> tuple[ElementType | QuantizedColumn, ...]:
    """Return the columns in which an op has valid programs.

    Raises:
        KeyError: for an op without cases.
    """
    builder(op)
    return tuple(one for one in columns_of(op) if one is not INVALID)  # type: ignore[misc]


@cache
def coverage(op: str, seed: int) -> Coverage:
    """Return the plan of all cells of an op under a seed; its columns are `valid_columns`.

    Raises:
        KeyError: for an op without cases.
    """
    columns = valid_columns(op)

    def build(column: int, index: int, planned: dict[str, str]) -> Pick:
        pick = _picker(_key(op, columns[column], seed), index, planned)
        _build(op, columns[column], pick)
        return pick

    return Coverage(len(columns), build)


def forget_plans() -> None:
    """Discard all plans to free memory; they are made again on demand."""
    coverage.cache_clear()
    needed_cases.cache_clear()


def coverage_report(op: str, seed: int, cases: Mapping[str, Collection[int]]) -> CoverageReport:
    """Return the coverage of an op's cases of these indices, by the name of their column."""
    columns = valid_columns(op)
    names = [column.name for column in columns]
    chosen = {names.index(name): indices for name, indices in cases.items() if name in names}
    return coverage(op, seed).measure(chosen, names)


@cache
def needed_cases(op: str, seed: int, count: int) -> dict[str, int]:
    """Return how many of each column's first `count` cases suffice for the coverage of all.

    Raises:
        KeyError: for an op without cases.
    """
    names = [column.name for column in valid_columns(op)]
    return dict(zip(names, coverage(op, seed).count_needed(count), strict=True))


def _build(op: str, column: ElementType | QuantizedColumn, pick: Pick) -> Case:
    if isinstance(column, QuantizedColumn):
        return quantized_case(op, column, pick)
    return builder(op)(column, pick)


def case(
    op: str,
    column: ElementType | QuantizedColumn,
    seed: int,
    index: int,
    planned: Mapping[str, str] | None = None,
) -> Case:
    """Return the case number `index` (from 0) of a cell under a seed.

    `planned` is the result of `plans` for it; without it, the op's cells are planned here up to
    this case, which may take longer than building the case.

    Raises:
        KeyError: for an op without cases.
        ValueError: if the op does not take the element type.
    """
    if planned is None:
        (planned,) = plans(op, column, seed, [index])
    return _build(op, column, _picker(_key(op, column, seed), index, planned))


def plans(
    op: str, column: ElementType | QuantizedColumn, seed: int, indices: Iterable[int]
) -> list[dict[str, str]]:
    """Return the values of the op's dimensions in the cases of these indices, by name.

    Raises:
        KeyError: for an op without cases.
        ValueError: if the op does not take the element type.
    """
    columns = valid_columns(op)
    if column not in columns:
        raise ValueError(f"{op} takes no tensor of {column}")
    number = columns.index(column)
    return [coverage(op, seed).plan_case(number, index) for index in indices]


def cases(
    op: str, column: ElementType | QuantizedColumn, seed: int, count: int, start: int = 0
) -> list[Case]:
    """Return the cases `start` to `start + count - 1` of a cell under a seed.

    Raises:
        KeyError: for an op without cases.
        ValueError: if the op does not take the element type.
    """
    return [case(op, column, seed, start + number) for number in range(count)]

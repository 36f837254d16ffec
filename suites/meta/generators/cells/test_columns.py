"""Columns in which an op has cells, and the order of its near misses."""

from __future__ import annotations

from generators.case.columns import INVALID
from generators.cells.columns import columns_of, miss_count, ordered_misses
from generators.invalid.table import NEAR_MISSES, near_misses
from generators.quantized.columns import quantized_columns
from reference.ops.table import OPS


def test_element_types_then_quantized_types_then_near_misses() -> None:
    quantized = quantized_columns("add")
    assert quantized
    assert columns_of("add") == (*OPS["add"].element_types, *quantized, INVALID)


def test_an_op_without_near_misses_has_no_such_column() -> None:
    without = OPS.keys() - NEAR_MISSES.keys()
    assert without
    assert not any(INVALID in columns_of(op) for op in without)


def test_each_constraint_comes_once_before_any_comes_twice() -> None:
    ids = [id_ for id_, _ in ordered_misses("add")]
    distinct = list(dict.fromkeys(ids))
    assert ids[: len(distinct)] == distinct
    turns = [ids[: number + 1].count(id_) for number, id_ in enumerate(ids)]
    assert turns == sorted(turns)


def test_all_near_misses_are_there() -> None:
    given, ordered = list(near_misses("add")), ordered_misses("add")
    assert sorted(program.digest for _, program in given) == sorted(p.digest for _, p in ordered)


def test_the_number_with_so_many_of_each_constraint() -> None:
    ids = [id_ for id_, _ in ordered_misses("add")]
    distinct = len(set(ids))
    assert miss_count("add", 0) == 0
    assert miss_count("add", 1) == distinct
    assert miss_count("add", len(ids)) == len(ids)
    assert miss_count("add", 2) == sum(min(ids.count(id_), 2) for id_ in set(ids))

"""Sorts: lengths along the sorted dimension, bounded size, one value as several operands."""

from __future__ import annotations

from math import prod
from typing import Any

from generators.families.sorting import BUILDERS
from suites.meta.support.built_cases import assert_valid, built, sizes, subjects

SORT = BUILDERS["sort"]


def length(operation: Any) -> int:
    return sizes(operation)[operation.attribute("dimension")]


def test_lengths_at_thresholds_of_kernels() -> None:
    cases = built(SORT, "si32", 300, {"length chosen": "yes"})
    found = {length(one) for one in subjects(cases)}
    assert {2, 16, 17, 32, 33, 128, 257, 1025} <= found
    assert_valid(cases[:40])


def test_dimensions_are_counted_from_either_end() -> None:
    found = {one.attribute("dimension") for one in subjects(built(SORT, "f32", 200))}
    assert min(found) < 0 < max(found)  # type: ignore[type-var,operator]
    assert {one.attribute("is_stable") for one in subjects(built(SORT, "f32"))} == {True, False}


def test_operands_are_bounded_in_the_other_dimensions() -> None:
    for one in subjects(built(SORT, "si32", 300)):
        assert prod(sizes(one)) <= max(5000, length(one) * 2 ** (len(sizes(one)) - 1))


def test_one_value_may_be_several_operands() -> None:
    cases = built(SORT, "f32", 300)
    shared = [one for one in subjects(cases) if len(set(one.operands)) < len(one.operands)]
    assert shared
    assert all(one.operands[0] == one.operands[1] for one in shared)

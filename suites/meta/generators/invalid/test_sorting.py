"""Near misses of sort: its dimension, and functions that are no comparators."""

from __future__ import annotations

import pytest

from generators.invalid import sorting
from suites.meta.support.near_misses import assert_separate, attributes, subjects


@pytest.mark.parametrize("op", sorting.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(sorting, op)


def test_dimensions_just_outside_of_the_operand() -> None:
    """Two dimensions are -2 to 1; a scalar has none."""
    assert {2, -3} <= set(attributes(sorting, "sort", "C4", "dimension"))
    ranks = {one.operands[0].type.rank for one in subjects(sorting, "sort", "C4")}  # type: ignore[union-attr]
    assert ranks == {0, 2}


def test_a_comparator_of_all_elements_of_one_side_first() -> None:
    """Its types are right in number, but not in order."""
    orders = {
        tuple(str(value.type) for value in one.regions[0].arguments)
        for one in subjects(sorting, "sort", "C5")
    }
    assert ("tensor<f32>", "tensor<si32>", "tensor<f32>", "tensor<si32>") in orders


def test_nothing_to_sort() -> None:
    assert [one.operands for one in subjects(sorting, "sort", "C1")] == [()]

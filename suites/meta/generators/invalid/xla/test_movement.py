"""Near misses of XlaBuilder's data movement."""

from __future__ import annotations

import pytest

from generators.invalid.xla import movement
from suites.meta.support.near_misses import assert_separate, attributes


@pytest.mark.parametrize("op", movement.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(movement, op)


def test_an_index_runs_along_a_dimension_that_there_is_not() -> None:
    found = attributes(movement, "Iota", "P1", "iota_dimension")
    shapes = attributes(movement, "Iota", "P1", "shape")
    ranks = [len(shape.dimensions) for shape in shapes]
    assert any(index == rank for index, rank in zip(found, ranks, strict=True))


def test_dimensions_that_are_not_consecutive() -> None:
    assert any(
        len(one) > 1 and sorted(one) != list(range(one[0], one[0] + len(one)))
        for one in attributes(movement, "Collapse", "P1", "dimensions")
    )


def test_interior_padding_is_negative() -> None:
    assert attributes(movement, "Pad", "P3", "padding_config") == [((2, 2, -1),)]

"""Near misses of CHLO's top_k."""

from __future__ import annotations

from generators.invalid.chlo import sorting
from suites.meta.support.near_misses import assert_separate, attributes


def test_each_near_miss_breaks_the_constraint_that_it_names() -> None:
    assert_separate(sorting, "chlo.top_k")


def test_numbers_of_elements_just_outside_of_a_row() -> None:
    assert attributes(sorting, "chlo.top_k", "P2", "k") == [4, -1, 1]

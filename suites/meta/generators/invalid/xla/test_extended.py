"""Near misses of TopK and Scan."""

from __future__ import annotations

import pytest

from generators.invalid.xla import extended
from suites.meta.support.near_misses import assert_separate, attributes


@pytest.mark.parametrize("op", extended.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(extended, op)


def test_numbers_of_elements_just_outside_of_a_row() -> None:
    assert attributes(extended, "TopK", "P2", "k") == [4, -1, 1]

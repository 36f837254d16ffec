"""Near misses of ragged products."""

from __future__ import annotations

from generators.invalid import ragged
from suites.meta.support.near_misses import assert_separate


def test_each_near_miss_breaks_the_constraint_that_it_names() -> None:
    assert_separate(ragged, "chlo.ragged_dot")

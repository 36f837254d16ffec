"""Near misses of random numbers: distributions, sizes, states."""

from __future__ import annotations

import pytest

from generators.invalid import random
from suites.meta.support.near_misses import assert_separate, attributes, shapes


@pytest.mark.parametrize("op", random.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(random, op)


def test_distributions_that_there_are_not() -> None:
    assert "BERNOULLI" in attributes(random, "rng", "I4", "rng_distribution")


def test_normal_numbers_are_floats() -> None:
    assert set(attributes(random, "rng", "C2", "rng_distribution")) == {"NORMAL"}


def test_the_result_has_the_sizes_of_the_operand() -> None:
    """The sizes are 2 and 3: the same number of elements will not do."""
    assert (6,) in shapes(random, "rng", "C3", -1)
    assert (2, 3) not in shapes(random, "rng", "C3", -1)[:4]

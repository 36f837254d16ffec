"""Near misses of ops whose sizes are operands."""

from __future__ import annotations

import pytest

from generators.invalid import dynamism
from suites.meta.support.near_misses import assert_separate, shapes


@pytest.mark.parametrize("op", dynamism.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(dynamism, op)


def test_one_size_too_few_and_one_too_many() -> None:
    """The result has three dimensions."""
    assert {(2,), (4,)} <= set(shapes(dynamism, "dynamic_broadcast_in_dim", "C7", 1))


def test_sizes_have_one_dimension() -> None:
    assert {(), (1, 3)} <= set(shapes(dynamism, "dynamic_broadcast_in_dim", "I2", 1))

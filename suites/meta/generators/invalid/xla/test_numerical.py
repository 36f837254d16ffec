"""Near misses of XlaBuilder's random numbers."""

from __future__ import annotations

import pytest

from generators.invalid.xla import numerical
from suites.meta.support.near_misses import assert_separate, shapes


@pytest.mark.parametrize("op", numerical.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(numerical, op)


@pytest.mark.parametrize("op", ["RngNormal", "RngUniform"])
def test_each_parameter_is_missed_in_isolation(op: str) -> None:
    pairs = zip(shapes(numerical, op, "P1"), shapes(numerical, op, "P1", 1), strict=True)
    assert set(pairs) == {((1,), ()), ((), (1,))}

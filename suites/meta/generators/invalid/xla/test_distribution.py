"""Near misses of XlaBuilder's collectives."""

from __future__ import annotations

import pytest

from generators.invalid.xla import distribution
from suites.meta.support.near_misses import assert_separate, programs


@pytest.mark.parametrize("op", distribution.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(distribution, op)


def test_a_reduction_of_nothing_runs_in_replicas() -> None:
    (program,) = programs(distribution, "AllReduce", "P1")
    assert program.process_grid == (2, 1)
    assert not program.main.arguments

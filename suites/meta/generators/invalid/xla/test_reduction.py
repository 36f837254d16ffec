"""Near misses of XlaBuilder's windows."""

from __future__ import annotations

import pytest

from generators.invalid.xla import reduction
from suites.meta.support.near_misses import assert_separate, shapes


@pytest.mark.parametrize("op", reduction.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(reduction, op)


def test_inputs_of_two_shapes() -> None:
    assert shapes(reduction, "ReduceWindow", "P2") != shapes(reduction, "ReduceWindow", "P2", 1)

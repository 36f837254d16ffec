"""Near misses of elementwise ops: shapes, types, codes."""

from __future__ import annotations

import pytest

from generators.invalid import elementwise
from suites.meta.support.near_misses import assert_separate, shapes


@pytest.mark.parametrize("op", elementwise.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(elementwise, op)


def test_shapes_that_broadcasting_would_accept_are_refused() -> None:
    """C1 of abs: operand and result have the same shape."""
    results = shapes(elementwise, "abs", "C1", -1)
    assert {(1, 3), (), (2, 3, 1)} <= set(results)
    assert (2, 3) not in results


def test_ids_of_operands_that_must_be_alike_are_inseparable() -> None:
    assert elementwise.INSEPARABLE["subtract"] == ("I1", "I2")
    assert "add" not in elementwise.INSEPARABLE

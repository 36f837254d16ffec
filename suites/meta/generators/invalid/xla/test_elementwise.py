"""Near misses of XlaBuilder's broadcasts."""

from __future__ import annotations

import pytest

from generators.invalid.xla import elementwise
from suites.meta.support.near_misses import assert_separate, attributes, shapes


@pytest.mark.parametrize("op", elementwise.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(elementwise, op)


def test_an_operand_of_lower_rank_needs_dimensions() -> None:
    pairs = zip(shapes(elementwise, "Add", "P2"), shapes(elementwise, "Add", "P2", 1), strict=True)
    assert {((2, 3), (3,)), ((3,), (2, 3))} <= set(pairs)


def test_dimensions_out_of_order_out_of_range_or_too_many() -> None:
    found = attributes(elementwise, "Add", "P3", "broadcast_dimensions")
    assert set(found) == {(2,), (0, 1), (-2,), (1, 0)}


def test_only_binary_ops_have_conditions() -> None:
    assert "Neg" not in elementwise.NEAR_MISSES
    assert "LtTotalOrder" in elementwise.NEAR_MISSES

"""Near misses of products with scales: blocks that do not fit."""

from __future__ import annotations

import pytest

from generators.invalid.xla import scaled
from suites.meta.support.near_misses import assert_separate, attributes, shapes


@pytest.mark.parametrize("op", scaled.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(scaled, op)


def test_a_scale_has_a_divisor_of_each_size() -> None:
    """An operand of 2 x 6 may have a scale of 2 x 3, but not of 2 x 4 or 4 x 3."""
    assert {(2, 4), (4, 3), (0, 3)} <= set(shapes(scaled, "ScaledDot", "P4", 1))


def test_dimensions_that_contract_other_sizes_or_are_none() -> None:
    numbers = attributes(scaled, "ScaledDot", "P1", "dimension_numbers")
    assert {one.lhs_contracting_dimensions for one in numbers} == {(1,), (2,)}

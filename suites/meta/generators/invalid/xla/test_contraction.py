"""Near misses of XlaBuilder's products and convolutions."""

from __future__ import annotations

import pytest

from generators.invalid.xla import contraction
from suites.meta.support.near_misses import assert_separate, attributes


@pytest.mark.parametrize("op", contraction.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(contraction, op)


def test_a_preferred_type_does_not_excuse_operands_of_two_types() -> None:
    preferred = attributes(contraction, "Dot", "P3", "preferred_element_type")
    assert set(preferred) == {None, "f32"}

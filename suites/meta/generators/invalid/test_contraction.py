"""Near misses of products: dimensions, sizes, types, precisions."""

from __future__ import annotations

import pytest

from generators.invalid import contraction
from suites.meta.support.near_misses import assert_separate, subjects


@pytest.mark.parametrize("op", contraction.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(contraction, op)


def test_contracted_sizes_differ_by_a_size_that_broadcasting_would_accept() -> None:
    """C10: contracting dimensions have the same size."""
    sizes = [
        [value.type.shape for value in one.operands]  # type: ignore[union-attr]
        for one in subjects(contraction, "dot_general", "C10")
    ]
    assert sizes
    assert all(left != right for left, right in sizes)

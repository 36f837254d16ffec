"""Near misses of decompositions and solutions: squares, batches, element types."""

from __future__ import annotations

import pytest

from generators.invalid import linear_algebra
from suites.meta.support.near_misses import assert_separate, shapes


@pytest.mark.parametrize("op", linear_algebra.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(linear_algebra, op)


def test_matrices_that_are_almost_square() -> None:
    found = shapes(linear_algebra, "cholesky", "C3")
    assert {(3, 4), (4, 3), (1, 3)} <= set(found)
    assert all(shape[-1] != shape[-2] for shape in found)


def test_a_batch_is_not_broadcast() -> None:
    pairs = zip(shapes(linear_algebra, "triangular_solve", "C2"),
                shapes(linear_algebra, "triangular_solve", "C2", 1), strict=True)  # fmt: skip
    assert ((3, 3), (2, 3, 4)) in pairs

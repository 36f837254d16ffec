"""Near misses of batch normalizations: the feature dimension, and sizes along it."""

from __future__ import annotations

import pytest

from generators.invalid import normalization
from suites.meta.support.near_misses import assert_separate, attributes, shapes


@pytest.mark.parametrize("op", normalization.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(normalization, op)


@pytest.mark.parametrize("op", normalization.NEAR_MISSES)
def test_feature_dimensions_just_outside_of_the_operand(op: str) -> None:
    indices = set(attributes(normalization, op, "C1", "feature_index"))
    (rank,) = {len(shape) for shape in shapes(normalization, op, "C1")}
    assert {-1, rank} <= indices
    assert not any(0 <= index < rank for index in indices)


def test_the_scale_has_the_size_of_another_dimension() -> None:
    """Features are dimension 1."""
    for operand, scale in zip(
        shapes(normalization, "batch_norm_training", "C3"),
        shapes(normalization, "batch_norm_training", "C3", 1), strict=True,
    ):  # fmt: skip
        assert scale != (operand[1],)

"""Near misses of data movement: indices just out of range, sizes off by one."""

from __future__ import annotations

import pytest

from generators.invalid import data_movement
from suites.meta.support.near_misses import assert_separate, attributes, shapes


@pytest.mark.parametrize("op", data_movement.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(data_movement, op)


def test_scales_along_a_dimension() -> None:
    of = data_movement.quantized_type(2, 3, axis=1).element_type
    assert of == data_movement.steps(3, axis=1)
    assert data_movement.steps(3, axis=1).scales == (0.5, 1.0, 1.5)
    assert data_movement.steps(1).quantization_dimension is None


def test_dimensions_just_outside_of_the_result() -> None:
    """The result has three dimensions."""
    found = attributes(data_movement, "broadcast_in_dim", "C3", "broadcast_dimensions")
    assert {3, -1} <= {dimension for one in found for dimension in one}


def test_a_size_of_one_is_not_repeated_the_other_way() -> None:
    """C5: a dimension of the operand is 1, or has the size of the result."""
    assert (0,) in shapes(data_movement, "broadcast_in_dim", "C5")
    assert (1,) in shapes(data_movement, "broadcast_in_dim", "C5", -1)


def test_limits_of_a_slice_end_one_too_far() -> None:
    sizes = shapes(data_movement, "slice", "C3")
    limits = attributes(data_movement, "slice", "C3", "limit_indices")
    over = [
        max(b - a for a, b in zip(*pair, strict=True)) for pair in zip(sizes, limits, strict=True)
    ]
    assert 1 in over


def test_a_permutation_repeats_or_leaves_the_range() -> None:
    found = attributes(data_movement, "transpose", "C2", "permutation")
    assert any(len(set(one)) < len(one) for one in found)

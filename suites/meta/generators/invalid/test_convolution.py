"""Near misses of convolutions, with padding as an attribute and as an operand."""

from __future__ import annotations

import pytest

from generators.invalid import convolution
from suites.meta.support.near_misses import assert_separate, attributes, subjects


@pytest.mark.parametrize("op", convolution.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(convolution, op)


def test_both_convolutions_share_their_constraints() -> None:
    """The dynamic one has its padding as an operand, and all others alike."""
    static, dynamic = (
        {id_ for id_, _ in convolution.NEAR_MISSES[op](op)}
        for op in ("convolution", "dynamic_conv")
    )
    assert len(static & dynamic) > 25


def test_strides_that_are_not_positive() -> None:
    """C3: all strides are positive; 0 is the first that is not."""
    strides = attributes(convolution, "convolution", "C3", "window_strides")
    assert any(0 in one for one in strides)
    assert all(min(one) < 1 for one in strides)


def test_groups_must_be_positive() -> None:
    counts = attributes(convolution, "convolution", "C21", "feature_group_count")
    assert 0 in counts
    assert all(len(one.operands) == 2 for one in subjects(convolution, "convolution", "C21"))

"""Near misses of gathers and scatters: roles of dimensions, and sizes."""

from __future__ import annotations

import pytest

from generators.invalid import gathering
from generators.invalid.data_movement import quantized_type
from suites.meta.support.near_misses import assert_separate, attributes, shapes


@pytest.mark.parametrize("op", gathering.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(gathering, op)


def test_a_slice_is_larger_than_the_operand_by_one() -> None:
    sizes = shapes(gathering, "gather", "C21")
    slices = attributes(gathering, "gather", "C21", "slice_sizes")
    over = [
        max(b - a for a, b in zip(*pair, strict=True)) for pair in zip(sizes, slices, strict=True)
    ]
    assert 1 in over


def test_promises_and_batches_are_missed_for_both() -> None:
    gathers, scatter_case = (
        {id_ for id_, _ in gathering.NEAR_MISSES[op](op)} for op in ("gather", "dynamic_gather")
    )
    assert len(gathers & scatter_case) > 15


def test_quantized_elements_of_another_shape() -> None:
    of = quantized_type(2, 3)
    found = gathering.quantized_like(of, (4,))
    assert (found.shape, found.element_type) == ((4,), of.element_type)

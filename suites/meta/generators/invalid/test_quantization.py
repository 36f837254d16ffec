"""Near misses of quantization and its inverse."""

from __future__ import annotations

import pytest

from generators.invalid import quantization
from suites.meta.support.near_misses import assert_separate, shapes


@pytest.mark.parametrize("op", quantization.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(quantization, op)


@pytest.mark.parametrize("op", quantization.NEAR_MISSES)
def test_shapes_of_operand_and_result_differ(op: str) -> None:
    pairs = zip(shapes(quantization, op, "C1"), shapes(quantization, op, "C1", -1), strict=True)
    assert any(before != after for before, after in pairs)

"""Near misses of folds: bodies that do not fold, windows that are none."""

from __future__ import annotations

import pytest

from generators.invalid import reduction
from reference.ir.types import element_type
from suites.meta.support.near_misses import assert_separate, attributes, subjects


@pytest.mark.parametrize("op", reduction.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(reduction, op)


F16, F32, SI32 = (element_type(name) for name in ("f16", "f32", "si32"))


def test_a_body_adds_its_inputs_pairwise() -> None:
    body = reduction.adder(F32, SI32)
    pairs = [[value.name for value in one.operands] for one in body.operations[:2]]
    first, second = ([argument.name for argument in body.arguments[n::2]] for n in range(2))
    assert pairs == [first, second]
    assert [
        value.type.element
        for value in reduction.adder(F32, returned=(SI32,)).operations[-1].operands
    ] == [SI32]  # type: ignore[union-attr]


def test_bad_bodies_differ_from_a_good_one_in_one_respect() -> None:
    bodies = list(reduction.bad_bodies(F32, F16, SI32))
    assert reduction.adder(F32) not in bodies
    assert reduction.adder(F16) in bodies
    assert len(set(bodies)) == len(bodies)


def test_window_sizes_that_are_not_positive() -> None:
    assert all(
        min(one) < 1 for one in attributes(reduction, "reduce_window", "C5", "window_dimensions")
    )


def test_a_dimension_just_outside_of_the_input() -> None:
    ranks = [one.operands[0].type.rank for one in subjects(reduction, "reduce", "C4")]  # type: ignore[union-attr]
    dimensions = attributes(reduction, "reduce", "C4", "dimensions")
    assert any(rank in one for rank, one in zip(ranks, dimensions, strict=True))
    assert any(-1 in one for one in dimensions)

"""Near misses of branches, loops, tuples and calls."""

from __future__ import annotations

import pytest

from generators.invalid import control_flow
from reference.ir.program import TensorType
from reference.ir.types import element_type
from suites.meta.support.near_misses import assert_separate, subjects


@pytest.mark.parametrize("op", control_flow.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(control_flow, op)


def test_types_that_are_easily_confused() -> None:
    of = TensorType((2, 3), element_type("f32"))
    assert control_flow.similar_types(of) == (
        TensorType((2, 3), element_type("f64")),
        TensorType((2, 4), element_type("f32")),
        TensorType((2, 3, 1), element_type("f32")),
    )
    other, *_ = control_flow.similar_types(TensorType((2,), element_type("i1")))
    assert other.element == element_type("f32")


def test_an_index_of_an_element_is_past_the_last() -> None:
    found = subjects(control_flow, "get_tuple_element", "C1")
    sizes = [len(one.operands[0].type.types) for one in found]  # type: ignore[union-attr]
    indices = [one.attribute("index") for one in found]
    assert any(index == size for index, size in zip(indices, sizes, strict=True))

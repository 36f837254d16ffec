"""Unspecified results of a body's operations are found at any depth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from generators.regions import forms
from generators.regions.bodies import BodyBuilder
from reference.interpreter.evaluate import body_of
from reference.ir.program import Region, Value
from reference.ir.types import element_type
from reference.unspecified.bodies import unspecified_in_lanes

I1, OF = element_type("i1"), element_type("f8E4M3FNUZ")
"""A type whose only NaN has no sign, so that its place in total order is undefined."""

LEFT = np.array([1.0, np.nan, np.nan, 3.0]).astype(OF.storage)
RIGHT = np.array([2.0, 1.0, np.nan, np.nan]).astype(OF.storage)


def compare_total(block: BodyBuilder, a: Value, b: Value) -> Value:
    given = {"comparison_direction": "LT", "compare_type": "TOTALORDER"}
    return block.op("compare", a, b, to=I1, **given)


def unspecified_lanes(region: Region) -> list[bool]:
    found = np.zeros(LEFT.shape, np.bool_)
    for _, mask in unspecified_in_lanes(body_of(region), (LEFT, RIGHT)):
        found |= mask
    return found.tolist()


@pytest.mark.parametrize("form", [lambda region: region, *forms.FORMS.values()])
def test_a_comparison_is_unspecified_alike_in_all_forms(form: Callable[[Region], Region]) -> None:
    block = BodyBuilder.of(OF, OF)
    region = block.finish_region(compare_total(block, *block.arguments))
    assert unspecified_lanes(form(region)) == [False, True, False, True]


@pytest.mark.parametrize("first", [True, False])
def test_unspecified_results_of_a_branch_count_if_it_is_taken(first: bool) -> None:
    block = BodyBuilder.of(OF, OF)
    a, b = block.arguments
    branch, other = BodyBuilder((), prefix="t"), BodyBuilder((), prefix="f")
    less = compare_total(branch, a, b)
    regions = branch.finish_region(less), other.finish_region(other.constant(1, I1))
    is_number = block.compare(a, a, "EQ")
    (chosen,) = block.ops("if", (is_number,), (less.type,), regions=regions[:: 1 if first else -1])
    assert unspecified_lanes(block.finish_region(chosen)) == [False, not first, False, first]

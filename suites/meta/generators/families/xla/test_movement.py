"""XlaBuilder's data movement: the page's attributes, orders of dimensions, dynamic sizes."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from generators.families.dynamism import UNOBSERVED
from generators.families.xla.movement import BUILDERS
from suites.meta.support.built_cases import assert_valid, built, operations, sizes, subjects


@pytest.mark.parametrize("op", BUILDERS)
def test_cases_of_every_op_are_valid(op: str) -> None:
    assert_valid(built(BUILDERS[op], "f32", 8))


def test_padding_is_listed_by_dimension() -> None:
    for one in subjects(built(BUILDERS["Pad"], "f32", 10)):
        config: Any = one.attribute("padding_config")
        assert len(config) == len(sizes(one))
        assert all(len(row) == 3 and row[2] >= 0 for row in config)


def test_dimensions_that_are_merged_are_consecutive() -> None:
    found: Any = [
        one.attribute("dimensions") for one in subjects(built(BUILDERS["Collapse"], "f32", 80))
    ]
    assert () in found
    assert any(len(one) > 1 for one in found)
    assert all(list(one) == list(range(one[0], one[0] + len(one))) for one in found if one)


@pytest.mark.parametrize(
    ("kind", "holds"),
    [
        ("another order", lambda before, after: after == before[::-1]),
        ("in one", lambda before, after: after == (prod(before),)),
        ("as it is", lambda before, after: after == before),
        ("with ones", lambda before, after: after == (1, *before, 1)),
    ],
)
def test_new_shapes(kind: str, holds: Any) -> None:
    for op in ("Reshape (ordered)", "DynamicReshape"):
        cases = built(BUILDERS[op], "f32", 15, {"new shape": kind, "observation": UNOBSERVED})
        assert all(holds(sizes(one), sizes(one, -1)) for one in subjects(cases))


def test_orders_of_dimensions() -> None:
    found: Any = [
        one.attribute("dimensions")
        for one in subjects(built(BUILDERS["Reshape (ordered)"], "f32", 120))
    ]
    assert None in found
    assert any(
        one is not None and len(one) > 1 and one == tuple(range(len(one)))[::-1] for one in found
    )


def test_a_dynamic_size_stays_below_its_bound() -> None:
    cases = built(BUILDERS["DynamicReshape"], "f32", 120)
    cut = [case for case in cases if operations([case], "set_dimension_size")]
    assert cut
    dynamic: Any = [one.attribute("dims_are_dynamic") for one in operations(cut, "DynamicReshape")]
    assert all(any(one) for one in dynamic)

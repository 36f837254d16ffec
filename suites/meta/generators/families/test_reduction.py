"""Reductions, windows, and maps: bodies, init values, padding."""

from __future__ import annotations

from typing import Any

import pytest

from generators.families.reduction import BUILDERS, monoid, padding_of
from reference.ir.types import element_type
from suites.meta.support.built_cases import assert_valid, built, operations, pick_of, subjects


@pytest.mark.parametrize("op", BUILDERS)
def test_every_case_is_valid(op: str) -> None:
    assert_valid(built(BUILDERS[op], "f32", 25))


def bodies(of: str = "bf16", *, single: bool = False, **planned: str) -> list[Any]:
    return [monoid(element_type(of), pick_of(seed, planned), single=single) for seed in range(60)]


def test_a_body_has_an_identity_for_each_input() -> None:
    drawn = bodies()
    assert all(len(one.identity) == len(one.inputs) for one in drawn)
    assert {len(one.inputs) for one in drawn} > {1}
    assert {len(one.inputs) for one in bodies(single=True)} == {1}


def test_a_promoted_body_computes_in_a_wider_type() -> None:
    for one in bodies(body="promoted"):
        (of,) = {value.type.element for value in one.region.operations[0].results}
        assert of.bits > 16


def test_padding_is_a_constant_of_pairs() -> None:
    assert padding_of([(1, -2), (3, 4)]).array.tolist() == [[1, -2], [3, 4]]
    assert padding_of([]).type.shape == (0, 2)


def test_dimensions_from_none_to_all() -> None:
    counts = {
        (len(one.attribute("dimensions")), one.operands[0].type.rank)  # type: ignore[arg-type, union-attr]
        for one in operations(built(BUILDERS["reduce"], "f32", 150), "reduce")
    }
    assert {(0, 1), (1, 1), (1, 2), (2, 2), (3, 3)} <= counts


def test_windows_with_strides_dilations_and_padding_of_either_sign() -> None:
    windows = [
        one for one in subjects(built(BUILDERS["reduce_window"], "f32", 150))
        if one.name == "reduce_window"
    ]  # fmt: skip
    for name in ("window_strides", "base_dilations", "window_dilations"):
        given = [one.attribute(name) or (1,) for one in windows]
        assert {max(one) > 1 for one in given} == {True, False}  # type: ignore[type-var]
    amounts = {
        amount for one in windows if one.attribute("padding") is not None
        for pair in one.attribute("padding").array.tolist() for amount in pair  # type: ignore[union-attr]
    }  # fmt: skip
    assert min(amounts) < 0 < max(amounts)

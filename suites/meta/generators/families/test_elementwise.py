"""Elementwise ops: attributes, types of results, ranks of bounds."""

from __future__ import annotations

import pytest

from generators.families.elementwise import BUILDERS, compare_attributes, precisions
from reference.ir.types import element_type
from reference.ops.table import OPS
from suites.meta.support.built_cases import assert_valid, built, sizes, subjects


@pytest.mark.parametrize("op", BUILDERS)
def test_every_case_is_valid(op: str) -> None:
    of = next(
        name
        for name in ("f32", "si32", "i1", "complex<f32>")
        if element_type(name) in OPS[op].element_types
    )
    assert_valid(built(BUILDERS[op], of, 20))


def test_every_direction_with_every_kind_and_without() -> None:
    floats, integers = (compare_attributes(element_type(name)) for name in ("f32", "si8"))
    assert len(floats) == 6 * 3
    assert len(integers) == 6 * 2
    assert {"comparison_direction": "LT"} in floats
    assert {"comparison_direction": "LT", "compare_type": "TOTALORDER"} in floats


def test_precisions_around_the_types_own() -> None:
    given = precisions(element_type("bf16"))
    assert given[0] == {"exponent_bits": 8, "mantissa_bits": 7}
    assert {one["mantissa_bits"] for one in given} == {0, 1, 6, 7, 8, 9}
    assert {one["exponent_bits"] for one in given} == {1, 2, 5, 7, 8, 9, 10}


def test_a_bitcast_to_another_width_has_one_dimension_more_or_less() -> None:
    for to, ranks in (("f64", -1), ("ui32", 0), ("si8", 1)):
        for one in subjects(built(BUILDERS["bitcast_convert"], "f32", 20, {"to": to})):
            before, after = sizes(one), sizes(one, -1)
            assert len(after) - len(before) == ranks
            assert max(after, before, key=len)[-1:] == {"f64": (2,), "si8": (4,)}.get(
                to, before[-1:]
            )


def test_bounds_are_scalars_or_tensors() -> None:
    for planned, ranks in (("scalar full", (True, False)), ("full scalar", (False, True))):
        cases = built(BUILDERS["clamp"], "f32", 20, {"bounds": planned})
        for one in subjects(cases):
            if sizes(one, 1) != ():
                assert (sizes(one, 0) == (), sizes(one, 2) == ()) == ranks


def test_conversions_reach_every_type() -> None:
    kinds = {str(one.results[0].type) for one in subjects(built(BUILDERS["convert"], "f32", 400))}
    assert len({kind.rsplit("x", 1)[-1] for kind in kinds}) > 20

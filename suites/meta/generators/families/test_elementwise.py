"""Elementwise ops: shapes, attributes, types of results, ranks of bounds, values of constants."""

from __future__ import annotations

import numpy as np
import pytest

from generators.case.types import bitcast_results
from generators.cells.plan import cases
from generators.families.elementwise import BUILDERS, compare_attributes, precisions
from generators.values.contents import profiles_of
from reference.ir.program import Dense
from reference.ir.types import ALL, COMPLEX, ELEMENT_TYPES, FLOATS, INTEGERS, ElementType, to_bits
from suites.meta.support.built_cases import built, sizes, subjects
from suites.meta.support.drawn_cases import (
    ELEMENT_TYPES_OF,
    F16,
    F32,
    F64,
    attributes_of,
    fill_values,
    operation_of,
)


def drawn_profiles(op: str, of: ElementType, count: int) -> set[str]:
    found = cases(op, of, seed=2, count=count)
    return {name for one in found for recipe in one.inputs for name in recipe.profiles}


@pytest.mark.slow
@pytest.mark.parametrize("op", [op for op, types in ELEMENT_TYPES_OF.items() if F32 in types])
def test_every_profile_is_reached_for_floats(op: str) -> None:
    if op not in ("iota", "constant"):
        assert drawn_profiles(op, F32, 200) >= set(profiles_of(F32))


@pytest.mark.parametrize("op", ["add", "exponential", "divide", "abs"])
def test_every_profile_is_reached_for_complex(op: str) -> None:
    assert drawn_profiles(op, COMPLEX[0], 200) >= {*profiles_of(COMPLEX[0]), "axes"}


def test_conversions_reach_every_type_with_values_that_fit() -> None:
    found = cases("convert", F32, seed=1, count=600)
    assert {operation_of(one).results[0].type.element for one in found} == set(ALL)
    names = drawn_profiles("convert", F64, 600)
    assert {f"range_{of.name}" for of in INTEGERS + FLOATS} <= names
    assert {f"ties_{of.name}" for of in FLOATS if of.bits < 64} <= names
    integers = drawn_profiles("convert", ELEMENT_TYPES["si64"], 600)
    assert {"range_si8", "range_ui64", "range_f16", "ties_f32", "ties_f64", "bits"} <= integers


def test_bitcasts_reach_every_result_type() -> None:
    for of in (F32, ELEMENT_TYPES["i1"], ELEMENT_TYPES["f6E2M3FN"], COMPLEX[1]):
        found = cases("bitcast_convert", of, seed=1, count=300)
        reached = {operation_of(one).results[0].type.element for one in found}
        assert reached == set(bitcast_results(of))


def test_a_bitcast_to_another_width_has_one_dimension_more_or_less() -> None:
    for to, ranks, last in (("f64", -1, (2,)), ("ui32", 0, ()), ("si8", 1, (4,))):
        for subject in subjects(built(BUILDERS["bitcast_convert"], "f32", 20, {"to": to})):
            before, after = sizes(subject), sizes(subject, -1)
            assert len(after) - len(before) == ranks
            assert max(after, before, key=len)[-1:] == (last or before[-1:])


@pytest.mark.parametrize("name", ["f32", "complex<f64>", "si8", "ui8", "i1"])
def test_comparisons_reach_every_direction_and_type(name: str) -> None:
    element_type = ELEMENT_TYPES[name]
    found = {attributes_of(case) for case in cases("compare", element_type, seed=1, count=200)}
    assert found == {tuple(sorted(given.items())) for given in compare_attributes(element_type)}
    types = {dict(given).get("compare_type") for given in found}
    assert None in types
    assert ("TOTALORDER" in types) == element_type.is_float
    assert len(found) == 6 * (3 if element_type.is_float else 2)


def test_precisions_reach_the_edges() -> None:
    for of in FLOATS:
        fmt = of.float_format
        bits = [(row["exponent_bits"], row["mantissa_bits"]) for row in precisions(of)]
        assert bits[0] == (fmt.exponent_bits, fmt.mantissa_bits)
        assert {(1, 0), (fmt.exponent_bits + 2, fmt.mantissa_bits + 2)} <= set(bits)
        assert len(set(bits)) == len(bits)
    given = precisions(ELEMENT_TYPES["bf16"])
    assert {one["mantissa_bits"] for one in given} == {0, 1, 6, 7, 8, 9}
    assert {one["exponent_bits"] for one in given} == {1, 2, 5, 7, 8, 9, 10}
    found = {attributes_of(case) for case in cases("reduce_precision", F16, seed=1, count=400)}
    assert len(found) > 0.9 * len(precisions(F16))


def test_bounds_and_predicates_are_scalars_or_tensors() -> None:
    for planned, scalars in (
        ("scalar full", (True, False)), ("full scalar", (False, True)),
        ("scalar scalar", (True, True)), ("full full", (False, False)),
    ):  # fmt: skip
        for subject in subjects(built(BUILDERS["clamp"], "f32", 20, {"bounds": planned})):
            if sizes(subject, 1) != ():
                assert (sizes(subject, 0) == (), sizes(subject, 2) == ()) == scalars
    selects = [operation_of(case) for case in cases("select", F32, seed=1, count=100)]
    assert {op.operands[0].type.rank == 0 for op in selects if op.results[0].type.rank} == {0, 1}


def test_iota_dimensions_and_repeated_operands() -> None:
    iotas = [operation_of(case) for case in cases("iota", F32, seed=1, count=200)]
    assert {op.attribute("iota_dimension") for op in iotas} >= {0, 1, 2, 3, 4}
    twice = cases("subtract", F32, seed=1, count=200)
    assert any(len(set(operation_of(one).operands)) == 1 for one in twice)


def test_clamp_bounds_are_in_order() -> None:
    for of in (F32, ELEMENT_TYPES["si16"], ELEMENT_TYPES["ui16"], ELEMENT_TYPES["f8E4M3FNUZ"]):
        low, high = np.array(fill_values(of, "lower")), np.array(fill_values(of, "upper", seed=8))
        assert not (low > high).any()
        assert len(np.unique(low)) > 20


def test_constants_hold_every_bit_pattern() -> None:
    found = cases("constant", F32, seed=1, count=500)
    values = [operation_of(one).attribute("value") for one in found]
    assert all(isinstance(value, Dense) for value in values)
    bits = {int(b) for value in values for b in to_bits(value.array).reshape(-1)}
    assert {0x7FC00000, 0xFFC00000, 0x7F800001, 0x80000000, 0xFF800000, 1} <= bits
    splats = [v for v in values if v.array.size > 1 and len(set(to_bits(v.array).flat)) == 1]
    assert len(splats) > 10

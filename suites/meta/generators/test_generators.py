"""The generators: deterministic, valid, complete in coverage, and shrinking well."""

import math
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from generators.case.case import InputRecipe
from generators.case.types import bitcast_results
from generators.cells.plan import case, cases
from generators.chains.strategies import STRATEGIES, strategy
from generators.families.elementwise import compare_attributes, precisions
from generators.invalid.table import near_misses
from generators.values.contents import (
    fill,
    materialise,
    profiles_of,
)
from reference.interpreter.evaluate import check
from reference.ir.program import Dense, TensorType
from reference.ir.types import ALL, COMPLEX, ELEMENT_TYPES, FLOATS, INTEGERS, ElementType, to_bits
from suites.meta.support.drawn_cases import (
    ELEMENT_TYPES_OF,
    F16,
    F32,
    F64,
    attributes_of,
    constants_of,
    elements,
    fill_values,
    operation_of,
)

ROOT = Path(__file__).parents[3]


# --- Determinism ---------------------------------------------------------------------------------

_PRINT_DIGEST = """
import hashlib
from generators.cells.plan import cases
from reference.ops.elementwise.elementwise import OPS as ELEMENTWISE
from generators.values.contents import materialise
seen = hashlib.sha256()
for record in ELEMENTWISE:
    op, types = record.name, record.element_types
    for of in types[::3]:
        for case in cases(op, of, 11, 3):
            seen.update(repr(case).encode())
            for array in materialise(case.program, case.inputs[0]):
                seen.update(array.tobytes())
print(seen.hexdigest())
"""


@pytest.mark.slow
def test_the_same_cases_in_every_process() -> None:
    digests: set[str] = set()
    for hash_seed in ("0", "4711"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", _PRINT_DIGEST],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        digests.add(done.stdout)
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("name", "profile", "bits"),
    [
        ("bf16", "moderate", [0xBDE1, 0x3F5D, 0xBFB4]),
        ("f64", "trig", [0xC042106CA491006B, 0x40F76ABF71E57D9B, 0x40728E168D36554A]),
        ("si64", "wide", [0x1745, 0xFFFF88BCDF15809F, 0xFFFFFFFFFFA12EDD]),
        ("f8E4M3FNUZ", "special", [0xC4, 0xC0, 0x40]),
    ],
)
def test_values_do_not_vary_between_versions(name: str, profile: str, bits: list[int]) -> None:
    """The digests of Python 3.11 and numpy 2.4; another version may draw other cases."""
    array = fill(TensorType((3,), ELEMENT_TYPES[name]), profile, 9)
    assert to_bits(array).tolist() == bits


def test_a_case_depends_only_on_seed_and_index() -> None:
    whole = cases("compare", F32, seed=3, count=40)
    assert cases("compare", F32, seed=3, count=15, start=20) == whole[20:35]
    assert case("compare", F32, 3, 39) == whole[39]
    assert cases("compare", F32, seed=4, count=40) != whole
    assert cases("compare", F64, seed=3, count=1) != whole[:1]
    assert pickle.loads(pickle.dumps(whole)) == whole


def test_unknown_cells_are_refused() -> None:
    with pytest.raises(KeyError, match="no cases for op 'sinh'"):
        cases("sinh", F32, 0, 1)
    with pytest.raises(ValueError, match="floor takes no tensor of si32"):
        cases("floor", ELEMENT_TYPES["si32"], 0, 1)
    with pytest.raises(ValueError, match="floor takes no tensor of si32"):
        strategy("floor", ELEMENT_TYPES["si32"])
    with pytest.raises(KeyError, match="no near misses for op 'sinh'"):
        near_misses("sinh")


# --- Validity and coverage -----------------------------------------------------------------------


def test_every_op_has_a_strategy_for_every_admitted_type() -> None:
    assert set(STRATEGIES) >= set(ELEMENT_TYPES_OF)
    for op, types in ELEMENT_TYPES_OF.items():
        assert list(types) == [row for row in ALL if row in types]
        assert all(STRATEGIES[op](of) is not None for of in types)


@pytest.mark.parametrize("op", ELEMENT_TYPES_OF)
def test_programs_are_valid_and_inputs_fit(op: str) -> None:
    for of in ELEMENT_TYPES_OF[op]:
        for found in cases(op, of, seed=7, count=8):
            assert check(found.program) == []
            assert found.inputs
            for recipe in found.inputs:
                arrays = materialise(found.program, recipe)
                assert len(arrays) == len(recipe.profiles) == len(found.program.main.arguments)
                for array, parameter in zip(arrays, found.program.main.arguments, strict=True):
                    assert isinstance(parameter.type, TensorType)
                    assert isinstance(array, np.ndarray)
                    assert array.shape == parameter.type.shape
                    assert array.dtype == parameter.type.element.storage


def representatives(op: str) -> list[ElementType]:
    """Return the widest type of each kind that the op takes."""
    return list({of.kind: of for of in ELEMENT_TYPES_OF[op]}.values())


@pytest.mark.slow
@pytest.mark.parametrize("op", ELEMENT_TYPES_OF)
def test_two_hundred_cases_reach_all_ranks_and_sizes(op: str) -> None:
    for of in representatives(op):
        found = cases(op, of, seed=1, count=200)
        shapes = {operation_of(one).results[0].type.static_shape for one in found}
        ranks = {len(shape) for shape in shapes}
        least = 1 if op == "iota" else 0
        assert set(range(least, 6)) <= ranks
        assert {size for shape in shapes for size in shape} >= {0, 1, 2, 3}
        assert len({one.program.digest for one in found}) >= 100
        sizes = [elements(one) for one in found]
        assert 30 < sum(sizes) / len(sizes) < 500
        assert max(sizes) > 255
        if op not in ("iota", "constant"):
            counts = [constants_of(one) for one in found]
            assert 20 <= sum(count > 0 for count in counts) <= 150
            assert 2.5 < sum(len(one.inputs) for one in found) / len(found) < 5
            without = [one for one in found if not one.program.main.arguments]
            assert without
            assert all(one.inputs == (InputRecipe((), one.inputs[0].seed),) for one in without)


@pytest.mark.slow
def test_shapes_cross_thresholds_and_go_beyond_rank_five() -> None:
    found = cases("negate", F32, seed=1, count=4000)
    shapes = {operation_of(one).results[0].type.static_shape for one in found}
    sizes = {size for shape in shapes for size in shape}
    thresholds = (31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025)
    assert {*thresholds, 8191, 8192, 8193} <= sizes
    assert {len(shape) for shape in shapes} == set(range(8))
    assert max(math.prod(shape) for shape in shapes) <= 10_000


def drawn_profiles(op: str, of: ElementType, count: int) -> set[str]:
    found = cases(op, of, seed=2, count=count)
    return {name for one in found for recipe in one.inputs for name in recipe.profiles}


@pytest.mark.slow
@pytest.mark.parametrize("op", [op for op, types in ELEMENT_TYPES_OF.items() if F32 in types])
def test_every_profile_is_reached_for_floats(op: str) -> None:
    if op in ("iota", "constant"):
        return
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
    assert [of.name for of in bitcast_results(COMPLEX[0])] == ["complex<f32>", "complex<f64>"]
    narrow = {of.name for of in bitcast_results(ELEMENT_TYPES["f6E2M3FN"])}
    assert narrow == {"i1", "si2", "ui2", "f6E2M3FN", "f6E3M2FN"}


@pytest.mark.parametrize("name", ["f32", "complex<f64>", "si8", "ui8", "i1"])
def test_comparisons_reach_every_direction_and_type(name: str) -> None:
    of = ELEMENT_TYPES[name]
    found = {attributes_of(one) for one in cases("compare", of, seed=1, count=200)}
    assert found == {tuple(sorted(given.items())) for given in compare_attributes(of)}
    types = {dict(given).get("compare_type") for given in found}
    assert None in types
    assert ("TOTALORDER" in types) == of.is_float
    assert len({dict(given)["comparison_direction"] for given in found}) == 6


def test_precisions_reach_the_edges() -> None:
    for of in FLOATS:
        fmt = of.float_format
        bits = [(row["exponent_bits"], row["mantissa_bits"]) for row in precisions(of)]
        assert bits[0] == (fmt.exponent_bits, fmt.mantissa_bits)
        assert {(1, 0), (fmt.exponent_bits + 2, fmt.mantissa_bits + 2)} <= set(bits)
        assert len(set(bits)) == len(bits)
    found = {attributes_of(one) for one in cases("reduce_precision", F16, seed=1, count=400)}
    assert len(found) > 0.9 * len(precisions(F16))


def test_bounds_predicates_and_dimensions() -> None:
    clamps = cases("clamp", F32, seed=1, count=100)
    ranks = {
        tuple(v.type.rank == 0 for v in operation_of(one).operands)
        for one in clamps
        if operation_of(one).results[0].type.rank
    }
    assert {flags[::2] for flags in ranks} == {(a, b) for a in (0, 1) for b in (0, 1)}
    selects = [operation_of(one) for one in cases("select", F32, seed=1, count=100)]
    assert {op.operands[0].type.rank == 0 for op in selects if op.results[0].type.rank} == {0, 1}
    iotas = [operation_of(one) for one in cases("iota", F32, seed=1, count=200)]
    assert {op.attribute("iota_dimension") for op in iotas} >= {0, 1, 2, 3, 4}
    twice = cases("subtract", F32, seed=1, count=200)
    assert any(len(set(operation_of(one).operands)) == 1 for one in twice)


def test_clamp_bounds_are_mostly_in_order() -> None:
    for of in (F32, ELEMENT_TYPES["si16"], ELEMENT_TYPES["ui16"], ELEMENT_TYPES["f8E4M3FNUZ"]):
        low, high = np.array(fill_values(of, "lower")), np.array(fill_values(of, "upper", seed=8))
        ordered = ~(low > high)
        assert ordered.all()
        assert len(np.unique(low)) > 20


def test_constants_hold_every_bit_pattern() -> None:
    found = cases("constant", F32, seed=1, count=500)
    values = [operation_of(one).attribute("value") for one in found]
    assert all(isinstance(value, Dense) for value in values)
    bits = {int(b) for value in values for b in to_bits(value.array).reshape(-1)}
    assert {0x7FC00000, 0xFFC00000, 0x7F800001, 0x80000000, 0xFF800000, 1} <= bits
    splats = [v for v in values if v.array.size > 1 and len(set(to_bits(v.array).flat)) == 1]
    assert len(splats) > 10

"""Profiles of values: each fulfils its description, in every element type."""

from fractions import Fraction

import numpy as np
import pytest

from generators.case.case import InputRecipe
from generators.cells.plan import cases
from generators.families.elementwise import VALUES
from generators.values.codes import Words, decode, nearest, step, top
from generators.values.contents import (
    CORRELATIONS,
    PROFILES,
    correlate,
    fill,
    materialise,
    profiles_of,
)
from generators.values.float_profiles import core_codes, special_codes
from generators.values.profiles import ANY, rows
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import (
    ALL,
    COMPLEX,
    ELEMENT_TYPES,
    FLOATS,
    INTEGERS,
    ElementType,
    element_type,
    to_bits,
)
from suites.meta.support.drawn_cases import ELEMENT_TYPES_OF, F16, F32, F64, fill_values

CELLS = [(op, of) for op, types in ELEMENT_TYPES_OF.items() for of in types]


@pytest.mark.parametrize("of", ALL, ids=str)
def test_profiles_fill_every_shape(of: ElementType) -> None:
    every = [name for name, row in PROFILES.items() if not row.general]
    for name in profiles_of(of):
        for shape in ((), (1,), (0,), (3, 0, 2), (2, 3), (300,)):
            array = fill(TensorType(shape, of), name, 1)
            assert (array.shape, array.dtype) == (shape, of.storage)
    for name in every:
        row = PROFILES[name]
        filler = row.integers if of.is_integer else row.floats
        if of.is_boolean or filler is None or of.is_complex < row.complex_only:
            with pytest.raises(ValueError, match=f"{name} has no values of"):
                fill(TensorType((2,), of), name, 1)
        else:
            assert fill(TensorType((5,), of), name, 1).shape == (5,)
    with pytest.raises(KeyError):
        fill(TensorType((2,), of), "sundry", 1)


def test_seeds_and_positions_give_different_values() -> None:
    kind = TensorType((50,), F32)
    program = single_op("add", (Value("lhs", kind), Value("rhs", kind)), (kind,))
    one = materialise(program, InputRecipe(("wide", "wide"), 1))
    two = materialise(program, InputRecipe(("wide", "wide"), 2))
    arrays = [*one, *two]
    for index, array in enumerate(arrays):
        assert all((array != other).mean() > 0.9 for other in arrays[:index])


def test_words_are_philox_and_uniform() -> None:
    words = Words(1).below(60_000, 6)
    assert words.min() == 0
    counts = np.bincount(words, minlength=6)
    assert len(counts) == 6
    assert (abs(counts - 10_000) < 500).all()
    unit = Words(2).unit(10_000)
    assert 0 <= unit.min() < 0.01
    assert 0.99 < unit.max() < 1


REAL = FLOATS + COMPLEX


@pytest.mark.parametrize("of", REAL, ids=str)
def test_float_profiles_fulfil_their_descriptions(of: ElementType) -> None:
    fmt = of.float_format
    small = fill_values(of, "small_integers")
    assert (small == np.round(small)).all()
    assert (abs(small) <= 8).all()
    assert (small == 1).any()
    for name in ("unit", "tiny"):
        assert (abs(fill_values(of, name)) <= 1).all()
    near = abs(fill_values(of, "near_one"))
    assert ((near >= 0.4) & (near <= 2)).all()
    finite = ("wide", "positive", "large", "subnormal", "ties", "midpoints", "trig", "exp_domain")
    for name in (*finite, "moderate", "unit", "near_one", "perfect_powers", "small_integers"):
        assert np.isfinite(fill_values(of, name)).all(), name
    assert not np.signbit(fill_values(of, "positive")).any()
    assert (abs(fill_values(of, "large")) >= fmt.max_finite / 32).all()
    tiny = abs(fill_values(of, "subnormal"))
    assert (tiny <= 8 * fmt.smallest_normal).all()
    if fmt.has_zero and fmt.mantissa_bits:
        assert ((tiny > 0) & (tiny < fmt.smallest_normal)).any()


@pytest.mark.parametrize("of", REAL, ids=str)
def test_special_values_are_all_there(of: ElementType) -> None:
    array = fill(TensorType((20_000,), of), "special", 3)
    found = {int(code) for code in to_bits(array).reshape(-1)}
    assert found == {int(code) for code in special_codes(of)}
    values = fill_values(of, "special", 20_000, 3)
    fmt = of.float_format
    assert fmt.max_finite in abs(values)
    assert fmt.smallest in abs(values)
    assert fmt.smallest_normal in abs(values)
    assert 1.0 in values
    assert (0.0 in values) == fmt.has_zero
    assert np.isinf(values).any() == fmt.has_infinity
    assert np.isnan(values).any() == fmt.has_nan
    negative = {(value == 0, value == -1) for value in values[np.signbit(values)]}
    assert ((True, False) in negative) == fmt.has_negative_zero
    assert ((False, True) in negative) == fmt.signed
    codes = set(core_codes(of))
    assert sum(code in codes for code in to_bits(array).reshape(-1)) > 0.45 * values.size


def test_nans_of_both_signs_and_several_payloads() -> None:
    bits = to_bits(fill(TensorType((20_000,), F16), "special", 3))
    nans = {int(b) for b in bits if (b & 0x7FFF) > 0x7C00}
    assert {0x7E00, 0xFE00, 0x7C01, 0xFC01, 0x7FFF, 0xFFFF} <= nans


@pytest.mark.parametrize("of", [of for of in ALL if 1 < of.bits <= 8], ids=str)
def test_bits_exhaust_narrow_types(of: ElementType) -> None:
    size = 1 << of.bits
    codes = to_bits(fill(TensorType((3 * size + 1,), of), "bits", 4))
    for start in (0, size, 2 * size):
        assert len(set(codes[start : start + size].tolist())) == size


@pytest.mark.parametrize("of", [F16, F32, F64, ELEMENT_TYPES["bf16"]], ids=str)
def test_ties_and_their_neighbours(of: ElementType) -> None:
    values = abs(fill_values(of, "ties", 2000))
    halves = (values * 2 == np.round(values * 2)) & (values != np.round(values))
    assert halves.mean() > 0.3
    small = values[values < 4]
    gap = 2.0**-of.float_format.mantissa_bits
    beside = abs(small - np.floor(small) - 0.5)
    assert (beside <= 4 * gap).all()
    assert (beside > 0).any()


def test_midpoints_of_every_length() -> None:
    codes = to_bits(fill(TensorType((4000,), F32), "midpoints", 4)).astype(np.int64) & 0x7FFFFF
    trailing = [int(code & -code).bit_length() for code in codes if code]
    assert set(trailing) >= set(range(1, 23))
    ones = [int(~code & (code + 1)).bit_length() for code in codes]
    assert max(ones) > 10


def test_trigonometric_arguments_are_near_multiples_of_half_pi() -> None:
    values = fill_values(F64, "trig", 2000).astype(np.longdouble)
    quarter = np.longdouble("1.57079632679489661923")
    turns = np.round(values / quarter)
    ulps = abs(values - turns * quarter) / np.spacing(abs(values).astype(np.float64))
    assert (ulps[turns != 0] < 4).all()
    assert len(np.unique(turns)) > 500


def test_exponentials_stay_in_range() -> None:
    for of in (F16, F32, F64):
        with np.errstate(over="ignore"):
            results = np.exp(fill(TensorType((2000,), of), "exp_domain", 4))
        assert (np.isfinite(results) & (results > 0)).mean() > 0.95
        assert ((results > 0) & (results < of.float_format.smallest_normal)).any()


def test_perfect_powers_have_exact_roots() -> None:
    values = abs(fill_values(F64, "perfect_powers", 500))
    roots = np.sqrt(values), np.round(np.cbrt(values))
    mantissas = np.frexp(values)[0]
    exact = (roots[0] ** 2 == values) | (roots[1] ** 3 == values) | (mantissas == 0.5)
    assert exact.mean() > 0.95


def test_complex_parts_on_the_axes() -> None:
    array = fill(TensorType((500,), COMPLEX[1]), "axes", 4)
    zero = np.stack([array.real, array.imag]) == 0
    assert zero.any(axis=0).all()
    assert 0.3 < zero[0].mean() < 0.7
    signs = np.signbit(np.stack([array.real, array.imag])[zero])
    assert signs.any()
    assert not signs.all()


@pytest.mark.parametrize("of", INTEGERS, ids=str)
def test_integer_profiles_fulfil_their_descriptions(of: ElementType) -> None:
    least, most = of.min_integer, of.max_integer
    small = fill_values(of, "small_integers")
    assert set(small) == set(range(max(least, -8), min(most, 8) + 1))
    special = set(fill_values(of, "special", 20_000))
    core = {0, 1, least, least + 1, most, most - 1}
    assert core <= special
    assert sum(x in core for x in fill_values(of, "special", 3000)) > 600
    assert of.bits != 8 or ({0x55, 0x0F} <= special and 100 not in special)
    powers = {1 << n for n in range(of.bits - of.is_signed)}
    assert {p + by for p in powers for by in (-1, 0, 1) if p + by <= most} <= special
    assert 0 not in fill_values(of, "nonzero")
    assert {x.bit_length() for x in fill_values(of, "wide", 5000)} >= set(
        range(of.bits - of.is_signed)
    )
    assert set(fill_values(of, "small_exponents")) == set(range(min(7, most) + 1))
    amounts = fill_values(of, "shift_amounts", 5000)
    width = range(min(of.bits, most + 1))
    assert set(width) <= set(amounts)
    assert len(amounts) > sum(x in width for x in amounts) >= 0.94 * len(amounts) or of.bits == 2
    bound = 2 ** max(of.bits // 2 - of.is_signed, 1)
    assert all(abs(x) < bound or x == least for x in fill_values(of, "moderate"))
    lower, upper = fill_values(of, "lower", 3000), fill_values(of, "upper", 3000)
    middle = (least + most + 1) // 2
    assert least <= min(lower) <= max(lower) <= middle <= min(upper) <= max(upper) <= most
    assert of.bits > 8 or (min(lower), max(upper)) == (least, most)
    for numbers in (lower, upper):
        assert sum(abs(number - middle) <= 16 for number in numbers) > 1000


@pytest.mark.parametrize(("of", "to", "precision"), [("si32", "bf16", 8), ("si64", "f32", 24)])
def test_integer_ties_are_halfway_between_neighbours_or_one_off(
    of: str, to: str, precision: int
) -> None:
    off: list[Fraction] = []
    for number in map(abs, fill_values(element_type(of), f"ties_{to}", 3000)):
        unit = max(number.bit_length() - precision, 0)
        if unit > 1:
            off.append(Fraction(number % (1 << unit)) - Fraction(1 << unit, 2))
    assert set(off) == {-1, 0, 1}
    assert off.count(Fraction(0)) > len(off) / 3 > 100


@pytest.mark.parametrize("of", [of for of in ALL if not of.is_boolean], ids=str)
def test_range_profile_of_integers_fits_the_target_type(of: ElementType) -> None:
    for to in INTEGERS:
        values = fill_values(of, f"range_{to.name}", 300)
        whole = [int(value) for value in values]
        assert all(to.min_integer <= value <= to.max_integer for value in whole), to
        if of.is_integer:
            ends = max(of.min_integer, to.min_integer), min(of.max_integer, to.max_integer)
            assert {*ends} <= {*whole}
            assert len(set(whole)) >= min(4, to.max_integer, of.max_integer)


@pytest.mark.parametrize("of", [of for of in ALL if not of.is_boolean], ids=str)
def test_range_profile_of_floats_fits_the_target_type(of: ElementType) -> None:
    for to in FLOATS:
        values = fill_values(of, f"range_{to.name}", 300)
        fmt = to.float_format
        assert all(abs(value) <= fmt.max_finite or abs(value) > 1e18 for value in values), to
        if of.is_integer and (fmt.signed or of.is_unsigned):
            exact = np.array([float(abs(x)) for x in values if x or fmt.has_zero])
            assert (decode(nearest(exact, to)[1], to) == exact).all(), to
        elif of is F64:
            assert (decode(nearest(values, to)[1], to) == abs(values)).all(), to


@pytest.mark.parametrize("to", [of for of in FLOATS if of.bits < 64], ids=str)
def test_midpoints_between_neighbours_of_a_narrower_type(to: ElementType) -> None:
    values = abs(fill_values(F64, f"ties_{to.name}", 400))
    below = step(nearest(values, to)[1], -1, to)
    three = [decode(step(below, by, to), to) for by in range(3)]
    middles = [(three[n] + three[n + 1]) / 2 for n in range(2)]
    past = to.float_format.max_finite + (three[1] - three[0]) / 2
    exact = (values == middles[0]) | (values == middles[1]) | (values == past)
    assert exact.mean() > 0.3
    beside = np.nextafter(values, 0), np.nextafter(values, np.inf)
    close = [(side == m) for side in beside for m in (*middles, past)]
    assert (exact | np.any(close, axis=0)).mean() > 0.95
    if to.bits > 4:
        assert np.any(close, axis=0).any()


@pytest.mark.parametrize("of", ALL, ids=str)
def test_correlated_operands(of: ElementType) -> None:
    kind = TensorType((200,), of)
    first = fill(kind, "bits", 6)
    bits = to_bits(first)
    assert (to_bits(correlate(first, kind, "equal", 1)) == bits).all()
    for correlation in CORRELATIONS[1:]:
        scalar = correlate(first[:1].reshape(()), TensorType((), of), correlation, 1)
        assert isinstance(scalar, np.ndarray)
        assert scalar.shape == ()
    if of.is_boolean:
        assert (correlate(first, kind, "one_ulp", 1) == ~first).all()
        return
    if of.is_integer:
        mask = (1 << of.bits) - 1
        negated = to_bits(correlate(first, kind, "negated", 1)).tolist()
        assert [(-int(b)) & mask for b in bits] == negated
        moved = to_bits(correlate(first, kind, "one_ulp", 1)).tolist()
        assert {(int(b) - int(a)) & mask for a, b in zip(bits, moved, strict=True)} == {1, mask}
        return
    finite = fill(kind, "moderate", 6)
    moved = correlate(finite, kind, "one_ulp", 1)
    if of.is_float:
        here, there = (nearest(a.astype(np.float64), of)[1] for a in (finite, moved))
        assert (abs(here - there) <= 1).all()
        assert (here != there).mean() > 0.5
        assert (there <= top(of)).all()
        negated = correlate(finite, kind, "negated", 1).astype(np.float64)
        sign = -1 if of.float_format.signed else 1
        assert (negated == sign * finite.astype(np.float64)).all()
    else:
        assert (moved.real == finite.real).any()
        assert (moved != finite).any()
        assert (abs(moved - finite) <= 2 * np.spacing(abs(finite))).all()
        assert (correlate(finite, kind, "negated", 1) == -finite).all()


def test_non_finite_values_stay_when_moved_by_an_ulp() -> None:
    kind = TensorType((4,), F32)
    first = np.array([np.inf, -np.inf, np.nan, F32.float_format.max_finite], np.float32)
    for seed in range(8):
        moved = correlate(first, kind, "one_ulp", seed)
        assert np.isinf(moved[:2]).all()
        assert np.isnan(moved[2])
        assert np.isfinite(moved[3])


def test_correlations_relate_operands_of_one_type() -> None:
    kind, pred = TensorType((9,), F32), TensorType((9,), ELEMENT_TYPES["i1"])
    values = (Value("pred", pred), Value("on_true", kind), Value("on_false", kind))
    program = single_op("select", values, (kind,))
    recipe = InputRecipe(("bits", "moderate", "moderate"), 1, "negated")
    _, on_true, on_false = materialise(program, recipe)
    assert (on_true == -on_false).all()
    with pytest.raises(ValueError, match="unknown correlation 'alike'"):
        materialise(program, InputRecipe(("bits",) * 3, 1, "alike"))
    found = cases("subtract", F32, seed=1, count=60)
    assert {r.correlation for one in found for r in one.inputs} == set(CORRELATIONS)
    shifts = cases("shift_left", ELEMENT_TYPES["si8"], seed=1, count=60)
    assert {r.correlation for shift in shifts for r in shift.inputs} == {"independent"}


def test_rows_name_profiles_that_the_type_has() -> None:
    for op, of in CELLS:
        for row in rows(of, VALUES.get(op, ANY)):
            assert set(row) <= set(profiles_of(of)), (op, of)

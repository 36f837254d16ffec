"""numerics.rounding against the definition: every code, every midpoint, independent oracles."""

import gmpy2
import numpy as np
import pytest

from reference.ir.types import (
    ELEMENT_TYPES,
    FLOATS,
    NonFinite,
    bits_dtype,
    element_type,
    from_bits,
    to_bits,
)
from reference.numerics.ranged import RangedNumbers
from reference.numerics.rounding import (
    from_ordinal,
    next_down,
    next_up,
    ordinal,
    round_integers,
    round_to,
    to_float64,
    ulp_size,
)

NARROW = [t for t in FLOATS if t.bits <= 16]
F16, F32, F64 = (ELEMENT_TYPES[name] for name in ("f16", "f32", "f64"))
E8M0 = ELEMENT_TYPES["f8E8M0FNU"]
EXTENDED = np.finfo(np.longdouble).nmant > 52


def finite_values(of):
    """Return all finite values of a narrow type, sorted, -0 left out."""
    codes = from_bits(np.arange(1 << of.bits, dtype=np.uint64).astype(bits_dtype(of)), of)
    values = to_float64(codes)
    return np.unique(values[np.isfinite(values)])


def random_bits(of, count, seed):
    generator = np.random.default_rng(seed)
    bits = generator.integers(0, 1 << of.bits, count, dtype=np.uint64, endpoint=False)
    return from_bits(bits.astype(bits_dtype(of)), of)


@pytest.mark.parametrize("to", NARROW, ids=str)
def test_every_value_and_code_is_a_fixed_point(to):
    codes = np.arange(1 << to.bits, dtype=np.uint64).astype(bits_dtype(to))
    values = to_float64(from_bits(codes, to))
    finite = np.isfinite(values)
    assert finite.sum() >= len(codes) - (2 << to.float_format.mantissa_bits)
    np.testing.assert_array_equal(to_bits(round_to(values[finite], to)), codes[finite])
    if to.float_format.has_nan:
        assert np.isnan(to_float64(round_to(values[~finite & np.isnan(values)], to))).all()


@pytest.mark.parametrize("dtype", [np.float64, np.longdouble], ids=["f64", "longdouble"])
@pytest.mark.parametrize("to", NARROW, ids=str)
def test_midpoints_and_their_neighbours(to, dtype):
    values = finite_values(to)
    below, above = values[:-1], values[1:]
    middle = ((below + above) / 2).astype(dtype)
    inf = dtype(np.inf)
    np.testing.assert_array_equal(to_float64(round_to(np.nextafter(middle, -inf), to)), below)
    np.testing.assert_array_equal(to_float64(round_to(np.nextafter(middle, inf), to)), above)
    even = to_bits(round_to(below, to)) & 1 == 0
    if to is E8M0:  # one-bit significands are all odd: IEEE 754 goes to the larger
        even = np.zeros_like(even)
    tie = to_float64(round_to(middle, to))
    np.testing.assert_array_equal(tie, np.where(even, below, above))


def test_wider_midpoints_of_f32_and_f64_in_longdouble():
    for to in (F32, F64):
        values = to_float64(random_bits(to, 4000, 1))
        values = values[np.isfinite(values)]
        above = to_float64(next_up(round_to(values, to)))
        keep = np.isfinite(above)
        values, above = values[keep].astype(np.longdouble), above[keep].astype(np.longdouble)
        middle = (values + above) / 2
        if to is F64 and not EXTENDED:
            continue
        down = round_to(np.nextafter(middle, -np.longdouble(np.inf)), to)
        up = round_to(np.nextafter(middle, np.longdouble(np.inf)), to)
        np.testing.assert_array_equal(down.astype(np.longdouble), values)
        np.testing.assert_array_equal(up.astype(np.longdouble), above)
        assert (to_bits(round_to(middle, to)) & 1 == 0).all()


@pytest.mark.parametrize("to", FLOATS, ids=str)
def test_overflow_nan_and_zero_by_format(to):
    form = to.float_format
    top = form.max_finite
    threshold = top if to is E8M0 else top * (1 + 2.0 ** -(form.mantissa_bits + 4))
    over = np.array([top * 4 if to.bits < 64 else np.inf, np.inf])
    got = to_float64(round_to(np.concatenate([over, -over]), to))
    if form.non_finite is NonFinite.IEEE:
        want = [np.inf, np.inf, -np.inf, -np.inf]
    elif form.non_finite is NonFinite.NONE:
        want = [top, top, -top, -top]
    else:
        want = [np.nan] * 4
    np.testing.assert_array_equal(got, want)
    if to.bits < 64:
        assert to_float64(round_to(np.array(threshold), to)) == top
    nan = to_float64(round_to(np.array(np.nan), to))
    assert np.isnan(nan) if form.has_nan else nan == 0
    zeros = to_float64(round_to(np.array([0.0, -0.0]), to))
    if form.has_zero:
        assert (zeros == 0).all()
        assert np.signbit(zeros).tolist() == [False, form.has_negative_zero]
    else:
        assert np.isnan(zeros).all()


def test_no_double_rounding_by_way_of_float32():
    # ml_dtypes 0.5 answers 1: it rounds to float32 first, which drops what breaks the tie.
    for to in (t for t in NARROW if t.float_format.mantissa_bits):
        step = 2.0**-to.float_format.mantissa_bits
        above, below = np.array([1 + step / 2 + 2.0**-50]), np.array([1 + 1.5 * step - 2.0**-50])
        assert to_float64(round_to(above, to)) == 1 + step
        assert to_float64(round_to(below, to)) == 1 + step


@pytest.mark.parametrize("to", [F16, F32, ELEMENT_TYPES["bf16"]], ids=str)
def test_random_float64_against_mpfr(to):
    form = to.float_format
    values = to_float64(random_bits(F64, 3000, 2))
    generator = np.random.default_rng(3)
    values = np.concatenate([values, np.exp(generator.uniform(-110, 95, 6000))])
    values = values[np.isfinite(values)]
    smallest = int(np.log2(form.smallest))
    with gmpy2.context(
        precision=form.precision, emax=form.max_exponent + 1, emin=smallest + 1, subnormalize=True
    ):
        want = [float(gmpy2.mpfr(v)) for v in values.tolist()]
    got = to_float64(round_to(values, to))
    np.testing.assert_array_equal(got, want)
    assert (np.signbit(got) == np.signbit(values)).all()


def integers():
    generator = np.random.default_rng(4)
    edges = [v for e in range(64) for d in (-1, 0, 1) if 0 <= (v := (1 << e) + d) < 1 << 64]
    ties = [
        (int(m) << s) + d for s in range(8, 40) for m in (16777217, 16777219) for d in (-1, 0, 1)
    ]
    ties += [(m << 10) + 512 + d for m in (2**53 - 1, 2**53 - 2) for d in (-1, 0, 1)]
    drawn = generator.integers(0, 1 << 64, 500, dtype=np.uint64).tolist()
    shifted = [v >> int(s) for v, s in zip(drawn, generator.integers(0, 60, 500), strict=True)]
    return sorted({v for v in edges + ties + drawn + shifted if v < 1 << 64} | {2**64 - 1})


@pytest.mark.parametrize("to", FLOATS, ids=str)
def test_integers_round_once(to):
    unsigned = np.array(integers(), np.uint64)
    signed = np.array([v for v in integers() if v < 1 << 63], np.int64)
    for array in (unsigned, signed, -signed, np.array([-(2**63)], np.int64)):
        got = to_float64(round_integers(array, to))
        exact = [int(v) for v in array.tolist()]
        want = to_float64(round_to(np.array([round_to_odd(v) for v in exact]), to))
        if to is F64:
            want = np.array([float(v) for v in exact])
        np.testing.assert_array_equal(got, want)


def round_to_odd(value):
    """Return an integer as a float rounded to odd, by the definition."""
    near = float(value)
    if near == value:
        return near
    toward = near if abs(near) < abs(value) else float(np.nextafter(near, 0.0))
    bits = int(np.array(toward).view(np.int64)) | 1
    return float(np.array(bits, np.int64).view(np.float64))


@pytest.mark.parametrize("to", NARROW, ids=str)
def test_ordinals_are_gapless_and_inverted(to):
    values = finite_values(to)
    numbers = ordinal(round_to(values, to))
    np.testing.assert_array_equal(np.diff(numbers), 1)
    np.testing.assert_array_equal(to_float64(from_ordinal(numbers, to)), values)
    if to.float_format.has_negative_zero:
        assert ordinal(round_to(np.array(-0.0), to)) == 0


@pytest.mark.parametrize("to", NARROW, ids=str)
def test_neighbours_of_every_value(to):
    values = finite_values(to)
    array = round_to(values, to)
    form = to.float_format
    top = np.inf if form.has_infinity else form.max_finite
    bottom = -top if form.signed else values[0]
    np.testing.assert_array_equal(to_float64(next_up(array)), [*values[1:], top])
    np.testing.assert_array_equal(to_float64(next_down(array)), [bottom, *values[:-1]])
    if form.has_negative_zero:
        up = to_float64(next_up(round_to(np.array([-form.smallest, -0.0]), to)))
        assert np.signbit(up).tolist() == [True, False]
        assert up.tolist() == [0.0, form.smallest]


@pytest.mark.parametrize("to", [F16, F32, F64], ids=str)
def test_neighbours_against_numpy(to):
    array = random_bits(to, 3000, 5)
    array = np.concatenate([array, round_to(np.array([np.inf, -np.inf, np.nan, 0.0, -0.0]), to)])
    with np.errstate(all="ignore"):
        up = np.nextafter(array, to.storage.type(np.inf))
        down = np.nextafter(array, to.storage.type(-np.inf))
    np.testing.assert_array_equal(next_up(array), up)
    np.testing.assert_array_equal(next_down(array), down)


@pytest.mark.parametrize("of", FLOATS, ids=str)
def test_ulp_is_the_gap_above(of):
    values = finite_values(of) if of.bits <= 16 else to_float64(random_bits(of, 3000, 6))
    values = values[np.isfinite(values) & (values >= 0) & (values < of.float_format.max_finite)]
    gap = to_float64(next_up(round_to(values, of))) - values
    np.testing.assert_array_equal(ulp_size(values, of), gap)
    np.testing.assert_array_equal(ulp_size(-values, of), gap)
    top = ulp_size(np.array([np.inf, of.float_format.max_finite]), of)
    assert top[0] == top[1] > 0
    assert np.isnan(ulp_size(np.array(np.nan), of))


def ranged_numbers(of: str, *numbers: float) -> RangedNumbers:
    return RangedNumbers(np.array(numbers, np.float64), element_type(of))


def test_a_number_that_rounds_beyond_the_largest_is_infinite() -> None:
    """The largest f16 is 65504; from 65520 on numbers round to infinity."""
    found = ranged_numbers("f16", 65519.0, 65520.0, -70000.0) * 1.0
    assert found.numbers.tolist() == [65519, np.inf, -np.inf]

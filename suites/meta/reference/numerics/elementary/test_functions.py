"""Elementary functions against MPFR (real) and mpmath (complex), where rounding is hardest."""

from bisect import bisect_left

import gmpy2
import mpmath
import numpy as np
import pytest

from reference.ir.types import (
    ELEMENT_TYPES,
    FLOATS,
    NonFinite,
    from_bits,
)
from reference.numerics.elementary import functions
from reference.numerics.elementary.functions import (
    FUNCTIONS,
    REAL,
    wide_values,
)
from reference.numerics.rounding import HAS_EXTENDED, next_up, round_to, to_float64
from suites.meta.support.ops.elementary import (
    BINARY,
    INF,
    NAN,
    assert_same,
    codes,
    exact_ball,
    mpfr_context,
    round_mpmath,
    working_bits,
)

F16, BF16, F32, F64 = (ELEMENT_TYPES[name] for name in ("f16", "bf16", "f32", "f64"))
NARROW = [t for t in FLOATS if t.bits <= 8]
UNARY = tuple(name for name in FUNCTIONS if name not in BINARY)


def mpfr_logistic(x):
    """1 / (1 + e^-x), through enough bits that rounding once more is harmless."""
    target = gmpy2.get_context()
    with gmpy2.context(precision=1200):
        value = 1 / (1 + gmpy2.exp(-x))
    gmpy2.set_context(target)
    return value if value.is_nan() or target.precision >= 400 else gmpy2.mpfr(value)


def mpfr_erf_inv(x):
    """Return the inverse of erf, which MPFR lacks, by mpmath."""
    if not abs(x) < 1:
        return x / 0 if abs(x) == 1 else gmpy2.nan()
    if x == 0:
        return x
    with mpmath.workprec(gmpy2.get_context().precision + 200):
        return round_mpmath(mpmath.erfinv(mpmath.mpf(float(x))))


def mpfr_bessel_i1e(x):
    """Return e^-|x| I1(x), which MPFR lacks, by mpmath."""
    if not x.is_finite() or x == 0:
        return gmpy2.nan() if x.is_nan() else x if x == 0 else 1 / x
    tiny = 1100 if abs(x) < 1e-100 else 0  # half of it may be next to a tie
    with mpmath.workprec(gmpy2.get_context().precision + 200 + tiny):
        argument = mpmath.mpf(float(x))
        series = mpmath.exp(-abs(argument)) * mpmath.besseli(1, argument)
        return round_mpmath(series)


MPFR = {
    "acos": gmpy2.acos,
    "acosh": gmpy2.acosh,
    "asin": gmpy2.asin,
    "asinh": gmpy2.asinh,
    "atan": gmpy2.atan,
    "atan2": gmpy2.atan2,
    "atanh": gmpy2.atanh,
    "bessel_i1e": mpfr_bessel_i1e,
    "cbrt": gmpy2.cbrt,
    "cosh": gmpy2.cosh,
    "cosine": gmpy2.cos,
    "digamma": gmpy2.digamma,
    "erf": gmpy2.erf,
    "erf_inv": mpfr_erf_inv,
    "erfc": gmpy2.erfc,
    "exponential": gmpy2.exp,
    "exponential_minus_one": gmpy2.expm1,
    "lgamma": lambda x: gmpy2.lgamma(x)[0],
    "log": gmpy2.log,
    "log_plus_one": gmpy2.log1p,
    "logistic": mpfr_logistic,
    "power": lambda x, y: x**y,
    "rsqrt": lambda x: gmpy2.rec_sqrt(x) if x != 0 else 1 / x,  # MPFR's differs for -0
    "sine": gmpy2.sin,
    "sinh": gmpy2.sinh,
    "sqrt": gmpy2.sqrt,
    "tan": gmpy2.tan,
    "tanh": gmpy2.tanh,
}


def mpfr_values(name, operands, of):
    """Return the oracle's values as float64. Operands are made outside: they may not fit the
    context.
    """
    function = MPFR[name]
    columns = [[gmpy2.mpfr(v, 53) for v in operand.tolist()] for operand in operands]
    with mpfr_context(of):
        return np.array([float(function(*row)) for row in zip(*columns, strict=True)])


def values_around(values, of, steps=3):
    """Return values of a type nearest to some numbers, with their neighbours, of both signs."""
    array = round_to(np.asarray(values, np.float64), of)
    found = [array]
    down = -array
    for _ in range(steps):
        array, down = next_up(array), next_up(down)
        found += [array, -down]
    both = np.concatenate([to_float64(part) for part in found])
    return np.concatenate([both, -both])


def hard_values(of):
    """Return arguments that are hard for some function of one operand."""
    form = of.float_format
    top, log_top = form.max_finite, float(np.log(form.max_finite))
    log_least = float(np.log(form.smallest_normal)), float(np.log(form.smallest))
    ulp = 2.0**-form.mantissa_bits
    edges = [1, log_top, *log_least, log_least[1] - float(np.log(2)), top, form.smallest]
    edges += [form.smallest_normal, ulp, ulp / 2, ulp / 4, ulp * 1.5, ulp**0.5, (2 * ulp) ** 0.5]
    edges += [ulp ** (1 / 3), 0.5, 2, 0.25, 9, 27, 8, 1 / 3, 36.7, 18.4, 17.3, 8.66, 709, 745, 88]
    turns = np.random.default_rng(8).integers(1, 1 << (of.bits // 2 + 8), 150) * (np.pi / 2)
    # The double nearest to a multiple of pi/2, Kahan and McDonald's.
    edges += [6381956970095103.0 * 2.0**797] if of is F64 else [16367173.0 * 2.0**72]
    values = values_around([e for e in edges if abs(e) <= top], of)
    return np.concatenate([values, values_around(turns[turns <= top], of, 1)])


def operands_of(name, of, count):
    """Return operands where a function is hard, and random operands, as float64 arrays."""
    generator = np.random.default_rng(len(name) + of.bits)
    drawn = round_to(generator.standard_normal(count) * 4, of)
    lengths = np.exp(generator.uniform(-60, 60, count)) * generator.choice([-1, 1], count)
    values = [codes(of, count, of.bits), to_float64(drawn), to_float64(round_to(lengths, of))]
    if name not in BINARY:
        return (np.concatenate([*values, hard_values(of)]),)
    x = np.concatenate([*values, values[0], values[1], values[2]])
    y = np.concatenate([np.roll(values[1], 1), np.roll(values[1], 2), values[0], *values[::-1]])
    if name == "atan2":
        return x, y
    hard = [hard_powers(of, generator, count), hard_powers(of, generator, count, near_one=True)]
    edge = [threshold_powers(of, generator, count)]
    pairs = [*hard, *edge]
    return (
        np.concatenate([np.abs(x), *(pair[0] for pair in pairs)]),
        np.concatenate([y, *(pair[1] for pair in pairs)]),
    )


def hard_powers(of, generator, count, *, near_one=False):
    """Return bases with few bits, or next to 1, to exponents that give ties and near ties."""
    bits = generator.integers(1, of.float_format.precision + 1, count)
    integers = np.floor(np.exp2(bits * generator.uniform(0.5, 1, count))) * 2.0 + 1
    if near_one:
        integers = 1 + generator.integers(-200, 200, count) * 2.0**-of.float_format.mantissa_bits
    base = to_float64(round_to(integers * np.exp2(generator.integers(-3, 4, count)), of))
    if near_one:
        base = to_float64(round_to(integers, of))
    exponents = [2, 3, 4, 5, 7, 0.5, 1.5, 2.5, 0.25, 1.25, 1.75, 17 / 16, -1, -2, -0.5, -1.5, 0.75]
    return base, generator.choice(exponents, count)


def threshold_powers(of, generator, count):
    """Return powers of two and others at overflow, underflow and the halves of subnormals."""
    form = of.float_format
    base = np.exp2(generator.integers(-9, 9, count)) * generator.choice([1.0, 1.5, 3.0], count)
    aims = [form.max_exponent + 1, form.min_exponent - form.mantissa_bits - 1, form.min_exponent]
    aim = generator.choice(aims, count) + generator.integers(-2, 3, count)
    with np.errstate(all="ignore"):
        exponent = aim / np.log2(base)
    exponent = np.where(np.isfinite(exponent), exponent, 1.0)
    base = to_float64(round_to(base, of))
    return base, to_float64(round_to(exponent, of))


@pytest.mark.parametrize("of", [F16, BF16, F32, F64], ids=str)
@pytest.mark.parametrize("name", MPFR)
def test_real_functions_against_mpfr(name, of):
    operands = operands_of(name, of, 500 if of is F64 else 300)
    got = to_float64(FUNCTIONS[name](*(round_to(operand, of) for operand in operands)))
    assert_same(got, mpfr_values(name, operands, of), operands)


@pytest.mark.parametrize("name", ["exponential", "tan", "log_plus_one", "rsqrt"])
@pytest.mark.parametrize("of", [F16, BF16], ids=str)
def test_every_value_of_a_16_bit_type(name, of):
    array = from_bits(np.arange(1 << 16, dtype=np.uint16), of)
    got, operand = to_float64(FUNCTIONS[name](array)), to_float64(array)
    keep = ~np.isnan(operand)
    assert np.isnan(got[~keep]).all()
    operand = operand[keep]
    assert_same(got[keep], mpfr_values(name, (operand,), of), (operand,))


def nearest_value(value, values):
    """Return the nearest of sorted values by the definition, None for a tie."""
    at = bisect_left(values, value)
    if at == 0 or at == len(values):
        return values[min(at, len(values) - 1)]
    below, above = value - values[at - 1], values[at] - value
    return None if below == above else values[at - 1 if below < above else at]


def high_precision(name, row):
    with gmpy2.context(precision=400):
        return MPFR[name](*(gmpy2.mpfr(v) for v in row))


def expected_narrow(value, of, grid):
    """Return a high-precision value rounded; None for a tie."""
    form = of.float_format
    if gmpy2.is_nan(value):
        return NAN if form.has_nan else 0.0
    beyond = grid[-1] + (grid[-1] - grid[-2]) / 2 if of.name != "f8E8M0FNU" else grid[-1] * 1.5
    if abs(value) > beyond or gmpy2.is_infinite(value):
        outside = {NonFinite.IEEE: INF, NonFinite.NONE: form.max_finite}
        return float(outside.get(form.non_finite, NAN) * (1 if value > 0 else -1))
    if not form.has_zero and value <= 0:
        return NAN
    return nearest_value(gmpy2.mpq(value), grid)


@pytest.mark.parametrize("of", NARROW, ids=str)
def test_every_value_of_a_narrow_type(of):
    array = from_bits(np.arange(1 << of.bits, dtype=np.uint8), of)
    values = to_float64(array)
    grid = sorted({float(v) for v in values[np.isfinite(values)]})
    checked = 0
    for name in UNARY:
        got = to_float64(FUNCTIONS[name](array))
        for operand, result in zip(values.tolist(), got.tolist(), strict=True):
            value = high_precision(name, (operand,))
            want = expected_narrow(value, of, grid)
            if name == "erfc" and value == 0 and not of.float_format.has_zero:
                want = grid[0]  # too small even for MPFR
            if want is not None:
                assert result == want or (np.isnan(result) and np.isnan(want)), (name, operand)
                checked += 1
    assert checked > 0.9 * len(UNARY) * len(values)


@pytest.mark.parametrize("of", NARROW, ids=str)
@pytest.mark.parametrize("name", [name for name in BINARY if name in MPFR])
def test_pairs_of_a_narrow_type(name, of):
    generator = np.random.default_rng(9)
    lhs, rhs = (
        from_bits(generator.integers(0, 1 << of.bits, 400).astype(np.uint8), of) for _ in range(2)
    )
    got = to_float64(FUNCTIONS[name](lhs, rhs))
    values = to_float64(from_bits(np.arange(1 << of.bits, dtype=np.uint8), of))
    grid = sorted({float(v) for v in values[np.isfinite(values)]})
    checked = 0
    for x, y, result in zip(to_float64(lhs), to_float64(rhs), got.tolist(), strict=True):
        value = high_precision(name, (float(x), float(y)))
        want = expected_narrow(value, of, grid)
        if value == 0 and not of.float_format.has_zero:  # a power too small even for MPFR
            want = grid[0]
        if want is not None:
            assert result == want or (np.isnan(result) and np.isnan(want)), (x, y)
            checked += 1
    assert checked > 200


SPECIAL_VALUES = [
    ("rsqrt", (-0.0,), -INF),
    ("rsqrt", (0.0,), INF),
    ("rsqrt", (-1.0,), NAN),
    ("rsqrt", (INF,), 0.0),
    ("sqrt", (-0.0,), -0.0),
    ("cbrt", (-0.0,), -0.0),
    ("cbrt", (-8.0,), -2.0),
    ("cbrt", (-INF,), -INF),
    ("sine", (-0.0,), -0.0),
    ("sine", (INF,), NAN),
    ("tan", (-0.0,), -0.0),
    ("tanh", (-0.0,), -0.0),
    ("tanh", (-INF,), -1.0),
    ("log", (-0.0,), -INF),
    ("log", (1.0,), 0.0),
    ("log", (-1.0,), NAN),
    ("log_plus_one", (-1.0,), -INF),
    ("log_plus_one", (-0.0,), -0.0),
    ("exponential", (-INF,), 0.0),
    ("exponential_minus_one", (-INF,), -1.0),
    ("exponential_minus_one", (-0.0,), -0.0),
    ("logistic", (-INF,), 0.0),
    ("logistic", (INF,), 1.0),
    ("logistic", (-0.0,), 0.5),
    ("power", (NAN, 0.0), 1.0),
    ("power", (NAN, -0.0), 1.0),
    ("power", (1.0, NAN), 1.0),
    ("power", (1.0, -INF), 1.0),
    ("power", (-1.0, INF), 1.0),
    ("power", (-1.0, -INF), 1.0),
    ("power", (-0.0, -3.0), -INF),
    ("power", (-0.0, -2.0), INF),
    ("power", (-0.0, -0.5), INF),
    ("power", (-0.0, 3.0), -0.0),
    ("power", (-0.0, 2.0), 0.0),
    ("power", (-0.0, -INF), INF),
    ("power", (-INF, 3.0), -INF),
    ("power", (-INF, -3.0), -0.0),
    ("power", (-INF, 0.5), INF),
    ("power", (0.5, -INF), INF),
    ("power", (-2.0, 3.0), -8.0),
    ("power", (-2.0, 0.5), NAN),
    ("atan2", (0.0, 0.0), 0.0),
    ("atan2", (-0.0, 0.0), -0.0),
    ("atan2", (0.0, 1.0), 0.0),
    ("atan2", (-0.0, 1.0), -0.0),
    ("atan2", (INF, NAN), NAN),
]


@pytest.mark.parametrize("of", [F16, BF16, F32, F64], ids=str)
def test_special_values(of):
    for name, operands, want in SPECIAL_VALUES:
        got = to_float64(FUNCTIONS[name](*(round_to(np.array([v]), of) for v in operands)))
        assert_same(got, np.array([want]), [np.array([v]) for v in operands])
    for y in (0.0, -0.0, 1.0, -1.0, INF, -INF):
        for x in (0.0, -0.0, 1.0, -1.0, INF, -INF):
            operands = round_to(np.array([y]), of), round_to(np.array([x]), of)
            want = to_float64(round_to(np.array([float(np.arctan2(y, x))]), of))
            assert_same(to_float64(FUNCTIONS["atan2"](*operands)), want)


def ball_values(name, operands, bits=160):
    function = REAL[name].exact
    with working_bits(bits):
        return [function(*row) for row in zip(*(o.tolist() for o in operands), strict=True)]


@pytest.mark.parametrize("of", [F32, F64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_platform_functions_stay_within_their_bounds(name, of):
    # Ziv's test is as sure as these bounds: the platform must stay far inside.
    if of is F64 and not REAL[name].extended:
        return  # its values of f64 are all certified
    operands = operands_of(name, of, 150)
    dtype = np.longdouble if of is F64 else np.float64
    with np.errstate(all="ignore"):
        values = REAL[name].fast(*(operand.astype(dtype) for operand in operands))
    values = values.astype(np.longdouble)
    trusted = np.isfinite(values) & (np.abs(values) > 1e-300)
    for operand in operands:
        trusted &= np.isfinite(operand) & (operand != 0)
    if REAL[name].doubtful is not None and of is F32:
        trusted &= ~REAL[name].doubtful(values, operands[0])
    index = np.flatnonzero(trusted)
    worst, checked = 0.0, 0
    balls = ball_values(name, [operand[index] for operand in operands])
    for value, ball in zip(values[index], balls, strict=True):
        high = float(value)
        if abs(high) > 1e300:
            continue
        with working_bits(200):
            worst = max(worst, float(abs((exact_ball(value) - ball) / ball).upper()))
        checked += 1
    bound = 2.0**-59 if of is F64 and HAS_EXTENDED else 2.0**-47
    if of is F64 and not HAS_EXTENDED:
        bound = 2.0**-47
    assert 0 <= worst < bound / 2
    assert checked > 20


@pytest.mark.parametrize("name", FUNCTIONS)
def test_without_extended_precision_all_results_are_the_same(name, monkeypatch):
    for of, count in ((F64, 40), (F32, 100)):
        operands = [round_to(operand, of) for operand in operands_of(name, of, count)]
        want = FUNCTIONS[name](*operands)
        with monkeypatch.context() as patch:
            patch.setattr(functions, "HAS_EXTENDED", False)
            got = FUNCTIONS[name](*operands)
        assert_same(to_float64(got), to_float64(want), operands)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wide_real_values_round_to_nearly_all_results(name):
    for of in (BF16, F32, F64):
        operands = [round_to(operand, of) for operand in operands_of(name, of, 100)]
        values = wide_values(name, *operands)
        assert values.dtype == np.longdouble
        rounded, got = to_float64(round_to(values, of)), to_float64(FUNCTIONS[name](*operands))
        same = (rounded == got) | (np.isnan(rounded) & np.isnan(got))
        assert same.mean() > 0.97

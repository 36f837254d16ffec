"""Elementary functions against MPFR (real) and mpmath (complex), where rounding is hardest."""

from bisect import bisect_left
from contextlib import contextmanager
from fractions import Fraction

import flint
import gmpy2
import mpmath
import numpy as np
import pytest

from reference.ir.types import (
    COMPLEX,
    ELEMENT_TYPES,
    FLOATS,
    NonFinite,
    bits_dtype,
    from_bits,
    to_bits,
)
from reference.numerics.elementary import complex_functions, functions
from reference.numerics.elementary.complex_balls import BALLS
from reference.numerics.elementary.functions import (
    FUNCTIONS,
    REAL,
    absolute,
    divide,
    multiply,
    wide,
    wide_complex,
)
from reference.numerics.rounding import HAS_EXTENDED, next_up, round_to, to_float64

F16, BF16, F32, F64 = (ELEMENT_TYPES[name] for name in ("f16", "bf16", "f32", "f64"))
NARROW = [t for t in FLOATS if t.bits <= 8]
BINARY = ("atan2", "power")
UNARY = tuple(name for name in FUNCTIONS if name not in BINARY)
NAN, INF = float("nan"), float("inf")


def mpfr_logistic(x):
    """1 / (1 + e^-x), through enough bits that rounding once more is harmless."""
    target = gmpy2.get_context()
    with gmpy2.context(precision=1200):
        value = 1 / (1 + gmpy2.exp(-x))
    gmpy2.set_context(target)
    return value if value.is_nan() or target.precision >= 400 else gmpy2.mpfr(value)


MPFR = {
    "atan2": gmpy2.atan2,
    "cbrt": gmpy2.cbrt,
    "cosine": gmpy2.cos,
    "exponential": gmpy2.exp,
    "exponential_minus_one": gmpy2.expm1,
    "log": gmpy2.log,
    "log_plus_one": gmpy2.log1p,
    "logistic": mpfr_logistic,
    "power": lambda x, y: x**y,
    "rsqrt": lambda x: gmpy2.rec_sqrt(x) if x != 0 else 1 / x,  # MPFR's differs for -0
    "sine": gmpy2.sin,
    "sqrt": gmpy2.sqrt,
    "tan": gmpy2.tan,
    "tanh": gmpy2.tanh,
}


def mpfr_context(of):
    """MPFR rounding as an IEEE 754 format of these bits does, subnormals included."""
    form = of.float_format
    emin = form.min_exponent - form.mantissa_bits + 1
    return gmpy2.context(
        precision=form.precision, emax=form.max_exponent + 1, emin=emin, subnormalize=True
    )


def mpfr_values(name, operands, of):
    """The oracle's values as float64. Operands are made outside: they may not fit the context."""
    function = MPFR[name]
    columns = [[gmpy2.mpfr(v, 53) for v in operand.tolist()] for operand in operands]
    with mpfr_context(of):
        return np.array([float(function(*row)) for row in zip(*columns, strict=True)])


def codes(of, count, seed):
    """Random bit patterns."""
    bits = np.random.default_rng(seed).integers(0, 1 << of.bits, count, dtype=np.uint64)
    return to_float64(from_bits(bits.astype(bits_dtype(of)), of))


def around(values, of, steps=3):
    """Values of a type nearest to some numbers, with their neighbours, of both signs."""
    array = round_to(np.asarray(values, np.float64), of)
    found = [array]
    down = -array
    for _ in range(steps):
        array, down = next_up(array), next_up(down)
        found += [array, -down]
    both = np.concatenate([to_float64(part) for part in found])
    return np.concatenate([both, -both])


def hard_values(of):
    """What is hard for some function of one operand."""
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
    values = around([e for e in edges if abs(e) <= top], of)
    return np.concatenate([values, around(turns[turns <= top], of, 1)])


def operands_of(name, of, count):
    """Operands where a function is hard, and random ones, as float64 arrays."""
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
    """Bases with few bits, or next to 1, to exponents that give ties and near ties."""
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
    """Powers of two and others at overflow, underflow and the halves of subnormals."""
    form = of.float_format
    base = np.exp2(generator.integers(-9, 9, count)) * generator.choice([1.0, 1.5, 3.0], count)
    aims = [form.max_exponent + 1, form.min_exponent - form.mantissa_bits - 1, form.min_exponent]
    aim = generator.choice(aims, count) + generator.integers(-2, 3, count)
    with np.errstate(all="ignore"):
        exponent = aim / np.log2(base)
    exponent = np.where(np.isfinite(exponent), exponent, 1.0)
    base = to_float64(round_to(base, of))
    return base, to_float64(round_to(exponent, of))


def assert_same(got, want, operands=()):
    """Equal, or both NaN; and the same zeros."""
    wrong = ~((got == want) | (np.isnan(got) & np.isnan(want)))
    wrong |= (got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want))
    at = np.flatnonzero(wrong)[:5]
    shown = [[operand[i] for operand in operands] for i in at]
    assert not wrong.any(), f"{wrong.sum()} wrong, at {shown}: {got[at]}, not {want[at]}"


@pytest.mark.parametrize("of", [F16, BF16, F32, F64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
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


def nearest(value, values):
    """The nearest of sorted values by the definition, None for a tie."""
    at = bisect_left(values, value)
    if at == 0 or at == len(values):
        return values[min(at, len(values) - 1)]
    below, above = value - values[at - 1], values[at] - value
    return None if below == above else values[at - 1 if below < above else at]


def high_precision(name, row):
    with gmpy2.context(precision=400):
        return MPFR[name](*(gmpy2.mpfr(v) for v in row))


def expected_narrow(value, of, grid):
    """What a high-precision value rounds to; None where that is a tie."""
    form = of.float_format
    if gmpy2.is_nan(value):
        return NAN if form.has_nan else 0.0
    beyond = grid[-1] + (grid[-1] - grid[-2]) / 2 if of.name != "f8E8M0FNU" else grid[-1] * 1.5
    if abs(value) > beyond or gmpy2.is_infinite(value):
        outside = {NonFinite.IEEE: INF, NonFinite.NONE: form.max_finite}
        return float(outside.get(form.non_finite, NAN) * (1 if value > 0 else -1))
    if not form.has_zero and value <= 0:
        return NAN
    return nearest(gmpy2.mpq(value), grid)


@pytest.mark.parametrize("of", NARROW, ids=str)
def test_every_value_of_a_narrow_type(of):
    array = from_bits(np.arange(1 << of.bits, dtype=np.uint8), of)
    values = to_float64(array)
    grid = sorted({float(v) for v in values[np.isfinite(values)]})
    checked = 0
    for name in UNARY:
        got = to_float64(FUNCTIONS[name](array))
        for operand, result in zip(values.tolist(), got.tolist(), strict=True):
            want = expected_narrow(high_precision(name, (operand,)), of, grid)
            if want is not None:
                assert result == want or (np.isnan(result) and np.isnan(want)), (name, operand)
                checked += 1
    assert checked > 0.9 * len(UNARY) * len(values)


@pytest.mark.parametrize("of", NARROW, ids=str)
@pytest.mark.parametrize("name", BINARY)
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


@pytest.mark.parametrize("name", FUNCTIONS)
def test_shapes_types_and_empty_arrays(name):
    for of in (*FLOATS, *COMPLEX):
        for shape in ((), (0,), (2, 3)):
            operand = np.ones(shape, of.storage)
            operands = (operand, operand) if name in BINARY else (operand,)
            got = FUNCTIONS[name](*operands)
            assert isinstance(got, np.ndarray)
            assert (got.shape, got.dtype) == (shape, of.storage)


def ball_values(name, operands, bits=160):
    function = REAL[name].exact
    with working_bits(bits):
        return [function(*row) for row in zip(*(o.tolist() for o in operands), strict=True)]


@pytest.mark.parametrize("of", [F32, F64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_platforms_functions_keep_the_bounds_given_to_them(name, of):
    # Ziv's test is as sure as these bounds: the platform must stay far inside.
    operands = operands_of(name, of, 150)
    dtype = np.longdouble if of is F64 else np.float64
    with np.errstate(all="ignore"):
        values = REAL[name].fast(*(operand.astype(dtype) for operand in operands))
    values = values.astype(np.longdouble)
    trusted = np.isfinite(values) & (np.abs(values) > 1e-300)
    for operand in operands:
        trusted &= np.isfinite(operand) & (operand != 0)
    if name in ("sine", "cosine", "tan") and of is F32:
        trusted &= ~REAL[name].doubtful(values, operands[0])
    index = np.flatnonzero(trusted)
    worst = 0.0
    balls = ball_values(name, [operand[index] for operand in operands])
    for value, ball in zip(values[index], balls, strict=True):
        high = float(value)
        if abs(high) > 1e300:
            continue
        with working_bits(200):
            worst = max(worst, float(abs((exact_ball(value) - ball) / ball).upper()))
    bound = 2.0**-59 if of is F64 and HAS_EXTENDED else 2.0**-47
    if of is F64 and not HAS_EXTENDED:
        bound = 2.0**-47
    assert 0 <= worst < bound / 2


@pytest.mark.parametrize("name", FUNCTIONS)
def test_without_extended_precision_all_results_are_the_same(name, monkeypatch):
    for of, count in ((F64, 40), (F32, 100)):
        operands = [round_to(operand, of) for operand in operands_of(name, of, count)]
        want = FUNCTIONS[name](*operands)
        with monkeypatch.context() as patch:
            patch.setattr(functions, "HAS_EXTENDED", False)
            got = FUNCTIONS[name](*operands)
        assert_same(to_float64(got), to_float64(want), operands)


# Complex


def complex_array(parts, of):
    array = np.empty(parts[0].shape, of.storage)
    array.real, array.imag = (round_to(part.astype(np.float64), of.part) for part in parts)
    return array


def complex_operands(of, count, seed):
    """Finite complex values: of all sizes, ordinary, on the axes, and next to 1."""
    generator = np.random.default_rng(seed)
    ordinary = [generator.standard_normal(count) * 3 for _ in range(2)]
    sizes = np.exp(generator.uniform(-40, 40, (2, count))) * generator.choice([-1, 1], (2, count))
    simple = generator.choice([1.0, -1.0, 0.5, 2.0, -2.0, 1.5, 3.0, 1e-9], (2, count))
    ring = generator.uniform(0, 2 * np.pi, count)
    parts = [
        np.concatenate([ordinary[0], sizes[0], simple[0], np.cos(ring), codes(of.part, count, 1)]),
        np.concatenate([ordinary[1], sizes[1], simple[1], np.sin(ring), codes(of.part, count, 2)]),
    ]
    finite = np.isfinite(parts[0]) & np.isfinite(parts[1])
    return complex_array([np.where(finite, part, 1.0) for part in parts], of)


def mp_log_plus_one(z):
    return mpmath.mpc(mpmath.log(abs(z + 1)), mpmath.atan2(z.imag, z.real + 1))


def mp_atan2(y, x):
    return -1j * mpmath.log((x + 1j * y) / mpmath.sqrt(x * x + y * y))


MPMATH = {
    "atan2": mp_atan2,
    "cbrt": lambda z: mpmath.exp(mpmath.log(z) / 3),
    "cosine": mpmath.cos,
    "exponential": mpmath.exp,
    "exponential_minus_one": lambda z: mpmath.exp(z) - 1,
    "log": mpmath.log,
    "log_plus_one": mp_log_plus_one,
    "logistic": lambda z: 1 / (1 + mpmath.exp(-z)),
    "power": lambda z, w: mpmath.exp(w * mpmath.log(z)),
    "rsqrt": lambda z: 1 / mpmath.sqrt(z),
    "sine": mpmath.sin,
    "sqrt": mpmath.sqrt,
    "tan": mpmath.tan,
    "tanh": mpmath.tanh,
}


def mp_round(value, of):
    """A part to a float of a type, through MPFR; what is below 1e-3000 is cancellation's rest."""
    with mpfr_context(of):
        sign, mantissa, exponent, _ = value._mpf_
        if mantissa == 0:
            return 0.0
        with gmpy2.context(precision=max(2, mantissa.bit_length())):
            exact = gmpy2.mul_2exp(gmpy2.mpfr(int(mantissa)), 0)
            exact = (
                gmpy2.mul_2exp(exact, exponent)
                if exponent >= 0
                else gmpy2.div_2exp(exact, -exponent)
            )
            exact = -exact if sign else exact
    with mpfr_context(of):
        return float(gmpy2.mpfr(exact))


@pytest.mark.parametrize("of", COMPLEX, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_functions_against_mpmath(name, of):
    count = 25 if name in ("power", "logistic") else 40
    operands = [complex_operands(of, count, 11)]
    if name in BINARY:
        operands.append(complex_operands(of, count, 12)[::-1])
    if name == "power":  # an exponent that keeps the result within any range
        size = np.abs(operands[1])
        operands[1] = np.where(size > 30, of.storage.type(2 - 1j), operands[1])
    got = FUNCTIONS[name](*operands)
    checked = 0
    with mpmath.workprec(900):
        for index, row in enumerate(zip(*(o.tolist() for o in operands), strict=True)):
            if any(not 1e-90 < abs(part) < 1e4 for z in row for part in (z.real, z.imag)):
                continue
            if name == "atan2" and sum(mpmath.mpc(z) ** 2 for z in row) == 0:
                continue  # a pole
            value = mpmath.mpc(MPMATH[name](*(mpmath.mpc(z) for z in row)))
            for actual, part in ((got.real, value.real), (got.imag, value.imag)):
                want = 0.0 if abs(part) < 1e-200 else mp_round(part, of.part)
                assert float(actual[index]) == want, (row, actual[index], want)
                checked += 1
    assert checked > 100


@pytest.mark.parametrize("of", COMPLEX, ids=str)
def test_complex_huge_and_tiny_operands_saturate(of):
    big, tiny = of.part.float_format.max_finite, of.part.float_format.smallest
    z = np.array(
        [complex(big, 1), complex(-big, 1), complex(1, big), complex(big, big), complex(tiny, big)],
        of.storage,
    )
    with np.errstate(over="raise"):
        exponential, hyperbolic = FUNCTIONS["exponential"](z), FUNCTIONS["tanh"](z)
        assert exponential[0] == complex(INF, INF)
        assert exponential[1] == 0
        assert hyperbolic[0] == 1
        assert hyperbolic[1] == -1
        sine, cosine = FUNCTIONS["sine"](z), FUNCTIONS["cosine"](z)
        with gmpy2.context(precision=2000):
            s, c = (float(f(gmpy2.mpfr(big))) for f in (gmpy2.sin, gmpy2.cos))
        assert sine[3] == complex(np.copysign(INF, s), np.copysign(INF, c))
        assert cosine[3] == complex(np.copysign(INF, c), np.copysign(INF, -s))
        assert np.isfinite(FUNCTIONS["tan"](z)).all()
        assert np.isfinite(FUNCTIONS["log"](z)).all()
        assert FUNCTIONS["power"](z[:1], z[3:4]).imag != 0


def exact_parts(name, row):
    a, b, c, d = (Fraction(v) for v in row)
    if name == "multiply":
        return a * c - b * d, a * d + b * c
    norm = c * c + d * d
    return (a * c + b * d) / norm, (b * c - a * d) / norm


def round_fraction(value, of):
    """A fraction to a type, by the definition: its two neighbours, and the even one for a tie."""
    near = min(max(value, Fraction(-(2**1100))), Fraction(2**1100))
    with gmpy2.context(precision=2400):
        exact = gmpy2.mpq(near.numerator, near.denominator)
    with mpfr_context(of):
        return float(gmpy2.mpfr(exact))


@pytest.mark.parametrize("of", COMPLEX, ids=str)
@pytest.mark.parametrize("function", [multiply, divide], ids=["multiply", "divide"])
def test_complex_products_and_quotients_against_fractions(function, of):
    lhs, rhs = complex_operands(of, 150, 21), complex_operands(of, 150, 22)[::-1]
    # Cancellation and ties: nearly equal products.
    generator = np.random.default_rng(23)
    near = complex_array([generator.integers(1, 1 << 20, 200) * 1.0 for _ in range(2)], of)
    turned = complex_array([np.real(near), np.imag(near) + generator.integers(-1, 2, 200)], of)
    lhs, rhs = np.concatenate([lhs, near]), np.concatenate([rhs, turned])
    got = function(lhs, rhs)
    for index, (z, w) in enumerate(zip(lhs.tolist(), rhs.tolist(), strict=True)):
        if w == 0:
            continue
        parts = exact_parts(function.__name__, (z.real, z.imag, w.real, w.imag))
        for actual, part in zip((got.real[index], got.imag[index]), parts, strict=True):
            assert float(actual) == round_fraction(part, of.part), (z, w)


def test_complex_products_beyond_the_largest_value():
    big = np.finfo(np.float64).max
    z = np.array([complex(big, -big), complex(-big, big), complex(big, big)])
    got = multiply(z, np.array([1.5 + 0j, complex(big, 2.0**-60), 1 + 1j]))
    np.testing.assert_array_equal(got.real, [INF, -INF, 0])
    np.testing.assert_array_equal(got.imag, [-INF, INF, INF])
    equal = multiply(np.array([complex(big, big)]), np.array([complex(big, -big)]))
    np.testing.assert_array_equal(equal, [complex(INF, 0)])
    assert not np.signbit(equal.imag[0])
    largest = np.array([complex(big, 2.0**-1074)])
    np.testing.assert_array_equal(multiply(largest, np.array([1 + 0j])), largest)
    # Under the tie between the largest value and 2^1024, and over it.
    edge = np.array([complex(-big, -big)])
    under, over = (multiply(edge, np.array([complex(1, -(2.0**-e))])) for e in (54, 53))
    np.testing.assert_array_equal(under, [complex(-big, -big)])
    np.testing.assert_array_equal(over, [complex(-INF, -np.nextafter(big, 0))])


def test_complex_quotients_and_products_that_are_ties():
    # (2^53 + 1) / 2 is a midpoint of no binade; 2^53 + 1 is one, and rounds to even.
    z = np.array([complex(2**53, 2**53), complex(2**52 + 1, 2)])
    np.testing.assert_array_equal(multiply(z[:1], np.array([1 - 1j])), [complex(2**54, 0)])
    got = multiply(z[1:], np.array([2 + 1j]))  # 2^53 + 2 - 2, 2^52 + 1 + 4
    np.testing.assert_array_equal(got, [complex(2**53, 2**52 + 5)])
    tie = multiply(np.array([complex(2**53 - 1, 1)]), np.array([complex(1, -2)]))
    np.testing.assert_array_equal(tie, [complex(2**53, -(2**54) + 4)])


@pytest.mark.parametrize("of", COMPLEX, ids=str)
def test_lengths_against_mpfr(of):
    z = np.concatenate([complex_operands(of, 300, 31), np.array([3 + 4j, 5e-5 + 0j], of.storage)])
    got = absolute(z)
    with mpfr_context(of.part):
        want = [float(gmpy2.hypot(v.real, v.imag)) for v in z.tolist()]
    np.testing.assert_array_equal(got, np.array(want, of.part.storage))
    odd = [
        complex(INF, NAN),
        complex(NAN, -INF),
        complex(-INF, 1),
        complex(NAN, 0),
        complex(0, -0.0),
    ]
    np.testing.assert_array_equal(absolute(np.array(odd, of.storage)), [INF, INF, INF, NAN, 0])


@pytest.mark.parametrize("name", complex_functions.FAST)
def test_the_bounds_of_the_complex_fast_step(name):
    of = COMPLEX[1]
    operands = [complex_operands(of, 100, 71)]
    if name in ("power", "multiply", "divide"):
        operands.append(complex_operands(of, 100, 72)[::-1])
    parts = complex_functions._parts(tuple(operands))
    regular = ~complex_functions._special(name, parts)
    parts = [part[regular] for part in parts]
    with np.errstate(all="ignore"):
        wider = [part.astype(complex_functions.AT_HAND.dtype) for part in parts]
        fast = complex_functions.FAST[name](*wider)
    checked = 0
    for index, row in enumerate(zip(*(part.tolist() for part in parts), strict=True)):
        if any(part != 0 and not 1e-60 < abs(part) < 1e60 for part in row):
            continue
        for part in (0, 1):
            value, error = (array[index] for array in fast[part])
            if not np.isfinite(value) or not 1e-300 < abs(value) < 1e300 or error > abs(value):
                continue
            off = abs(exact_ball(value) - complex_ball(name, part, row))
            assert off <= float(error) / 2, (row, part)
            checked += 1
    assert checked > 200


def exact_ball(value):
    """A longdouble as a ball."""
    high = float(value)
    with working_bits(200):
        return flint.arb(high) + flint.arb(float(value - type(value)(high)))


def complex_ball(name, part, row):
    with working_bits(400):
        if name in ("multiply", "divide"):
            exact = exact_parts(name, row)[part]
            return flint.arb(exact.numerator) / exact.denominator
        return BALLS[name](*row)[part]


@contextmanager
def working_bits(bits):
    before, flint.ctx.prec = flint.ctx.prec, bits
    try:
        yield
    finally:
        flint.ctx.prec = before


COMPLEX_SPECIALS = [
    ("exponential", complex(INF, 0.0), complex(INF, 0.0)),
    ("exponential", complex(-INF, INF), complex(0.0, 0.0)),
    ("exponential", complex(INF, NAN), complex(INF, NAN)),
    ("exponential", complex(NAN, -0.0), complex(NAN, -0.0)),
    ("exponential", complex(1.0, INF), complex(NAN, NAN)),
    ("exponential", complex(0.0, -0.0), complex(1.0, -0.0)),
    ("log", complex(0.0, 0.0), complex(-INF, 0.0)),
    ("log", complex(-0.0, 0.0), complex(-INF, np.pi)),
    ("log", complex(-INF, INF), complex(INF, 3 * np.pi / 4)),
    ("log", complex(NAN, INF), complex(INF, NAN)),
    ("log", complex(-4.0, -0.0), complex(np.log(4.0), -np.pi)),
    ("log_plus_one", complex(-1.0, 0.0), complex(-INF, 0.0)),
    ("sqrt", complex(NAN, INF), complex(INF, INF)),
    ("sqrt", complex(-INF, -1.0), complex(0.0, -INF)),
    ("sqrt", complex(INF, -1.0), complex(INF, -0.0)),
    ("sqrt", complex(-4.0, -0.0), complex(0.0, -2.0)),
    ("sqrt", complex(-0.0, 0.0), complex(0.0, 0.0)),
    ("tanh", complex(INF, 1.0), complex(1.0, 0.0)),
    ("tanh", complex(-INF, 2.0), complex(-1.0, -0.0)),
    ("tanh", complex(NAN, 0.0), complex(NAN, 0.0)),
    ("tanh", complex(-0.0, INF), complex(-0.0, NAN)),
    ("tan", complex(1.0, INF), complex(0.0, 1.0)),
    ("sine", complex(0.0, INF), complex(0.0, INF)),
    ("sine", complex(-0.0, 1.0), complex(-0.0, np.sinh(1.0))),
    ("cosine", complex(0.0, INF), complex(INF, -0.0)),
    ("cosine", complex(0.0, 1.0), complex(np.cosh(1.0), -0.0)),
    ("rsqrt", complex(-4.0, 0.0), complex(0.0, -0.5)),
    ("rsqrt", complex(-4.0, -0.0), complex(0.0, 0.5)),
    ("cbrt", complex(0.0, -0.0), complex(0.0, -0.0)),
    ("logistic", complex(INF, 1.0), complex(1.0, 0.0)),
    ("logistic", complex(-INF, 1.0), complex(0.0, 0.0)),
]


@pytest.mark.parametrize("of", COMPLEX, ids=str)
def test_complex_special_values(of):
    for name, z, want in COMPLEX_SPECIALS:
        got = FUNCTIONS[name](np.array([z], of.storage))
        wanted = np.array([want], of.storage)
        for actual, part in ((got.real, wanted.real), (got.imag, wanted.imag)):
            assert_same(actual, part, [np.array([z])])


def test_complex_powers_that_are_exact():
    z = np.array([2j, -4 + 0j, 1 + 1j, 1j, complex(-4, -0.0), 3 + 4j, 1j, 2 + 2j])
    w = np.array([0.5, 0.5, 2, 3, 0.5, 0.5, 1j, -1])
    want = [1 + 1j, 2j, 2j, -1j, -2j, 2 + 1j, 0.20787957635076190855, 0.25 - 0.25j]
    np.testing.assert_array_equal(FUNCTIONS["power"](z, w), want)


def test_complex_atan2_of_real_operands_is_the_real_one():
    y, x = complex_operands(COMPLEX[1], 60, 41).real, complex_operands(COMPLEX[1], 60, 42).imag
    got = FUNCTIONS["atan2"](y.astype(np.complex128), x.astype(np.complex128))
    np.testing.assert_array_equal(got.real, FUNCTIONS["atan2"](y, x))
    np.testing.assert_array_equal(got.imag, 0)


@pytest.mark.parametrize("of", COMPLEX, ids=str)
def test_complex_without_extended_precision(of, monkeypatch):
    z, w = complex_operands(of, 12, 51), complex_operands(of, 12, 52)[::-1]
    zeros = np.array(
        [complex(x, y) for x in (0.0, -0.0, 2.0, -2.0) for y in (0.0, -0.0)], of.storage
    )
    z, w = np.concatenate([z, zeros]), np.concatenate([w, zeros[::-1]])
    functions = {**FUNCTIONS, "multiply": multiply, "divide": divide}
    for name, function in functions.items():
        operands = (z, w) if name in (*BINARY, "multiply", "divide") else (z,)
        want = function(*operands)
        with monkeypatch.context() as patch:
            patch.setattr(complex_functions, "HAS_EXTENDED", False)
            patch.setattr(complex_functions, "AT_HAND", complex_functions._DOUBLE)
            got, length = function(*operands), absolute(z)
        np.testing.assert_array_equal(to_bits(got), to_bits(want), err_msg=name)
        np.testing.assert_array_equal(length, absolute(z))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wide_real_values_round_to_nearly_all_results(name):
    for of in (BF16, F32, F64):
        operands = [round_to(operand, of) for operand in operands_of(name, of, 100)]
        values = wide(name, *operands)
        assert values.dtype == np.longdouble
        rounded, got = to_float64(round_to(values, of)), to_float64(FUNCTIONS[name](*operands))
        same = (rounded == got) | (np.isnan(rounded) & np.isnan(got))
        assert same.mean() > 0.97


def test_wide_complex_values_round_to_the_results():
    z = complex_operands(COMPLEX[0], 50, 61)
    for name in FUNCTIONS:
        operands = (z, z[::-1]) if name in BINARY else (z,)
        got, (real, imaginary) = FUNCTIONS[name](*operands), wide_complex(name, *operands)
        finite = np.isfinite(real) & np.isfinite(got.real)
        assert finite.mean() > 0.5
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(real[finite], got.real[finite], rtol=2e-6, atol=1e-44)
            finite &= np.isfinite(imaginary) & np.isfinite(got.imag)
            np.testing.assert_allclose(imaginary[finite], got.imag[finite], rtol=2e-6, atol=1e-44)

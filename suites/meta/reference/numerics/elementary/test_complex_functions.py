"""Elementary functions of complex numbers against mpmath, fractions and special values."""

from fractions import Fraction

import flint
import gmpy2
import mpmath
import numpy as np
import pytest

from reference.ir.types import (
    COMPLEX,
    to_bits,
)
from reference.numerics.elementary import complex_functions
from reference.numerics.elementary.complex_balls import BALLS
from reference.numerics.elementary.functions import (
    FUNCTIONS,
    absolute,
    divide,
    multiply,
)
from reference.numerics.rounding import round_to
from suites.meta.support.ops.elementary import (
    BINARY,
    INF,
    NAN,
    codes,
    exact_ball,
    mpfr_context,
    working_bits,
)

# Complex


def complex_array(parts, of):
    array = np.empty(parts[0].shape, of.storage)
    array.real, array.imag = (round_to(part.astype(np.float64), of.part) for part in parts)
    return array


def complex_operands(of, count, seed):
    """Return finite complex values: of all sizes, ordinary, on the axes, and next to 1."""
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
    "acos": mpmath.acos,
    "acosh": mpmath.acosh,
    "asin": mpmath.asin,
    "asinh": mpmath.asinh,
    "atan": mpmath.atan,
    "atan2": mp_atan2,
    "atanh": mpmath.atanh,
    "bessel_i1e": lambda z: mpmath.exp(-abs(z.real)) * mpmath.besseli(1, z),
    "cosh": mpmath.cosh,
    "sinh": mpmath.sinh,
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
    """Return a part to a float of a type, through MPFR; what is below 1e-3000 is cancellation's
    rest.
    """
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
@pytest.mark.parametrize("name", MPMATH)
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


def exact_parts(name, row):
    a, b, c, d = (Fraction(v) for v in row)
    if name == "multiply":
        return a * c - b * d, a * d + b * c
    norm = c * c + d * d
    return (a * c + b * d) / norm, (b * c - a * d) / norm


def round_fraction(value, of):
    """Round a fraction to a type, by the definition: the nearest neighbour, and the even neighbour
    for a tie.
    """
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
    regular = ~complex_functions._mask_of_special(name, parts)
    parts = [part[regular] for part in parts]
    with np.errstate(all="ignore"):
        wider = [part.astype(complex_functions.AVAILABLE.dtype) for part in parts]
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


def complex_ball(name, part, row):
    with working_bits(400):
        if name in ("multiply", "divide"):
            exact = exact_parts(name, row)[part]
            return flint.arb(exact.numerator) / exact.denominator
        return BALLS[name](*row)[part]


def test_complex_powers_that_are_exact():
    z = np.array([2j, -4 + 0j, 1 + 1j, 1j, complex(-4, -0.0), 3 + 4j, 1j, 2 + 2j])
    w = np.array([0.5, 0.5, 2, 3, 0.5, 0.5, 1j, -1])
    want = [1 + 1j, 2j, 2j, -1j, -2j, 2 + 1j, 0.20787957635076190855, 0.25 - 0.25j]
    np.testing.assert_array_equal(FUNCTIONS["power"](z, w), want)


@pytest.mark.parametrize("of", COMPLEX, ids=str)
def test_complex_without_extended_precision(of, monkeypatch):
    z, w = complex_operands(of, 12, 51), complex_operands(of, 12, 52)[::-1]
    zeros = np.array(
        [complex(x, y) for x in (0.0, -0.0, 2.0, -2.0) for y in (0.0, -0.0)], of.storage
    )
    z, w = np.concatenate([z, zeros]), np.concatenate([w, zeros[::-1]])
    functions = {
        **{name: FUNCTIONS[name] for name in MPMATH},
        "multiply": multiply,
        "divide": divide,
    }
    for name, function in functions.items():
        operands = (z, w) if name in (*BINARY, "multiply", "divide") else (z,)
        want = function(*operands)
        with monkeypatch.context() as patch:
            patch.setattr(complex_functions, "HAS_EXTENDED", False)
            patch.setattr(complex_functions, "AVAILABLE", complex_functions._DOUBLE)
            got, length = function(*operands), absolute(z)
        np.testing.assert_array_equal(to_bits(got), to_bits(want), err_msg=name)
        np.testing.assert_array_equal(length, absolute(z))

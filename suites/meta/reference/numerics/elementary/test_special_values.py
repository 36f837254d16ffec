"""Poles, infinities, branch points and special functions, against Annex G and mpmath."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from reference.ir.types import ELEMENT_TYPES, ElementType
from reference.numerics.elementary import complex_specials as specials
from reference.numerics.elementary.functions import FUNCTIONS
from reference.numerics.elementary.inverse_balls import INVERSE_BALLS
from reference.numerics.rounding import round_to, to_float64
from suites.meta.support.ops.elementary import assert_same, mpfr_context, round_mpmath, working_bits

INF, NAN, PI = math.inf, math.nan, math.pi
Pair = tuple[float, float]


def value_at(function: Callable[..., specials.Parts], *parts: float) -> Pair:
    with np.errstate(all="ignore"):
        real, imaginary = function(*(np.array(part) for part in parts))
    return float(real), float(imaginary)


def are_same(found: Pair, wanted: Pair) -> bool:
    """Return whether both parts are the same, signs of zeros included."""
    return all(
        (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
        for a, b in zip(found, wanted, strict=True)
    )


@pytest.mark.parametrize(
    ("name", "z", "wanted"),
    [
        ("exponential", (-INF, INF), (0.0, 0.0)),
        ("exponential", (-INF, -INF), (0.0, -0.0)),
        ("exponential", (INF, 0.0), (INF, 0.0)),
        ("exponential", (INF, -0.0), (INF, -0.0)),
        ("exponential", (INF, NAN), (INF, NAN)),
        ("exponential", (NAN, 0.0), (NAN, 0.0)),
        ("exponential", (NAN, 1.0), (NAN, NAN)),
        ("exponential_minus_one", (-INF, 0.0), (-1.0, 0.0)),
        ("log", (-0.0, 0.0), (-INF, PI)),
        ("log", (0.0, -0.0), (-INF, -0.0)),
        ("log", (INF, INF), (INF, PI / 4)),
        ("log", (-INF, 1.0), (INF, PI)),
        ("log_plus_one", (-1.0, 0.0), (-INF, 0.0)),
        ("logistic", (INF, 0.0), (1.0, 0.0)),
        ("logistic", (-INF, 3.0), (-0.0, 0.0)),
        ("logistic", (-INF, -1.0), (0.0, -0.0)),
        ("logistic", (1.0, INF), (NAN, NAN)),
        ("sine", (0.0, INF), (0.0, INF)),
        ("sine", (-0.0, NAN), (-0.0, NAN)),
        ("sine", (INF, 0.0), (NAN, 0.0)),
        ("cosine", (0.0, INF), (INF, -0.0)),
        ("cosine", (INF, 0.0), (NAN, -0.0)),
        ("tanh", (INF, 1.0), (1.0, 0.0)),
        ("tanh", (-INF, 2.0), (-1.0, -0.0)),
        ("tanh", (0.0, INF), (0.0, NAN)),
        ("tanh", (NAN, 0.0), (NAN, 0.0)),
        ("tan", (1.0, INF), (0.0, 1.0)),
        ("tan", (0.0, NAN), (0.0, NAN)),
        ("sqrt", (-0.0, 0.0), (0.0, 0.0)),
        ("sqrt", (0.0, -0.0), (0.0, -0.0)),
        ("sqrt", (NAN, INF), (INF, INF)),
        ("sqrt", (1.0, -INF), (INF, -INF)),
        ("sqrt", (-INF, 1.0), (0.0, INF)),
        ("sqrt", (-INF, -1.0), (0.0, -INF)),
        ("sqrt", (-INF, NAN), (NAN, INF)),
        ("sqrt", (INF, -1.0), (INF, -0.0)),
        ("sqrt", (INF, NAN), (INF, NAN)),
        ("sqrt", (NAN, 1.0), (NAN, NAN)),
        ("rsqrt", (0.0, -0.0), (INF, 0.0)),
        ("rsqrt", (INF, 1.0), (0.0, -0.0)),
        ("rsqrt", (NAN, 1.0), (NAN, NAN)),
        ("cbrt", (0.0, 0.0), (0.0, 0.0)),
        ("cbrt", (INF, 0.0), (INF, 0.0)),
        ("exponential", (NAN, -0.0), (NAN, -0.0)),
        ("exponential", (1.0, INF), (NAN, NAN)),
        ("exponential", (0.0, -0.0), (1.0, -0.0)),
        ("log", (0.0, 0.0), (-INF, 0.0)),
        ("log", (-INF, INF), (INF, 3 * PI / 4)),
        ("log", (NAN, INF), (INF, NAN)),
        ("sqrt", (-4.0, -0.0), (0.0, -2.0)),
        ("tanh", (-0.0, INF), (-0.0, NAN)),
        ("rsqrt", (-4.0, 0.0), (0.0, -0.5)),
        ("rsqrt", (-4.0, -0.0), (0.0, 0.5)),
        ("cbrt", (0.0, -0.0), (0.0, -0.0)),
        ("logistic", (INF, 1.0), (1.0, 0.0)),
        ("logistic", (-INF, 1.0), (0.0, 0.0)),
    ],
)
def test_values_of_annex_g(name: str, z: Pair, wanted: Pair) -> None:
    for storage in (np.complex64, np.complex128):
        with np.errstate(all="ignore"):
            found = FUNCTIONS[name](np.array(complex(*z), storage))
        rounded = np.array(complex(*wanted), storage)
        assert are_same((found.real, found.imag), (rounded.real, rounded.imag))


@pytest.mark.parametrize(
    ("z", "w", "wanted"),
    [
        ((INF, 0.0), (0.0, 0.0), (1.0, 0.0)),
        ((NAN, NAN), (0.0, -0.0), (1.0, 0.0)),
        ((0.0, 0.0), (2.0, 0.0), (0.0, 0.0)),
        ((0.0, 0.0), (-1.0, 0.0), (INF, 0.0)),
        ((NAN, 0.0), (1.0, 0.0), (NAN, NAN)),
    ],
)
def test_powers(z: Pair, w: Pair, wanted: Pair) -> None:
    found = value_at(specials.power, *z, *w)
    assert are_same((found[0], abs(found[1])), wanted)


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        ((1.0, -1.0), (0.0, 0.0), (INF, -INF)),
        ((1.0, 0.0), (-0.0, 0.0), (-INF, NAN)),
        ((NAN, NAN), (0.0, 0.0), (NAN, NAN)),
        ((INF, 1.0), (1.0, 1.0), (INF, -INF)),
        ((1.0, 1.0), (INF, 0.0), (0.0, 0.0)),
        ((1.0, 2.0), (-INF, 1.0), (-0.0, -0.0)),
        ((INF, 0.0), (INF, 0.0), (NAN, NAN)),
        ((1.0, 1.0), (NAN, 0.0), (NAN, NAN)),
    ],
)
def test_quotients(a: Pair, b: Pair, wanted: Pair) -> None:
    assert are_same(value_at(specials.divide, *a, *b), wanted)


@pytest.mark.parametrize(
    ("y", "x", "wanted"),
    [
        ((1.0, 0.0), (-INF, 0.0), (PI, 0.0)),
        ((-0.0, 0.0), (-1.0, 0.0), (-PI, 0.0)),
        ((1.0, 2.0), (-2.0, 1.0), (NAN, -INF)),  # y = ix turned back: x = -iy
        ((1.0, 2.0), (2.0, -1.0), (NAN, INF)),
        ((1.0, INF), (1.0, 0.0), (NAN, NAN)),
    ],
)
def test_atan2(y: Pair, x: Pair, wanted: Pair) -> None:
    assert are_same(value_at(specials.atan2, *y, *x), wanted)


PARTS = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, INF, -INF, NAN)
INVERSE = sorted(INVERSE_BALLS.keys() - {"bessel_i1e"})


@pytest.mark.parametrize("name", INVERSE)
def test_values_on_the_axes_and_at_infinity_are_pythons(name: str) -> None:
    checked = 0
    for z in (complex(x, y) for x in PARTS for y in PARTS):
        try:
            want = getattr(cmath, name)(z)
        except ValueError:  # a pole
            continue
        with np.errstate(all="ignore"):
            got = complex(FUNCTIONS[name](np.array([z]))[0])
        is_open = math.isinf(z.real) and math.isnan(z.imag)  # a sign that Annex G leaves open
        for part in ("real", "imag"):
            a, b = getattr(got, part), getattr(want, part)
            if math.isnan(b):
                assert math.isnan(a) or (name == "acosh" and z.real == 0), (z, got, want)
                continue
            a, b = (abs(a), abs(b)) if is_open else (a, b)
            assert math.isclose(a, b, rel_tol=1e-15), (z, got, want)
            assert math.copysign(1, a) == math.copysign(1, b), (z, got, want)
            checked += 1
    assert checked > 100


def test_poles_are_infinite() -> None:
    with np.errstate(all="ignore"):
        assert FUNCTIONS["atanh"](np.array([1 + 0j, complex(-1, -0.0)])).tolist() == [
            complex(INF, 0), complex(-INF, -0.0),
        ]  # fmt: skip
        assert FUNCTIONS["atan"](np.array([1j])).tolist() == [complex(0, INF)]


def test_tiny_parts_keep_their_relative_accuracy() -> None:
    with working_bits(4000):
        _, imaginary = INVERSE_BALLS["asin"](0.5, 1e-300)
        assert math.isclose(float(imaginary), 1e-300 / math.sqrt(0.75))


TYPES = [ELEMENT_TYPES[name] for name in ("f16", "bf16", "f32", "f64")]

POLES = [
    ("bessel_i1e", (-0.0,), -0.0),
    ("bessel_i1e", (-INF,), -0.0),
    ("digamma", (0.0,), -INF),
    ("digamma", (-0.0,), INF),
    ("digamma", (-2.0,), NAN),
    ("digamma", (INF,), INF),
    ("digamma", (-INF,), NAN),
    ("erf_inv", (-0.0,), -0.0),
    ("erf_inv", (-1.0,), -INF),
    ("erf_inv", (1.5,), NAN),
    ("erfc", (-INF,), 2.0),
    ("erfc", (INF,), 0.0),
    ("lgamma", (0.0,), INF),
    ("lgamma", (-3.0,), INF),
    ("lgamma", (-INF,), INF),
    ("lgamma", (1.0,), 0.0),
    ("lgamma", (2.0,), 0.0),
    ("zeta", (2.0, INF), 0.0),
    ("zeta", (2.0, 0.0), INF),
    ("zeta", (2.0, -1.0), INF),
    ("zeta", (2.5, -0.0), INF),
    ("zeta", (2.5, -1.5), NAN),
    ("zeta", (1.0, 3.0), INF),
    ("zeta", (INF, 1.0), 1.0),
    ("zeta", (INF, 0.5), INF),
    ("zeta", (INF, 2.0), 0.0),
    ("zeta", (NAN, 2.0), NAN),
    ("zeta", (2.0, NAN), NAN),
    ("polygamma", (0.0, 0.0), -INF),
    ("polygamma", (2.0, -0.0), INF),
    ("polygamma", (1.0, -2.0), INF),
    ("polygamma", (1.0, INF), 0.0),
    ("polygamma", (2.0, INF), -0.0),
    ("polygamma", (0.0, INF), INF),
    ("polygamma", (0.5, 2.0), NAN),
    ("polygamma", (-1.0, 2.0), NAN),
    ("polygamma", (1.0, NAN), NAN),
]


@pytest.mark.parametrize("of", TYPES, ids=str)
def test_poles_limits_and_values_outside_of_the_domain(of: ElementType) -> None:
    for name, operands, want in POLES:
        got = to_float64(FUNCTIONS[name](*(round_to(np.array([v]), of) for v in operands)))
        assert_same(got, np.array([want]), [np.array([v]) for v in operands])


def hurwitz(s: float, q: float) -> mpmath.mpf:
    """Return the sum of (q + n)^-s, with the terms of negative bases added one by one."""
    below = max(0, -math.floor(q))
    terms = ((mpmath.mpf(q) + n) ** -mpmath.mpf(s) for n in range(below))
    return mpmath.fsum(terms) + mpmath.zeta(s, mpmath.mpf(q) + below)


def polygamma(n: float, x: float) -> mpmath.mpf:
    """Return a derivative of digamma by the sum of zeta."""
    if n == 0:
        return mpmath.digamma(x)
    return (-1) ** int(n + 1) * mpmath.factorial(n) * hurwitz(n + 1, x)


ORDERS = (0, 1, 2, 3, 7, 12, 40)
ARGUMENTS = (1e-3, 0.25, 0.5, 1.0, 1.75, 3.0, 20.5, 300.0, -0.5, -0.75, -2.25, -3.5, -5.625)


@pytest.mark.parametrize("of", TYPES, ids=str)
@pytest.mark.parametrize(("name", "oracle"), [("polygamma", polygamma), ("zeta", hurwitz)])
def test_functions_of_two_numbers_against_mpmath(name: str, oracle, of: ElementType) -> None:
    first = [n + 2 for n in ORDERS] if name == "zeta" else ORDERS
    pairs = [(float(n), x) for n in first for x in ARGUMENTS]
    if name == "zeta":
        pairs += [(s, q) for s in (1.0625, 1.5, 2.75, 30.25) for q in ARGUMENTS if q > 0]
    operands = [round_to(np.array(column), of) for column in zip(*pairs, strict=True)]
    rows = zip(*(to_float64(operand).tolist() for operand in operands), strict=True)
    with mpmath.workprec(700), mpfr_context(of):
        want = [float(round_mpmath(oracle(*row))) for row in rows]
    got = to_float64(FUNCTIONS[name](*operands))
    assert_same(got, np.array(want), [to_float64(operand) for operand in operands])


@pytest.mark.parametrize(
    ("pair", "want"),
    [
        ((1e30, 1.5), 0.0), ((1e30, 0.5), INF), ((1e38, 1e37), 0.0), ((1e38, -1.25), INF),
        ((2.0**53 + 2, -2.5), INF), ((1 + 2.0**-47, 3e304), 140737488354626.92),
    ],
)  # fmt: skip
def test_arguments_far_beyond_the_range_of_results(pair: tuple[float, float], want: float) -> None:
    assert FUNCTIONS["zeta"](*(np.array([one]) for one in pair)) == want


def test_huge_orders_of_polygamma_keep_their_sign() -> None:
    n, x = np.array([1e20, 1e20, 9.6e18, 7e6 + 1]), np.array([3.0, 1e30, -3.5, 1e12])
    got = FUNCTIONS["polygamma"](n, x)
    assert got.tolist()[0] == -INF
    assert np.signbit(got).tolist() == [True, True, True, False]
    assert got[1] == got[2] == got[3] == 0 or got[2] == -INF


def test_products_are_those_of_ieee_arithmetic() -> None:
    assert are_same(value_at(specials.multiply, INF, 0.0, 1.0, 0.0), (INF, NAN))
    assert are_same(value_at(specials.multiply, 1.0, 2.0, 3.0, 4.0), (-5.0, 10.0))

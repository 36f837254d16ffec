"""Gamma, zeta, Bessel and error functions: poles and limits, and other values against mpmath."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from reference.ir.types import ELEMENT_TYPES, ElementType
from reference.numerics.elementary import special_functions
from reference.numerics.elementary.functions import FUNCTIONS
from reference.numerics.rounding import round_to, to_float64
from suites.meta.support.ops.elementary import assert_same, mpfr_context, round_mpmath

INF, NAN = math.inf, math.nan
TYPES = [ELEMENT_TYPES[name] for name in ("f16", "bf16", "f32", "f64")]

SPECIAL_VALUES = [
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
    for name, operands, want in SPECIAL_VALUES:
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


def test_certified_values_are_those_of_the_exact_function() -> None:
    values = special_functions.certified_values(
        special_functions.zeta_ball, special_functions.zeta_specials
    )
    operands = np.array([[2.0, 3.0], [NAN, 2.0]]), np.array([[1.0, INF], [1.0, 0.0]])
    np.testing.assert_array_equal(values(*operands), [[np.pi**2 / 6, 0], [NAN, INF]])
    assert values(np.float64(2.0), np.float64(1.0)) == np.pi**2 / 6

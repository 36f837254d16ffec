"""Complex functions at infinities, NaN, poles and branch points, as in Annex G of C23."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from reference.numerics.elementary import complex_specials as specials

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
        ("logistic", (-INF, PI), (-0.0, 0.0)),
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
    ],
)
def test_values_of_annex_g(name: str, z: Pair, wanted: Pair) -> None:
    assert are_same(value_at(specials.SPECIALS[name], *z), wanted)


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


def test_products_are_those_of_ieee_arithmetic() -> None:
    assert are_same(value_at(specials.multiply, INF, 0.0, 1.0, 0.0), (INF, NAN))
    assert are_same(value_at(specials.multiply, 1.0, 2.0, 3.0, 4.0), (-5.0, 10.0))


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

"""Unrounded products, and sums of them rounded once, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference.ir.types import ELEMENT_TYPES, Array
from reference.numerics.rounding import HAS_EXTENDED, to_float64
from reference.numerics.unrounded import rounded_sum, unrounded_number, unrounded_product

COUNT = 400
pytestmark = pytest.mark.skipif(not HAS_EXTENDED, reason="long doubles are doubles here")


def _is_nearest(exact: Fraction, got: Array) -> bool:
    """Return whether no number of the type is nearer."""
    around = (np.nextafter(got, np.array(way, got.dtype)) for way in (np.inf, -np.inf))
    error = abs(exact - Fraction(float(got)))
    return all(error <= abs(exact - Fraction(float(one))) for one in around)


@pytest.mark.parametrize("name", ["f64", "f32", "bf16"])
@pytest.mark.parametrize("cancelling", [True, False])
def test_a_product_and_a_number_are_added_in_one_rounding(name: str, *, cancelling: bool) -> None:
    of, random = ELEMENT_TYPES[name], np.random.default_rng(5)
    x, y = (random.standard_normal(COUNT).astype(of.storage) for _ in range(2))
    scale = 10.0 ** random.integers(-20, 20, COUNT)
    z = (random.standard_normal(COUNT) * scale).astype(of.storage)
    if cancelling:
        z = (-(to_float64(x) * to_float64(y))).astype(of.storage)
    got = rounded_sum(unrounded_product(x, y), unrounded_number(z), of)
    assert got.dtype == of.storage
    for a, b, c, result in zip(x, y, z, got, strict=True):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        assert _is_nearest(exact, result)


def test_two_products_are_added_exactly() -> None:
    x, y = (np.random.default_rng(seed).standard_normal(COUNT) for seed in (1, 2))
    near = np.nextafter(y, 0)
    got = rounded_sum(unrounded_product(x, y), -unrounded_product(x, near), ELEMENT_TYPES["f64"])
    exact = [
        Fraction(a) * (Fraction(b) - Fraction(c))
        for a, b, c in zip(x.tolist(), y.tolist(), near.tolist(), strict=True)
    ]
    assert got.tolist() == [float(one) for one in exact]


def test_unrounded_product_does_not_overflow() -> None:
    large, f64 = np.array([1e200, 1e200, np.inf]), ELEMENT_TYPES["f64"]
    other = unrounded_number(np.array([-np.inf, 0.0, 1.0]))
    assert rounded_sum(unrounded_product(large, large), other, f64).tolist() == [
        -np.inf,
        np.inf,
        np.inf,
    ]
    taken = unrounded_product(large, np.array([2.0, 3.0, 4.0])).take(np.array([[1, 0]]))
    assert taken.high.astype(np.float64).tolist() == [[3e200, 2e200]]

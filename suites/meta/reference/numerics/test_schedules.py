"""Second bounds of long sums permit what machines do, and show lost elements."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.types import Array, ElementType, element_type, element_type_of
from reference.numerics.products import magnitudes
from reference.numerics.schedules import LIKELY, growth_of_sum, order_factor, order_factors

RNG = np.random.default_rng(0)
LONG = 1000
DATA: dict[str, Array] = {
    "positive": RNG.random((LONG, 8)),
    "of both signs": RNG.standard_normal((LONG, 8)),
    "of many magnitudes": np.exp(1.5 * RNG.standard_normal((LONG, 8))),
    "equal": np.full((LONG, 8), 0.1),
    "rounded down in each step": np.r_[np.ones((1, 8)), np.full((LONG - 1, 8), 1.4 * 2.0**-23)],
    "alternating": np.tile([[1.1], [-1.0]], (LONG // 2, 8)),
}
TYPES = tuple(map(element_type, ("f32", "f16", "bf16", "f8E5M2")))


def growths(rows: Array) -> Array:
    """Return the errors of sums by tiles of several sizes and by halves, in units of sum|x|."""
    wide = rows.astype(np.float64)
    sums = [add_by_tiles(rows, size) for size in (4, 16, 32, 128)] + [add_by_halves(rows)]
    errors = [np.abs(one.astype(np.float64) - wide.sum(axis=0)) for one in sums]
    return np.array(errors) / np.abs(wide).sum(axis=0)


def add_by_tiles(rows: Array, size: int) -> Array:
    """Return sums of the sums of so many consecutive rows."""
    tiles = [np.add.accumulate(rows[at : at + size])[-1] for at in range(0, len(rows), size)]
    return np.add.accumulate(np.array(tiles))[-1]


def add_by_halves(rows: Array) -> Array:
    """Return sums of both halves, halved in turn."""
    middle = len(rows) // 2
    return rows[0] if not middle else add_by_halves(rows[:middle]) + add_by_halves(rows[middle:])


@pytest.mark.parametrize("of", TYPES, ids=str)
@pytest.mark.parametrize("name", DATA)
def test_orders_of_machines_are_within_the_bound(name: str, of: ElementType) -> None:
    rows = DATA[name].astype(of.storage)
    u = 2.0 ** -element_type_of(rows).float_format.precision
    limit = growth_of_sum(len(rows), u, order_factor(rows)) + u
    assert (growths(rows) <= limit).all()


@pytest.mark.parametrize("name", ["positive", "of both signs", "of many magnitudes"])
def test_random_numbers_have_the_likely_bound(name: str) -> None:
    assert order_factor(DATA[name].astype(np.float32)) == LIKELY


@pytest.mark.parametrize("name", ["equal", "rounded down in each step"])
def test_errors_of_one_direction_have_a_larger_bound(name: str) -> None:
    factor = order_factor(DATA[name].astype(np.float32))
    assert factor > LIKELY
    assert growth_of_sum(LONG, 1.0, factor) <= LONG


def test_few_numbers_have_the_worst_case() -> None:
    assert growth_of_sum([0, 1, 20, 100], 1.0).tolist() == [0, 1, 20, 10 * LIKELY]


def test_a_lost_element_of_many_is_beyond_the_bound() -> None:
    """One of 4,096 numbers is within the worst case."""
    (lost, *_), total, u = np.full(4096, 0.7), 4096 * 0.7, 2.0**-24
    assert growth_of_sum(4096, u) * total < lost < 4 * 4096 * u * total


@pytest.mark.parametrize("shape", [(1, 1), (30, 5), (400, 300)])
def test_products_have_the_factor_of_their_terms(shape: tuple[int, int]) -> None:
    """The factor is that of terms that are equal, for each element of the products."""
    lhs, rhs = np.full((2, shape[0], LONG), 0.1), np.ones((2, LONG, shape[1]))
    factors = order_factors(element_type("f32"))(lhs, rhs)
    assert factors.shape == magnitudes(lhs, rhs).shape
    assert (factors == order_factor(np.full((LONG, 1), 0.1, np.float32))).all()
    complex_factors = order_factors(element_type("f32"))(lhs + 0j, rhs)
    assert complex_factors.shape == factors.shape
    assert complex_factors.max() > LIKELY


def test_products_of_few_terms_have_the_likely_factor() -> None:
    factors = order_factors(element_type("f32"))(np.ones((3, 2)), np.ones((2, 0)))
    assert factors.shape == (3, 0)
    assert (order_factors(element_type("f64"))(np.ones((3, 2)), np.ones((2, 4))) == LIKELY).all()

"""Properties of each monoid, checked on its numpy function."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.monoid import MONOIDS, Monoid

NUMBERS = np.array([0, 1, 2, 3, 5, 8, 17, 250], np.uint8)
X, Y, Z = np.ix_(NUMBERS, NUMBERS, NUMBERS)
LOGICAL = np.array([False, True])


@pytest.mark.parametrize("monoid", MONOIDS.values(), ids=lambda monoid: monoid.name)
class TestEachMonoid:
    def test_order_and_grouping_do_not_matter(self, monoid: Monoid) -> None:
        op = monoid.ufunc
        assert np.array_equal(op(op(X, Y), Z), op(X, op(Y, Z)))
        assert np.array_equal(op(X, Y), op(Y, X))

    def test_idempotence(self, monoid: Monoid) -> None:
        assert np.array_equal(monoid.ufunc(NUMBERS, NUMBERS), NUMBERS) == monoid.idempotent
        assert np.array_equal(monoid.logical(LOGICAL, LOGICAL), LOGICAL) == (monoid.name != "xor")

    def test_bitwise_ops_act_on_each_bit_alone(self, monoid: Monoid) -> None:
        low = np.uint8(15)
        halves = monoid.ufunc(X & low, Y & low) | monoid.ufunc(X & ~low, Y & ~low)
        assert np.array_equal(monoid.ufunc(X, Y), halves) == monoid.bitwise

    def test_an_extremum_is_on_the_side_that_its_sign_says(self, monoid: Monoid) -> None:
        least, greatest = np.minimum(X, Y), np.maximum(X, Y)
        found = {
            side for side, values in ((-1, least), (1, greatest))
            if np.array_equal(monoid.ufunc(X, Y), values)
        }  # fmt: skip
        assert found == ({monoid.extremum} - {0})

    def test_on_booleans_it_is_the_op_on_0_and_1(self, monoid: Monoid) -> None:
        """Every result over 0 is true, such as 1 + 1."""
        lhs, rhs = np.ix_(LOGICAL, LOGICAL)
        numbers = monoid.ufunc(lhs.astype(np.uint8), rhs.astype(np.uint8)) != 0
        assert np.array_equal(monoid.logical(lhs, rhs), numbers)


def test_only_sums_and_products_round() -> None:
    assert {name for name, one in MONOIDS.items() if one.rounds} == {"add", "multiply"}

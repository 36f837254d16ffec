"""Masks of exact results agree with rational arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from reference.ir.types import Array
from reference.numerics.exactness import (
    is_exact_conversion,
    is_exact_difference,
    is_exact_product,
    is_exact_quotient,
    is_exact_square_root,
    is_exact_sum,
)

RANDOM = np.random.default_rng(7)
SHORT = RANDOM.integers(-64, 64, 300).astype("f8") / 8
LONG = RANDOM.standard_normal(300)
PAIRS = [(SHORT, RANDOM.permutation(SHORT)), (LONG, RANDOM.permutation(LONG)), (SHORT, LONG)]

Rational = Callable[[Fraction, Fraction], Fraction]


def as_fractions(array: Array) -> list[Fraction]:
    return [Fraction(float(number)) for number in array]


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["f2", "f4", "f8"])
@pytest.mark.parametrize(
    ("mask_of", "rounded", "exact"),
    [
        (is_exact_sum, np.add, lambda x, y: x + y),
        (is_exact_difference, np.subtract, lambda x, y: x - y),
        (is_exact_product, np.multiply, lambda x, y: x * y),
    ],
)
def test_sums_and_products_are_exact_if_rational_arithmetic_says_so(
    storage: str, mask_of: Callable[..., Array], rounded: np.ufunc, exact: Rational
) -> None:
    masks: list[bool] = []
    for pair in PAIRS:
        lhs, rhs = (array.astype(storage) for array in pair)
        result = rounded(lhs, rhs)
        wanted = [
            exact(x, y) == z for x, y, z in zip(*map(as_fractions, (lhs, rhs, result)), strict=True)
        ]
        assert list(mask_of((lhs, rhs), result)) == wanted
        masks += wanted
    assert {*masks} == {True, False}


@pytest.mark.parametrize("storage", ["f4", "f8"])
def test_quotients_and_roots_are_exact_if_multiplying_back_is(storage: str) -> None:
    numerator, divisor = np.array([1, 6, 1, 10, 0], storage), np.array([3, 3, 8, 4, 7], storage)
    quotients = is_exact_quotient((numerator, divisor), numerator / divisor)
    assert list(quotients) == [False, True, True, True, True]
    operand = np.array([2, 4, 2.25, 1e-8], storage)
    assert list(is_exact_square_root((operand,), np.sqrt(operand))) == [False, True, True, False]


def test_a_product_whose_error_term_underflows_is_not_called_exact() -> None:
    tiny = np.array([1.1 * 2.0**-500])
    assert not is_exact_product((tiny, tiny), tiny * tiny)[0]


def test_complex_products_are_exact_if_all_their_steps_are() -> None:
    lhs, rhs = np.array([1 + 2j, 0.1 + 1j], "c8"), np.array([3 - 1j, 0.1 + 1j], "c8")
    assert list(is_exact_product((lhs, rhs), lhs * rhs)) == [True, False]


@pytest.mark.parametrize(
    ("of", "to", "values", "exact"),
    [
        ("f8", "f4", [0.5, 0.1], [True, False]),
        ("i4", "f4", [2**24, 2**24 + 1], [True, False]),
        ("i8", "f8", [2**53, 2**53 + 1], [True, False]),
        ("i8", "i4", [1, 2], [False, False]),
        ("i4", "i8", [1, 2], [True, True]),
        ("c16", "c8", [0.5 + 1j, 0.1j], [True, False]),
    ],
)
def test_conversions_are_exact_if_the_value_is_the_same(
    of: str, to: str, values: list[complex], exact: list[bool]
) -> None:
    operand = np.array(values, of)
    assert list(is_exact_conversion((operand,), operand.astype(to))) == exact

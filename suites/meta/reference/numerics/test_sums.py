"""Folds, sums and products: rounded once, in any order, exact or not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from math import inf, nan

import numpy as np
import pytest

from reference.ir.monoid import ADD, AND, MAXIMUM, MINIMUM, MONOIDS, MULTIPLY, OR, XOR, Monoid
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type, element_type_of
from reference.numerics import accumulation
from reference.numerics.contributions import Slices
from reference.numerics.exactness import (
    is_exact_conversion,
    is_exact_difference,
    is_exact_product,
    is_exact_quotient,
    is_exact_square_root,
    is_exact_sum,
)
from reference.numerics.monoids import all_negative_zeros, can_fold, fold
from reference.numerics.products import magnitudes, matmul, to_wide_type
from reference.numerics.schedules import LIKELY, growth_of_sum, order_factor, order_factors
from reference.numerics.spectra import hermitian_eigenvalues, singular_values

BIG, HALF_BIG, TINY = 3e38, 2e38, 2.0**-126  # of f32, whose largest number is 3.4e38


def leaves(row: list[complex], of: str = "f32", init: complex = 0) -> tuple[Array, Array, Slices]:
    storage = element_type(of).storage
    return (
        np.array([row]).astype(storage),
        np.array(init).astype(storage),
        Slices((1, len(row)), (1,)),
    )


@pytest.mark.parametrize(
    ("row", "depends"),
    [
        ([HALF_BIG, HALF_BIG, -HALF_BIG], True),
        ([HALF_BIG, HALF_BIG], False),  # infinite in any order
        ([HALF_BIG, -HALF_BIG, 1], False),
        ([np.inf, -1], False),
        ([np.inf, -HALF_BIG, -HALF_BIG], True),  # -inf may come first, and then NaN
        ([-np.inf, HALF_BIG, HALF_BIG], True),
        ([-np.inf, -HALF_BIG, -HALF_BIG], False),
        ([np.inf, -np.inf, HALF_BIG, HALF_BIG], False),  # NaN in any order
        ([np.nan, HALF_BIG, HALF_BIG, -HALF_BIG], False),
        ([1, 2, 3], False),
    ],
)
def test_the_order_of_a_sum_decides_about_infinities(row: list[float], depends: bool) -> None:
    assert accumulation.sum_may_overflow(*leaves(row)).tolist() == [depends]


def test_overflow_without_an_infinity_is_open_in_any_order() -> None:
    def depends(*row: float) -> list[bool]:
        return accumulation.sum_may_overflow(*leaves([*row], "f8E4M3FN")).tolist()

    assert depends(300, 300) == [True]
    assert depends(-300, -300) == [True]
    assert depends(300, 50) == [False]
    assert depends(300, 300, np.nan) == [False]


@pytest.mark.parametrize(
    ("row", "exact"),
    [
        ([1, 2, 3], True),
        ([0.5, 2.0**21, 2.0**21], True),
        ([0.5, 2.0**22, 2.0**22], False),
        ([0, 0], True),
    ],
)
def test_a_sum_whose_partial_sums_fit_is_exact(row: list[float], exact: bool) -> None:
    with np.errstate(over="ignore"):
        bound = accumulation.sum_bound(*leaves(row), np.array([float(sum(row))]))
    assert (bound == 0).tolist() == [exact]


def test_flushing_loses_subnormal_leaves_and_partial_sums() -> None:
    (loss,) = accumulation.sum_flush_loss(*leaves([TINY / 2, 1]))
    assert loss == TINY / 2 + 2 * TINY
    (loss,) = accumulation.sum_flush_loss(*leaves([1.5 * TINY, -TINY]))
    assert loss == 2 * TINY  # the difference is subnormal
    assert accumulation.sum_flush_loss(*leaves([TINY, 3 * TINY])).tolist() == [0]
    (loss,) = accumulation.sum_flush_loss(*leaves([TINY / 4]))
    assert loss == TINY / 4  # never more than all magnitudes


@pytest.mark.parametrize(
    ("row", "depends"),
    [
        ([1e30, 1e30, 1e-30], True),
        ([1e-30, 1e-30, 1e30], True),
        ([1e30, 1e30], False),  # infinite in any order
        ([2, 3, 0.5], False),
        ([0, 1e30, 1e30], True),  # zero times infinity
        ([0, 1e-30, 1e-30], False),
        ([0, np.inf, 1e30, 1e30], False),  # NaN in any order
        ([np.inf, 1e-30, 1e-30], True),
        ([np.inf, 1e30, 1e30], False),
        ([np.nan, 1e30, 1e30, 1e-30], False),
    ],
)
def test_the_order_of_a_product_decides_about_its_range(row: list[float], depends: bool) -> None:
    assert accumulation.product_may_leave_range(*leaves(row, init=1)).tolist() == [depends]


@pytest.mark.parametrize(("init", "roundings"), [(1, 2), (1.5, 3)])
def test_a_product_has_the_bound_of_its_roundings(init: float, roundings: int) -> None:
    given = leaves([1.1, 1.3], init=init)
    (bound,) = accumulation.product_bound(*given, np.array([1.43 * init]))
    assert bound == pytest.approx(1.43 * init * roundings * 2.0**-24, rel=1e-6)


@pytest.mark.parametrize(
    ("row", "depends"),
    [
        ([1 + 1j, 2], False),
        ([complex(HALF_BIG, 0), complex(HALF_BIG, 0), complex(-HALF_BIG, 0)], True),
        ([complex(0, HALF_BIG), complex(0, HALF_BIG)], True),  # overflow is an exception
        ([complex(HALF_BIG, 0), complex(0, HALF_BIG)], False),
        ([complex(np.inf, 0), complex(-np.inf, 0)], True),
        ([complex(np.inf, 0), complex(0, -np.inf)], False),
    ],
)
def test_complex_sums_that_raise_exceptions_are_open(row: list[complex], depends: bool) -> None:
    given = leaves(row, "complex<f32>")
    assert accumulation.is_complex_sum_unspecified(*given).tolist() == [depends]


@pytest.mark.parametrize(
    ("row", "depends"),
    [
        ([1 + 1j, 2 - 1j], False),
        ([1e20 + 1e20j, 1e20], True),
        ([1e-20, 1e-20j], True),
        ([complex(np.nan, 0), 1], True),
        ([0, 1e-30, 1e-30], False),
    ],
)
def test_complex_products_that_raise_exceptions_are_open(row: list[complex], depends: bool) -> None:
    given = leaves(row, "complex<f32>", 1)
    assert accumulation.is_complex_product_unspecified(*given).tolist() == [depends]


@pytest.mark.parametrize(("init", "roundings"), [(1, 2), (1j, 3)])
def test_a_complex_product_has_the_bound_of_its_multiplications(
    init: complex, roundings: int
) -> None:
    given = leaves([1 + 1j, 2], "complex<f32>", init)
    (bound,) = accumulation.complex_product_bound(*given, np.array([3 + 4j]))
    assert bound == pytest.approx(5 * roundings * np.sqrt(5) * 2.0**-24, rel=1e-6)


F32 = ELEMENT_TYPES["f32"]


def fold_rows(monoid: Monoid, rows: list[list[float]], init: float, inits: int = 1) -> Array:
    storage = F32.storage
    values = np.array(rows).astype(storage)
    leaves = Slices(values.shape, (1,))
    with np.errstate(invalid="ignore"):
        return fold(monoid, values, np.array(init).astype(storage), leaves, inits)


@pytest.mark.parametrize("monoid", [ADD, MULTIPLY, AND, OR, XOR, MAXIMUM, MINIMUM])
@pytest.mark.parametrize("of", ["si4", "ui8", "si32", "ui64"])
def test_integers_are_folded_exactly_and_wrap(monoid: Monoid, of: str) -> None:
    element = ELEMENT_TYPES[of]
    generator = np.random.default_rng(5)
    rows = generator.integers(element.min_integer, element.max_integer, (4, 6), np.uint64
                              if element.is_unsigned else np.int64)  # fmt: skip
    init = int(rows[0, 0])
    python = {
        "add": lambda a, b: a + b, "multiply": lambda a, b: a * b, "and": lambda a, b: a & b,
        "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "maximum": max, "minimum": min,
    }[monoid.name]  # fmt: skip
    values = rows.astype(element.storage)
    found = fold(monoid, values, np.array(init).astype(element.storage), Slices((4, 6), (1,)))
    for row, one in zip(rows, found, strict=True):
        exact = reduce(python, [init, *map(int, row)])
        assert (int(one) - exact) % (1 << element.bits) == 0


def test_a_sum_is_rounded_once() -> None:
    found = fold_rows(ADD, [[1.0, 2.0**-30, -1.0, 2.0**-30]], 0.0)
    assert found.tolist() == [2.0**-29]
    many = [[0.1] * 1000]
    exact = 1000 * Fraction(float(np.float32(0.1)))
    assert fold_rows(ADD, many, 0.0)[0] == np.float32(float(exact))


@pytest.mark.parametrize(
    ("monoid", "row", "init", "wanted"),
    [
        (ADD, [-0.0, -0.0], -0.0, -0.0),
        (ADD, [-0.0, -0.0], 0.0, 0.0),
        (ADD, [-0.0, 0.0], -0.0, 0.0),
        (ADD, [1.0, -1.0], -0.0, 0.0),
        (ADD, [inf, -inf], 0.0, nan),
        (MAXIMUM, [-0.0, 0.0], -inf, 0.0),
        (MAXIMUM, [-0.0, -0.0], -inf, -0.0),
        (MAXIMUM, [-0.0, -1.0], 0.0, 0.0),
        (MINIMUM, [0.0, -0.0], inf, -0.0),
        (MINIMUM, [0.0, 1.0], -0.0, -0.0),
        (MINIMUM, [0.0, 0.0], inf, 0.0),
        (MAXIMUM, [nan, 1.0], 0.0, nan),
        (MULTIPLY, [-1.0, 0.0], 1.0, -0.0),
        (MULTIPLY, [0.0, inf], 1.0, nan),
    ],
)
def test_zeros_keep_their_sign(
    monoid: Monoid, row: list[float], init: float, wanted: float
) -> None:
    (found,) = fold_rows(monoid, [row], init)
    np.testing.assert_equal(found, np.float32(wanted))
    assert np.isnan(wanted) or np.signbit(found) == np.signbit(wanted)


def test_the_init_value_may_count_several_times_or_not_at_all() -> None:
    assert fold_rows(ADD, [[1.0, 2.0]], 10.0, inits=3).tolist() == [33.0]
    assert fold_rows(ADD, [[1.0, 2.0]], 10.0, inits=0).tolist() == [3.0]
    assert fold_rows(MAXIMUM, [[1.0, 2.0]], 10.0, inits=0).tolist() == [2.0]


def test_complex_sums_have_the_sign_of_each_part() -> None:
    values = np.array([[complex(-0.0, -0.0), complex(-0.0, 0.0)]], np.complex64)
    init = np.array(complex(-0.0, -0.0), np.complex64)
    (found,) = fold(ADD, values, init, Slices((1, 2), (1,)))
    assert np.signbit(found.real)
    assert not np.signbit(found.imag)
    negative: Array = all_negative_zeros(values, init, Slices((1, 2), (1,)))
    assert negative.tolist() == [[True, False]]


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
    errors = [np.abs(total.astype(np.float64) - wide.sum(axis=0)) for total in sums]
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


@pytest.mark.parametrize("name", ["equal", "rounded down in each step"])
def test_errors_of_one_direction_have_a_larger_bound(name: str) -> None:
    factor = order_factor(DATA[name].astype(np.float32))
    assert factor > LIKELY
    assert growth_of_sum(LONG, 1.0, factor) <= LONG


def test_a_lost_element_of_many_is_beyond_the_bound() -> None:
    """One of 4,096 numbers is within the worst case."""
    (lost, *_), total, u = np.full(4096, 0.7), 4096 * 0.7, 2.0**-24
    assert growth_of_sum(4096, u) * total < lost < 4 * 4096 * u * total


@pytest.mark.parametrize("name", ["bf16", "f16"])
def test_sums_of_narrow_types_may_stop_growing_and_lose_no_more(name: str) -> None:
    ones = np.ones((1000, 1), element_type(name).storage)
    stopped = float(np.add.accumulate(ones, axis=0)[-1, 0])
    u = 2.0 ** -element_type(name).float_format.precision
    bound = 1000 * growth_of_sum(1000, u, order_factor(ones))
    assert 1000 - stopped <= bound < 1000 - 0.8 * stopped


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


RANDOM = np.random.default_rng(7)
SHORT = RANDOM.integers(-64, 64, 300).astype("f8") / 8
NORMAL = RANDOM.standard_normal(300)
PAIRS = [(SHORT, RANDOM.permutation(SHORT)), (NORMAL, RANDOM.permutation(NORMAL)), (SHORT, NORMAL)]
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


@pytest.mark.parametrize("name", ["complex<f32>", "complex<f64>"])
@pytest.mark.parametrize("rows", [1, 512])  # with many products these are cut in pieces
def test_a_part_that_no_product_makes_nan_of_is_not(name: str, rows: int) -> None:
    of = ELEMENT_TYPES[name]
    lhs = np.zeros((rows, 32), of.storage)
    lhs[-1, 1] = complex(-np.inf, 4.0)
    rhs = np.ones((32, 32), of.storage)
    found = matmul(to_wide_type(lhs), to_wide_type(rhs), of)
    assert (np.real(found[-1]) == -np.inf).all()  # -inf * 1 - 4 * 0
    assert np.isnan(np.imag(found[-1])).all()  # -inf * 0 + 4 * 1
    assert (found[:-1] == 0).all()


LARGEST, LEAST = np.finfo(np.float64).max, np.finfo(np.float64).smallest_subnormal


@pytest.mark.parametrize("size", [LARGEST, 2.0**1000, 1.0, 2.0**-1000, LEAST])
def test_matrices_of_any_magnitude_have_values(size: float) -> None:
    ones = np.full((4, 4), size)
    wide = np.longdouble(size)
    assert hermitian_eigenvalues(ones)[-1] / wide == pytest.approx(4)
    assert singular_values(ones)[0] / wide == pytest.approx(4)
    assert abs(hermitian_eigenvalues(ones)[0]) <= wide * np.longdouble(1e-14)
    turned = np.array([[0, size * 1j], [-size * 1j, 0]])
    assert (hermitian_eigenvalues(turned) / wide).astype(float) == pytest.approx([-1, 1])


def test_long_doubles_beyond_the_range_of_doubles_have_values() -> None:
    large = np.full((4, 4), np.longdouble(LARGEST)) * np.longdouble(LARGEST)
    assert hermitian_eigenvalues(large)[-1] / large[0, 0] == pytest.approx(4)
    assert singular_values(large)[0] / large[0, 0] == pytest.approx(4)
    both = np.stack([large, np.eye(4, dtype=np.longdouble)])
    np.testing.assert_allclose((hermitian_eigenvalues(both)[1]).astype(float), 1)


def test_monoids_that_fold_each_type() -> None:
    complex_ = ELEMENT_TYPES["complex<f32>"]
    assert {name for name, one in MONOIDS.items() if can_fold(one, complex_)} == {"add", "multiply"}
    assert {name for name, one in MONOIDS.items() if not can_fold(one, F32)} == {"and", "or", "xor"}
    assert all(can_fold(one, ELEMENT_TYPES["si8"]) for one in MONOIDS.values())
    assert not can_fold(None, F32)


@pytest.mark.parametrize("name", ["positive", "of both signs", "of many magnitudes"])
def test_random_numbers_have_the_likely_bound(name: str) -> None:
    assert order_factor(DATA[name].astype(np.float32)) == LIKELY

"""Rounded sums and products: when their order decides, and how far two orders can differ."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.types import Array, element_type
from reference.numerics import accumulation
from reference.numerics.contributions import Slices

BIG, HALF_BIG, TINY = 3e38, 2e38, 2.0**-126  # of f32, whose largest number is 3.4e38


def leaves(row: list[complex], of: str = "f32", init: complex = 0) -> tuple[Array, Array, Slices]:
    storage = element_type(of).storage
    return (
        np.array([row]).astype(storage),
        np.array(init).astype(storage),
        Slices((1, len(row)), (1,)),
    )


def test_the_unit_roundoff_is_half_a_unit_in_the_last_place() -> None:
    assert accumulation.unit_roundoff(element_type("f32")) == 2.0**-24
    assert accumulation.unit_roundoff(element_type("bf16")) == 2.0**-8


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


def test_the_init_value_is_a_leaf() -> None:
    assert accumulation.sum_may_overflow(*leaves([HALF_BIG, -HALF_BIG], init=HALF_BIG)).all()


def test_a_sum_of_inexact_numbers_has_the_bound_of_its_additions() -> None:
    """Three leaves are added in two steps; the reference's own rounding is the last term."""
    row = [0.1, 0.2, 0.3]
    given = leaves(row)
    total = float(np.sum(given[0].astype(np.float64)))
    (bound,) = accumulation.sum_bound(*given, np.array([total]))
    assert bound == pytest.approx(2.0**-24 * (2 * total + total), rel=1e-6)
    (more,) = accumulation.sum_bound(*leaves(row, init=1e-9), np.array([total]))
    assert more == pytest.approx(2.0**-24 * (3 * total + total), rel=1e-6)


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


def test_an_exact_product_has_no_error() -> None:
    exact = accumulation.product_bound(*leaves([3, 2.0**-20, 5], init=1), np.array([15 * 2.0**-20]))
    assert exact.tolist() == [0]
    large = accumulation.product_bound(*leaves([2.0**12 + 1] * 2, init=1), np.array([2.0**24]))
    assert large > 0


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


def test_complex_bounds_are_those_of_the_parts() -> None:
    given, expected = leaves([3e-8 + 1, 4e-8j], "complex<f32>"), np.array([1 + 4e-8j])
    parts = [
        accumulation.sum_bound(part(given[0]).copy(), np.array(0, np.float32), given[2], wanted)
        for part, wanted in ((np.real, np.array([1.0])), (np.imag, np.array([4e-8])))
    ]
    assert accumulation.complex_sum_bound(*given, expected) == np.hypot(*parts)
    tiny = leaves([complex(TINY / 4, 3)], "complex<f32>")
    assert accumulation.complex_sum_flush_loss(*tiny).tolist() == [TINY / 4]


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

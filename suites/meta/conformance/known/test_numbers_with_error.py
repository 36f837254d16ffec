"""Errors of numbers that a formula has computed, by the bounds of each step."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from conformance.known.numbers_with_error import (
    FUNCTION,
    POWER,
    Arithmetic,
    Number,
    larger,
    select,
    smaller,
)
from reference.ir.types import Array

U = 2.0**-10
"""Roundoff of the arithmetic below."""


@dataclass(frozen=True)
class Rounded(Arithmetic):
    """An arithmetic that does not round, with the error of a rounding."""

    contracted: bool = False

    def exactly(self, numbers: Array) -> Number:
        """Return numbers without an error."""
        return Number(numbers, np.zeros(numbers.shape), self)

    def step(
        self, exact: Array, error: Array, lost: Array, *, units: float | None = None
    ) -> Number:
        """Return the number with the error of the step."""
        own = (1 if units is None else units) * U * np.abs(exact)
        return Number(exact, error + own, self, np.broadcast_to(lost, np.shape(exact)))

    def accumulated_error(self, count: int) -> tuple[float, float]:
        """Return a roundoff for each number, and an absolute error."""
        return count * U, 0.25


def number(
    value: object, error: object = 0.0, lost: object = False, *, contracted: bool = False
) -> Number:
    taken = np.asarray(value)
    of = taken.astype(np.complex128 if np.iscomplexobj(taken) else np.float64)
    errors, losses = (np.broadcast_to(one, of.shape).copy() for one in (error, lost))
    return Number(of, errors, Rounded(contracted), losses)


X, Y, E = number(8.0, 0.5), number(-4.0, 0.25), math.e


@pytest.mark.parametrize(
    ("step", "value", "error", "units"),
    [
        (lambda: X + Y, 4, 0.75, 1),
        (lambda: X - Y, 12, 0.75, 1),
        (lambda: X * Y, -32, 8 * 0.25 + 4 * 0.5 + 0.25 * 0.5, 1),
        (lambda: X / Y, -2, (0.5 + 2 * 0.25) / 3.75, 1),
        (lambda: X + 1.0, 9, 0.5, 1),
        (lambda: -X, -8, 0.5, 0),
        (lambda: abs(Y), 4, 0.25, 0),
        (lambda: number(9.0, 5.0).root(), 3, 1, 1),  # from the root of 9 - 5
        (lambda: number(1.0, 0.5).exponential(), E, E * math.expm1(0.5), FUNCTION),
        (lambda: number(1.0, 0.5).exponential_minus_one(), E - 1, E * math.expm1(0.5), FUNCTION),
        (lambda: number(math.pi / 2, 5.0).sine(), 1, 2, FUNCTION),
        (lambda: number(math.pi / 3, 0.125).cosine(), 0.5, 0.125, FUNCTION),
        (lambda: number(math.pi / 3).cosine_minus_one(), -0.5, 0, FUNCTION),
        (lambda: number(4.0, 1.0).logarithm(), math.log(4), -math.log(0.75), FUNCTION),
        (lambda: number(3.0, 1.0).logarithm_plus_one(), math.log(4), -math.log(0.75), FUNCTION),
        (lambda: number(4.0).logarithm(), math.log(4), 0, FUNCTION),
        (
            lambda: number(3.0, 0.3).angle(number(4.0, 0.4)),
            math.atan2(3, 4),
            math.asin(0.1),
            FUNCTION,
        ),
        (lambda: number(4.0).to_power(number(1.5)), 8, 0, POWER),
        (
            lambda: number(4.0, 1.0).to_power(number(2.0, 0.5)),
            16,
            16 * math.expm1(-2 * math.log(0.75) + 0.5 * math.log(4)),
            POWER,
        ),
    ],
)
def test_errors_of_operands_are_propagated(
    step: Callable[[], Number], value: float, error: float, units: float
) -> None:
    found = step()
    assert found.value == pytest.approx(value, rel=1e-15)
    assert found.error == pytest.approx(error + units * U * abs(value), rel=1e-12)


def test_complex_steps_have_the_errors_of_their_parts() -> None:
    """Products have an error of 2 sqrt(2) roundoffs, quotients of 5 sqrt(2)."""
    z, root = number(3 + 4j), math.sqrt(2)
    assert (z + z).error == pytest.approx(10 * U)
    assert (z * z).error == pytest.approx(2 * root * 25 * U)
    assert (z / z).error == pytest.approx(5 * root * U)
    assert z.conjugate.value == 3 - 4j


def test_product_is_rounded_unless_it_is_contracted() -> None:
    for contracted, error in ((False, 12 * U + 11 * U), (True, 11 * U)):
        x, y = (number(one, contracted=contracted) for one in (3.0, 4.0))
        assert x.times_and(y, number(-1.0)).error == pytest.approx(error)


def test_sums_have_accumulated_errors() -> None:
    x = number([[3.0, -1.0], [2.0, 2.0]], 0.5)
    total = x.sum((1,))
    assert total.value.tolist() == [[2], [4]]
    sizes = [4, 4]
    expected = [
        1 + 2 * U * size + 0.25 + U * value
        for size, value in zip(sizes, total.value[:, 0], strict=True)
    ]
    assert total.error[:, 0] == pytest.approx(expected)


def test_matrix_products_have_errors_of_both_sides() -> None:
    """The error is |x| dy + dx |y| + dx dy, and 2 u |x| |y| for two products, and 1/4."""
    x, y = number([[3.0, -1.0]], 0.5), number([[2.0], [4.0]], 0.25)
    found = x @ y
    assert found.value.tolist() == [[2]]
    parts = 4 * 0.25, (0.5 + 0.5) * 3, 2 * 0.5 * 0.25, 2 * U * (6 + 4), 0.25
    assert found.error.item() == pytest.approx(sum(parts))


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (lambda: number(1.0) / number(0.5, 0.5), math.inf),  # the divisor may be 0
        (lambda: number(1.0, 0.5) / number(math.inf, 1.0), 0),
        (lambda: number(0.25, 0.5).root(may_be_negative=True), math.inf),
        (lambda: number(0.25, 0.25).root(), 0.5 + U / 2),
        (lambda: number(1.0, 1.0).logarithm(), math.inf),
    ],
)
def test_any_result_is_possible_at_a_pole(step: Callable[[], Number], error: float) -> None:
    with np.errstate(all="ignore"):
        assert step().error == pytest.approx(error)


@pytest.mark.parametrize(
    ("y", "side", "value"),
    [(0.1, -1, -1), (-0.1, 1, 1), (0.1, 0, 1), (0.3, -1, 1)],
)
def test_angle_next_to_the_cut_has_the_sign_of_its_side(
    y: float, side: float, value: float
) -> None:
    found = number(y, 0.2).angle(number(-1.0), side)
    assert found.value == pytest.approx(value * math.atan2(abs(y), -1))


def test_lost_elements_stay_lost() -> None:
    x, y = number([1.0, 2.0], lost=[True, False]), number([3.0, 4.0], lost=[False, True])
    assert (x + x).lost.tolist() == [True, False]
    assert (x * y).lost.tolist() == [True, True]
    assert (-x).lost.tolist() == [True, False]
    assert x.sum((0,)).lost.tolist() == [True]
    assert (x[1:] / y[:1]).lost.tolist() == [False]
    row = number([[1.0, 2.0], [3.0, 4.0]], lost=[[True, False], [False, False]])
    assert (row @ row).lost.tolist() == [[True, True], [True, False]]


def test_numbers_are_selected_with_their_errors() -> None:
    x, y = number([1.0, 5.0], 0.5), number([2.0, 4.0], 0.25, lost=True)
    mask = np.array([True, False])
    found = select(mask, x, y)
    assert (found.value.tolist(), found.error.tolist()) == ([1, 4], [0.5, 0.25])
    assert found.lost.tolist() == [False, True]
    assert select(mask, 7.0, y).error.tolist() == [0, 0.25]
    assert (larger(x, y).value.tolist(), smaller(x, y).value.tolist()) == ([2, 5], [1, 4])
    nan = number([math.nan, 1.0])
    for one in (larger(nan, y), smaller(nan, y), larger(y, nan), smaller(y, nan)):
        assert np.isnan(one.value).tolist() == [True, False]


def test_parts_of_arrays_are_replaced_and_moved() -> None:
    x = number([[1.0, 2.0], [3.0, 4.0]], [[0.5, 0], [0, 0]])
    x[0] = number([7.0, 8.0], 0.25, lost=True)
    assert x.transposed.value.tolist() == [[7, 3], [8, 4]]
    assert x.transposed.error.tolist() == [[0.25, 0], [0.25, 0]]
    assert x[:, 1].lost.tolist() == [True, False]

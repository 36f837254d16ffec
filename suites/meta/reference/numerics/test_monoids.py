"""numerics.monoids against folds in Python, one result at a time."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from math import inf, nan

import numpy as np
import pytest

from reference.ir.monoid import ADD, AND, MAXIMUM, MINIMUM, MONOIDS, MULTIPLY, OR, XOR, Monoid
from reference.ir.types import ELEMENT_TYPES, Array
from reference.numerics.contributions import Slices
from reference.numerics.monoids import all_negative_zeros, can_fold, fold

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


def test_without_leaves_the_result_is_the_init_value() -> None:
    empty = np.zeros((2, 0), np.float32)
    for monoid in (ADD, MULTIPLY, MAXIMUM, MINIMUM):
        found = fold(monoid, empty, np.array(-0.0, np.float32), Slices((2, 0), (1,)))
        assert found.tolist() == [0.0, 0.0]
        assert np.signbit(found).all()


def test_truth_values_are_folded_as_such() -> None:
    rows = np.array([[True, False], [True, True]])
    false, leaves = np.array(False), Slices((2, 2), (1,))
    assert fold(OR, rows, false, leaves).tolist() == [True, True]
    assert fold(AND, rows, np.array(True), leaves).tolist() == [False, True]
    assert fold(XOR, rows, false, leaves).tolist() == [True, False]


def test_complex_sums_have_the_sign_of_each_part() -> None:
    values = np.array([[complex(-0.0, -0.0), complex(-0.0, 0.0)]], np.complex64)
    init = np.array(complex(-0.0, -0.0), np.complex64)
    (found,) = fold(ADD, values, init, Slices((1, 2), (1,)))
    assert np.signbit(found.real)
    assert not np.signbit(found.imag)
    negative: Array = all_negative_zeros(values, init, Slices((1, 2), (1,)))
    assert negative.tolist() == [[True, False]]


def test_monoids_that_fold_each_type() -> None:
    complex_ = ELEMENT_TYPES["complex<f32>"]
    assert {name for name, one in MONOIDS.items() if can_fold(one, complex_)} == {"add", "multiply"}
    assert {name for name, one in MONOIDS.items() if not can_fold(one, F32)} == {"and", "or", "xor"}
    assert all(can_fold(one, ELEMENT_TYPES["si8"]) for one in MONOIDS.values())
    assert not can_fold(None, F32)

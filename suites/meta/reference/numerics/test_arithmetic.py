"""Arithmetic of each kind of number, at its edges: wrapping, zeros, infinities, NaN."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.types import Array, element_type
from reference.numerics import arithmetic


def array(of: str, *numbers: complex) -> Array:
    return np.array(numbers).astype(element_type(of).storage)


def as_floats(numbers: Array) -> list[float]:
    return numbers.astype(np.float64).tolist()


def test_integers_wrap_under_a_byte_too() -> None:
    assert arithmetic.add(array("si4", 7), array("si4", 1)).astype(int).tolist() == [-8]
    assert arithmetic.subtract(array("ui4", 0), array("ui4", 1)).astype(int).tolist() == [15]
    assert arithmetic.multiply(array("ui8", 16), array("ui8", 17)).tolist() == [16]
    assert arithmetic.wrap_integers(np.array([5, -3]), element_type("si2")).astype(
        int
    ).tolist() == [1, 1]
    wrapped = arithmetic.wrap_integers(np.array([300]), element_type("ui8"))
    assert (wrapped.tolist(), wrapped.dtype) == ([44], np.uint8)


def test_narrow_floats_are_rounded_once() -> None:
    assert as_floats(arithmetic.add(array("f16", 2048), array("f16", 1))) == [2048]
    assert as_floats(arithmetic.add(array("f16", 2048), array("f16", 3))) == [2052]
    assert as_floats(arithmetic.multiply(array("f8E5M2", 3), array("f8E5M2", 3))) == [8]
    assert as_floats(arithmetic.sqrt(array("bf16", 2))) == [1.4140625]


def test_logical_sums_and_products_of_booleans() -> None:
    both = np.array([False, True])
    assert arithmetic.add(both, ~both).tolist() == [True, True]
    assert arithmetic.multiply(both, both).tolist() == [False, True]


@pytest.mark.parametrize(
    ("lhs", "rhs", "quotient", "rest"),
    [(7, 2, 3, 1), (-7, 2, -3, -1), (7, -2, -3, 1), (-7, -2, 3, -1), (6, -2, -3, 0),
     (5, 0, -1, 5), (-128, -1, -128, 0)],
)  # fmt: skip
def test_integer_division_truncates(lhs: int, rhs: int, quotient: int, rest: int) -> None:
    given = array("si8", lhs), array("si8", rhs)
    assert arithmetic.divide(*given).tolist() == [quotient]
    assert arithmetic.remainder(*given).tolist() == [rest]


def test_remainders_of_floats_have_the_sign_of_the_dividend() -> None:
    found = arithmetic.remainder(array("f32", -7, 7, -6), array("f32", 4, -4, 3))
    assert found.tolist() == [-3, 3, 0]
    assert np.signbit(found).tolist() == [True, False, True]


def test_complex_remainders_take_whole_parts_of_the_quotient() -> None:
    found = arithmetic.remainder(array("complex<f32>", 5 + 7j), array("complex<f32>", 2))
    assert found.tolist() == [1 + 1j]


@pytest.mark.parametrize(
    ("base", "exponent", "result"),
    [(3, 4, 81), (2, 9, 0), (-3, 3, -27), (0, 0, 1), (5, 0, 1), (2, -1, 0), (0, -1, 0),
     (1, -5, 1), (-1, -5, -1), (-1, -4, 1)],
)  # fmt: skip
def test_integer_powers(base: int, exponent: int, result: int) -> None:
    assert arithmetic.power(array("si8", base), array("si8", exponent)).tolist() == [result]


def test_negation_flips_the_sign_of_zeros_and_nans() -> None:
    assert np.signbit(arithmetic.negate(array("f32", 0.0, np.nan))).tolist() == [True, True]
    assert arithmetic.negate(array("si8", -128, 5)).tolist() == [-128, -5]
    assert arithmetic.negate(array("ui8", 1)).tolist() == [255]


def test_formats_without_negative_zero_keep_their_zero_and_their_nan() -> None:
    numbers = array("f8E4M3FNUZ", 0, 1, np.nan)
    found = as_floats(arithmetic.negate(numbers))
    assert found[:2] == [0, -1]
    assert np.isnan(found[2])
    assert not np.signbit(found[0])
    assert np.isnan(as_floats(arithmetic.abs(numbers))[2])
    assert np.isnan(as_floats(arithmetic.negate(array("f8E8M0FNU", 2)))).all()
    assert as_floats(arithmetic.abs(array("f8E8M0FNU", 2))) == [2]


def test_absolute_values() -> None:
    assert arithmetic.abs(array("si8", -128, -5)).tolist() == [-128, 5]
    assert arithmetic.abs(array("complex<f32>", 3 - 4j)).tolist() == [5]
    assert np.signbit(arithmetic.abs(array("f32", -0.0, -np.inf))).tolist() == [False, False]


def test_signs() -> None:
    found = arithmetic.sign(array("f32", -3, -0.0, 0.0, 5, np.nan))
    assert found.tolist()[:4] == [-1, 0, 0, 1]
    assert np.signbit(found).tolist()[:3] == [True, True, False]
    assert np.isnan(found[4])
    assert arithmetic.sign(array("complex<f32>", 3 + 4j, 0)).tolist() == [
        np.complex64(0.6 + 0.8j),
        0,
    ]
    assert np.isnan(arithmetic.sign(array("complex<f32>", complex(np.nan, 1)))).all()


def test_nan_wins_and_negative_zero_precedes_zero() -> None:
    lhs, rhs = array("f32", np.nan, 1, -0.0, 0.0, 1), array("f32", 1, np.nan, 0.0, -0.0, 2)
    largest, smallest = arithmetic.maximum(lhs, rhs), arithmetic.minimum(lhs, rhs)
    assert np.isnan(largest).tolist() == np.isnan(smallest).tolist() == [True, True] + [False] * 3
    assert np.signbit(largest[2:4]).tolist() == [False, False]
    assert np.signbit(smallest[2:4]).tolist() == [True, True]
    assert (largest[4], smallest[4]) == (2, 1)


def test_complex_numbers_are_ordered_by_real_parts_first() -> None:
    lhs, rhs = array("complex<f32>", 1 + 9j, 1 + 1j), array("complex<f32>", 2, 1 + 2j)
    assert arithmetic.maximum(lhs, rhs).tolist() == [2, 1 + 2j]
    assert arithmetic.minimum(lhs, rhs).tolist() == [1 + 9j, 1 + 1j]


def test_clamping_takes_the_upper_bound_if_bounds_are_reversed() -> None:
    operand = array("f32", -5, 0, 5)
    low, high = array("f32", -1)[0], array("f32", 1)[0]
    assert arithmetic.clamp(low, operand, high).tolist() == [-1, 0, 1]
    assert arithmetic.clamp(high, operand, low).tolist() == [-1, -1, -1]


@pytest.mark.parametrize("of", ["f32", "f16"])
def test_roundings_differ_at_ties_and_keep_signs_of_zeros(of: str) -> None:
    numbers = array(of, -2.5, -0.5, 0.5, 1.5, 2.4)
    wanted = {
        arithmetic.ceil: [-2, -0.0, 1, 2, 3],
        arithmetic.floor: [-3, -1, 0, 1, 2],
        arithmetic.round_nearest_even: [-2, -0.0, 0, 2, 2],
        arithmetic.round_nearest_afz: [-3, -1, 1, 2, 2],
    }
    for function, values in wanted.items():
        found = function(numbers).astype(np.float64)
        assert found.tolist() == values
        assert np.signbit(found).tolist() == np.signbit(values).tolist()


def test_the_largest_number_under_a_half_rounds_to_zero() -> None:
    below = np.nextafter(np.float32(0.5), np.float32(0))
    assert arithmetic.round_away_from_zero(np.array([below, -below])).tolist() == [0, 0]


def test_square_roots_of_negative_numbers_and_zeros() -> None:
    found = arithmetic.sqrt(array("f32", -1, -0.0, 4))
    assert np.isnan(found[0])
    assert np.signbit(found[1])
    assert found[2] == 2
    assert arithmetic.sqrt(array("complex<f32>", -4)).tolist() == [2j]

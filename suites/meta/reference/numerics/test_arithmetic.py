"""Arithmetic, bits and comparison of each kind of number, at its edges."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.types import ELEMENT_TYPES, Array, element_type, from_bits
from reference.numerics import arithmetic, bits
from reference.numerics.alike import (
    different_bits,
    equal_elements,
    equal_results,
    flush_subnormals,
    is_subnormal,
)
from reference.numerics.comparison import compare, total_order_key
from reference.numerics.zeros import is_negative, is_negative_zero


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


def as_integers(found: Array) -> list[int]:
    return found.astype(np.int64).tolist()


def test_bitwise_and_logical() -> None:
    left, right = array("ui8", 0b1100), array("ui8", 0b1010)
    assert [as_integers(one(left, right)) for one in (bits.and_, bits.or_, bits.xor)] == [
        [0b1000], [0b1110], [0b0110]
    ]  # fmt: skip
    assert as_integers(bits.not_(array("si4", 5))) == [-6]
    assert bits.not_(np.array([True, False])).tolist() == [False, True]
    pair = np.array([True, True, False]), np.array([True, False, False])
    assert bits.and_(*pair).tolist() == [True, False, False]
    assert bits.xor(*pair).tolist() == [False, True, False]


def test_numbers_of_bits() -> None:
    assert as_integers(bits.popcnt(array("si8", -1, 0, 5))) == [8, 0, 2]
    assert as_integers(bits.popcnt(array("si2", -1))) == [-2]
    assert as_integers(bits.count_leading_zeros(array("ui32", 0, 1, 2**31))) == [32, 31, 0]
    assert as_integers(bits.count_leading_zeros(array("ui4", 0, 1, 8))) == [4, 3, 0]
    assert as_integers(bits.count_leading_zeros(array("si64", 1, -1))) == [63, 0]


@pytest.mark.parametrize(
    ("of", "number", "amount", "left", "logical", "arithmetic"),
    [
        ("si8", -128, 1, 0, 64, -64),
        ("si8", -128, 7, 0, 1, -1),
        ("si8", -128, 8, 0, 0, -1),
        ("si8", 127, 8, 0, 0, 0),
        ("si8", 3, -1, 0, 0, 0),  # negative amounts are large
        ("ui8", 128, 2, 0, 32, 0b1110_0000),
        ("si4", -8, 1, 0, 4, -4),
        ("si4", 5, 1, -6, 2, 2),
        ("si4", -8, 4, 0, 0, -1),
    ],
)
def test_shifts(
    of: str, number: int, amount: int, left: int, logical: int, arithmetic: int
) -> None:
    given = array(of, number), array(of, amount)
    assert as_integers(bits.shift_left(*given)) == [left]
    assert as_integers(bits.shift_right_logical(*given)) == [logical]
    assert as_integers(bits.shift_right_arithmetic(*given)) == [arithmetic]


DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")


def directions_that_hold(lhs: Array, rhs: Array, compare_type: str | None = None) -> str:
    pairs = (
        (d, compare(lhs, rhs, comparison_direction=d, compare_type=compare_type))
        for d in DIRECTIONS
    )
    return " ".join(direction for direction, holds in pairs if holds.all())


def f32(number: float) -> Array:
    return np.array([number], np.float32)


def test_only_inequality_holds_for_nan() -> None:
    assert directions_that_hold(f32(np.nan), f32(np.nan)) == "NE"
    assert directions_that_hold(f32(1), f32(np.nan)) == "NE"
    assert directions_that_hold(f32(-0.0), f32(0.0)) == "EQ GE LE"
    assert directions_that_hold(f32(1), f32(2)) == "NE LE LT"


def test_in_total_order_bits_decide() -> None:
    total = "TOTALORDER"
    assert directions_that_hold(f32(np.nan), f32(np.nan), total) == "EQ GE LE"
    assert directions_that_hold(f32(-0.0), f32(0.0), total) == "NE LE LT"
    assert directions_that_hold(f32(np.nan), f32(np.inf), total) == "NE GE GT"


def test_keys_of_total_order_rise_with_the_numbers() -> None:
    ordered = np.array([-np.nan, -np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan], np.float32)
    ordered[0] = np.copysign(np.nan, -1)
    assert (np.diff(total_order_key(ordered)) > 0).all()
    unsigned = from_bits(np.array([0, 1, 255], np.uint8), element_type("f8E8M0FNU"))
    assert total_order_key(unsigned).tolist() == [0, 1, 255]


@pytest.mark.parametrize(
    ("lhs", "rhs", "holds"),
    [
        (1 + 2j, 1 + 2j, "EQ GE LE"),
        (1 + 2j, 1 + 3j, "NE LE LT"),
        (2 + 0j, 1 + 9j, "NE GE GT"),
        (complex(np.nan, 0), 1, "NE"),
    ],
)
def test_complex_numbers_are_compared_by_real_parts_first(
    lhs: complex, rhs: complex, holds: str
) -> None:
    pair = np.array([lhs], np.complex64), np.array([rhs], np.complex64)
    assert directions_that_hold(*pair) == holds


NAN = np.nan

TINY = 2.0**-126
"""The smallest normal number of f32_array."""


def f32_array(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


def c64(*numbers: complex) -> Array:
    return np.array(numbers, np.complex64)


def test_zeros_of_two_signs_differ_and_all_nans_are_equal() -> None:
    given = f32_array(0.0, -NAN, 1, NAN), f32_array(-0.0, NAN, 1, 1)
    assert equal_elements(*given).tolist() == [False, True, True, False]
    assert different_bits(*given).tolist() == [True, True, False, True]


def test_complex_elements_are_compared_part_by_part() -> None:
    given = (
        c64(complex(NAN, 0), complex(NAN, 1), 1j),
        c64(complex(-NAN, -0.0), complex(-NAN, 1), 1j),
    )
    assert equal_elements(*given).tolist() == [False, True, True]
    assert different_bits(*given).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("others", "equal"),
    [
        ([f32_array(1, NAN)], True),
        ([f32_array(1, 2)], False),
        ([f32_array(1, NAN)] * 2, False),
        ([f32_array(1, NAN)[None]], False),
        ([f32_array(1, NAN).astype(np.float64)], False),
    ],
)
def test_equal_results_have_one_type_and_shape(others: list[Array], equal: bool) -> None:
    assert equal_results([f32_array(1, NAN)], others) is equal


def test_a_subnormal_number_is_below_the_smallest_normal_one() -> None:
    below = np.nextafter(np.float32(TINY), np.float32(0))
    numbers = f32_array(TINY, below, -below, 0, -0.0, NAN, np.inf)
    assert is_subnormal(numbers).tolist() == [False, True, True, *[False] * 4]
    assert not is_subnormal(np.array([1], np.int8)).any()
    without_zero = ELEMENT_TYPES["f8E8M0FNU"].storage
    assert not is_subnormal(np.array([2.0**-127], without_zero)).any()


def test_subnormal_numbers_become_zeros_of_their_sign() -> None:
    flushed = flush_subnormals(f32_array(TINY / 2, -TINY / 2, -TINY, 3))
    assert equal_elements(flushed, f32_array(0, -0.0, -TINY, 3)).all()
    parts = flush_subnormals(c64(complex(1, -TINY / 2), complex(TINY / 2, 1)))
    assert equal_elements(parts, c64(complex(1, -0.0), complex(0, 1))).all()


def test_complex_remainders_take_whole_parts_of_the_quotient() -> None:
    found = arithmetic.remainder(array("complex<f32>", 5 + 7j), array("complex<f32>", 2))
    assert found.tolist() == [1 + 1j]


def test_absolute_values() -> None:
    assert arithmetic.abs(array("si8", -128, -5)).tolist() == [-128, 5]
    assert arithmetic.abs(array("complex<f32>", 3 - 4j)).tolist() == [5]
    assert np.signbit(arithmetic.abs(array("f32", -0.0, -np.inf))).tolist() == [False, False]


FLOATS = np.array([0.0, -0.0, 1, -1, np.nan, -np.nan], np.float32)


def test_a_sign_is_that_of_the_bits() -> None:
    assert is_negative(FLOATS).tolist() == [False, True] * 3
    integers = np.array([0, -1, 1], np.int8)
    assert is_negative(integers).tolist() == [False, True, False]
    assert not is_negative_zero(integers).any()

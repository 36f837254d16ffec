"""Comparisons: NaN, total order, complex numbers, types under a byte."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.types import Array, element_type, from_bits
from reference.numerics.comparison import compare, is_finite, select, total_order_key

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


def test_narrow_types_are_compared_by_value() -> None:
    si4, f8 = element_type("si4").storage, element_type("f8E5M2").storage
    assert directions_that_hold(np.array([-8]).astype(si4), np.array([7]).astype(si4)) == "NE LE LT"
    assert directions_that_hold(np.array([-8]).astype(f8), np.array([7]).astype(f8)) == "NE LE LT"


def test_neither_infinities_nor_nan_are_finite() -> None:
    found = is_finite(np.array([1, np.inf, -np.inf, np.nan], np.float16))
    assert found.tolist() == [True, False, False, False]


def test_a_scalar_predicate_selects_whole_arrays() -> None:
    left, right = np.array([1, 2]), np.array([3, 4])
    assert select(np.array(False), left, right).tolist() == [3, 4]
    assert select(np.array([True, False]), left, right).tolist() == [1, 4]

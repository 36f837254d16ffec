"""Profiles of integers: ranges, edges, and values exact or halfway in a float type."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from generators.values import integer_profiles as profiles
from generators.values.codes import Words
from reference.ir.types import ElementType, element_type

COUNT = 3000


def integers(codes: np.ndarray, of: ElementType) -> list[int]:
    """Return two's complement codes as numbers."""
    half, whole = 1 << (of.bits - 1), 1 << of.bits
    found = [int(code) for code in codes]
    assert all(0 <= code < whole for code in found)
    return [code - whole if of.is_signed and code >= half else code for code in found]


def drawn(filler: str, of: str) -> list[int]:
    element = element_type(of)
    return integers(getattr(profiles, filler)(element, COUNT, Words(7)), element)


@pytest.mark.parametrize(
    ("filler", "of", "low", "high"),
    [
        ("small_integers", "si32", -8, 8),
        ("small_integers", "ui8", 0, 8),
        ("small_integers", "si4", -8, 7),
        ("small_integers", "si2", -2, 1),
        ("small_exponents", "si8", 0, 7),
        ("small_exponents", "si2", 0, 1),
        ("moderate", "si32", -(2**15) + 1, 2**15 - 1),
        ("moderate", "ui32", 0, 2**16 - 1),
        ("lower", "si8", -128, 0),
        ("upper", "si8", 0, 127),
        ("lower", "ui8", 0, 128),
        ("upper", "ui8", 128, 255),
    ],
)
def test_ranges_are_reached_at_both_ends_and_not_left(
    filler: str, of: str, low: int, high: int
) -> None:
    numbers = drawn(filler, of)
    assert low <= min(numbers)
    assert max(numbers) <= high
    if high - low < 400:
        assert (min(numbers), max(numbers)) == (low, high)


def test_lower_and_upper_halves_meet_near_the_middle() -> None:
    assert sum(-16 <= number <= 0 for number in drawn("lower", "si32")) > COUNT / 3
    assert sum(0 <= number <= 16 for number in drawn("upper", "si32")) > COUNT / 3


def test_special_values_are_edges_powers_and_their_neighbours() -> None:
    codes = set(integers(profiles.special_codes(element_type("si8")), element_type("si8")))
    assert {0, 1, -1, -128, 127, -127, 126, 64, 63, 65, 0x55, -86, 0x0F} <= codes
    assert 100 not in codes
    core = {0, 1, -1, -128, -127, 127}
    assert sum(number in core for number in drawn("special", "si8")) > COUNT / 5


def test_each_special_value_comes_before_any_is_repeated() -> None:
    assert set(drawn("each_special", "si32")[:6]) == {0, 1, -1, -(2**31), -(2**31) + 1, 2**31 - 1}


def test_wide_integers_have_any_number_of_bits_and_nonzero_ones_are_not_zero() -> None:
    assert {abs(number).bit_length() for number in drawn("wide", "si16")} == set(range(16))
    numbers = drawn("nonzero", "ui8")
    assert {number.bit_length() for number in numbers} == set(range(1, 9))


def test_most_shift_amounts_are_below_the_width() -> None:
    numbers = drawn("shift_amounts", "si8")
    assert sum(0 <= number < 8 for number in numbers) > 0.9 * COUNT
    assert max(map(abs, numbers)) > 8
    assert set(drawn("shift_amounts", "si2")) <= {-2, -1, 0, 1}


def test_integers_in_the_range_of_another_integer_type() -> None:
    si32, si8 = element_type("si32"), element_type("si8")
    numbers = integers(profiles.convertible_to(si8)(si32, COUNT, Words(3)), si32)
    assert (min(numbers), max(numbers)) == (-128, 127)
    assert sum(number in (-128, -127, 126, 127) for number in numbers) > COUNT / 5
    unsigned = integers(profiles.convertible_to(element_type("ui8"))(si32, COUNT, Words(3)), si32)
    assert (min(unsigned), max(unsigned)) == (0, 255)


@pytest.mark.parametrize("to", ["bf16", "f16", "f8E4M3FN"])
def test_integers_that_a_float_type_holds_are_exact(to: str) -> None:
    si32, of = element_type("si32"), element_type(to)
    numbers = integers(profiles.convertible_to(of)(si32, COUNT, Words(5)), si32)
    assert np.array(numbers, np.float64).astype(of.storage).astype(np.float64).tolist() == numbers
    assert len(set(numbers)) > 50


def test_ties_are_halfway_between_neighbours_or_one_off() -> None:
    si32, precision = element_type("si32"), 8  # of bf16
    numbers = integers(profiles.midpoints_of(element_type("bf16"))(si32, COUNT, Words(5)), si32)
    off = []
    for number in map(abs, numbers):
        unit = max(number.bit_length() - precision, 0)
        if unit > 1:
            off.append(Fraction(number % (1 << unit)) - Fraction(1 << unit, 2))
    assert set(off) == {-1, 0, 1}
    assert off.count(0) > len(off) / 3

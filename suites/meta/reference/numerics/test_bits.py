"""Bitwise ops, within the width of each type."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.types import Array, element_type
from reference.numerics import bits


def array(of: str, *numbers: int) -> Array:
    return np.array(numbers).astype(element_type(of).storage)


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

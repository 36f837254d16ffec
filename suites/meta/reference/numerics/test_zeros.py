"""Signed zeros, part by part."""

from __future__ import annotations

import numpy as np

from reference.ir.types import ELEMENT_TYPES
from reference.numerics.zeros import is_negative, is_negative_zero, is_zero, parts_of

FLOATS = np.array([0.0, -0.0, 1, -1, np.nan, -np.nan], np.float32)


def test_zeros_of_either_sign() -> None:
    assert is_zero(FLOATS).tolist() == [True, True, *[False] * 4]
    assert is_negative_zero(FLOATS).tolist() == [False, True, *[False] * 4]


def test_a_sign_is_that_of_the_bits() -> None:
    assert is_negative(FLOATS).tolist() == [False, True] * 3
    integers = np.array([0, -1, 1], np.int8)
    assert is_negative(integers).tolist() == [False, True, False]
    assert not is_negative_zero(integers).any()


def test_parts_of_complex_numbers() -> None:
    numbers = np.array([complex(-0.0, 2), complex(1, -0.0)], np.complex64)
    assert is_negative_zero(numbers).tolist() == [[True, False], [False, True]]


def test_narrow_types_keep_their_signs() -> None:
    numbers = np.array([-0.0, 1.5], ELEMENT_TYPES["f8E5M2"].storage)
    assert parts_of(numbers).dtype.isbuiltin == 1
    assert parts_of(numbers).tolist() == [0, 1.5]
    assert is_negative_zero(numbers).tolist() == [True, False]

"""Equal elements (NaN is), and subnormal numbers."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.types import ELEMENT_TYPES, Array
from reference.numerics.alike import (
    different_bits,
    equal_elements,
    equal_results,
    flush_subnormals,
    has_subnormals,
    is_subnormal,
)

NAN = np.nan
TINY = 2.0**-126
"""The smallest normal number of f32."""


def f32(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


def c64(*numbers: complex) -> Array:
    return np.array(numbers, np.complex64)


def test_zeros_of_two_signs_differ_and_all_nans_are_equal() -> None:
    given = f32(0.0, -NAN, 1, NAN), f32(-0.0, NAN, 1, 1)
    assert equal_elements(*given).tolist() == [False, True, True, False]
    assert different_bits(*given).tolist() == [True, True, False, True]


def test_complex_elements_are_compared_part_by_part() -> None:
    given = (
        c64(complex(NAN, 0), complex(NAN, 1), 1j),
        c64(complex(-NAN, -0.0), complex(-NAN, 1), 1j),
    )
    assert equal_elements(*given).tolist() == [False, True, True]
    assert different_bits(*given).tolist() == [True, True, False]


def test_integers() -> None:
    given = np.array([1, 2], np.int8), np.array([1, 3], np.int8)
    assert equal_elements(*given).tolist() == [True, False]


@pytest.mark.parametrize(
    ("others", "equal"),
    [
        ([f32(1, NAN)], True),
        ([f32(1, 2)], False),
        ([f32(1, NAN)] * 2, False),
        ([f32(1, NAN)[None]], False),
        ([f32(1, NAN).astype(np.float64)], False),
    ],
)
def test_equal_results_have_one_type_and_shape(others: list[Array], equal: bool) -> None:
    assert equal_results([f32(1, NAN)], others) is equal


def test_a_subnormal_number_is_below_the_smallest_normal_one() -> None:
    below = np.nextafter(np.float32(TINY), np.float32(0))
    numbers = f32(TINY, below, -below, 0, -0.0, NAN, np.inf)
    assert is_subnormal(numbers).tolist() == [False, True, True, *[False] * 4]
    assert not is_subnormal(np.array([1], np.int8)).any()
    without_zero = ELEMENT_TYPES["f8E8M0FNU"].storage
    assert not is_subnormal(np.array([2.0**-127], without_zero)).any()


def test_subnormal_parts_of_complex_numbers() -> None:
    assert has_subnormals(c64(1 + TINY / 2 * 1j))
    assert has_subnormals(c64(TINY / 2 + 1j))
    assert not has_subnormals(c64(TINY + 1j))


def test_subnormal_numbers_become_zeros_of_their_sign() -> None:
    flushed = flush_subnormals(f32(TINY / 2, -TINY / 2, -TINY, 3))
    assert equal_elements(flushed, f32(0, -0.0, -TINY, 3)).all()
    parts = flush_subnormals(c64(complex(1, -TINY / 2), complex(TINY / 2, 1)))
    assert equal_elements(parts, c64(complex(1, -0.0), complex(0, 1))).all()


@pytest.mark.parametrize("array", [f32(1, 0), c64(1, 1j)])
def test_an_array_without_subnormal_numbers_is_returned_itself(array: Array) -> None:
    assert flush_subnormals(array) is array

"""numerics.conversion against Python's own integers and fractions."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isfinite, isnan, nan

import numpy as np
import pytest

from reference.ir.program import TensorType
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, from_bits, to_bits
from reference.numerics.conversion import (
    bitcast_convert,
    complex_,
    convert_to,
    imag,
    iota,
    real,
    reduce_precision,
)
from reference.numerics.rounding import to_float64

SMALL_INTEGERS = [of for of in ELEMENT_TYPES.values() if of.is_integer and of.bits <= 8]
SMALL_FLOATS = [of for of in ELEMENT_TYPES.values() if of.is_float and of.bits <= 8]


def all_values(of: ElementType) -> Array:
    """Return all values of a type of at most 8 bits."""
    return from_bits(np.arange(1 << of.bits, dtype=np.uint8), of)


def truncate(value: float, to: ElementType) -> int:
    """Return the integer towards zero, or the nearest integer that the type has."""
    if isnan(value):
        return 0
    whole = int(value) if isfinite(value) else (1 << 99) * (1 if value > 0 else -1)
    return min(max(whole, to.min_integer), to.max_integer)


def type_named(name: str) -> ElementType:
    return ELEMENT_TYPES[name]


@pytest.mark.parametrize("to", SMALL_INTEGERS, ids=str)
@pytest.mark.parametrize("of", SMALL_INTEGERS, ids=str)
def test_integers_wrap(of: ElementType, to: ElementType) -> None:
    def wrap(value: int) -> int:
        low = value & ((1 << to.bits) - 1)
        return low - (1 << to.bits) if low > to.max_integer else low

    given = all_values(of)
    found = convert_to(given, to)
    assert found.dtype == to.storage
    assert [int(one) for one in found] == [wrap(int(one)) for one in given]


@pytest.mark.parametrize("to", [*SMALL_INTEGERS, type_named("si64"), type_named("ui64")], ids=str)
@pytest.mark.parametrize("of", SMALL_FLOATS, ids=str)
def test_floats_are_truncated_and_saturated(of: ElementType, to: ElementType) -> None:
    given = all_values(of)
    wanted = [truncate(float(one), to) for one in to_float64(given)]
    assert [int(one) for one in convert_to(given, to)] == wanted


@pytest.mark.parametrize("value", [2.0**63, -(2.0**63), 2.0**64, 1e300, inf, -inf, nan])
def test_large_numbers_saturate_at_64_bits(value: float) -> None:
    for to in map(type_named, ("si64", "ui64", "si32")):
        (found,) = convert_to(np.array([value]), to)
        assert int(found) == truncate(value, to)


@pytest.mark.parametrize("to", SMALL_FLOATS, ids=str)
def test_integers_become_the_nearest_float(to: ElementType) -> None:
    values = to_float64(all_values(to))
    finite = sorted({Fraction(float(value)) for value in values if np.isfinite(value)})
    integers = range(-130, 131)
    found = to_float64(convert_to(np.array(integers, np.int64), to))
    for integer, one in zip(integers, found, strict=True):
        if np.isfinite(one) and finite[0] <= integer <= finite[-1]:
            assert abs(Fraction(float(one)) - integer) == min(abs(v - integer) for v in finite)
        else:
            assert not finite[0] <= integer <= finite[-1]


def test_an_integer_is_rounded_once() -> None:
    halfway = (1 << 24) + 1  # ties to even in f32
    above = (1 << 60) + (1 << 36) + 1  # just above halfway in f32, halfway once it is an f64
    found = convert_to(np.array([halfway, above], np.int64), type_named("f32"))
    assert [int(one) for one in found] == [1 << 24, (1 << 60) + (1 << 37)]


def test_truth_values_and_complex_numbers() -> None:
    numbers = np.array([0.0, -0.0, 0.5, nan], np.float32)
    assert convert_to(numbers, type_named("i1")).tolist() == [False, False, True, True]
    assert convert_to(np.array([True, False]), type_named("f32")).tolist() == [1.0, 0.0]
    pairs = np.array([0 + 1j, 3 - 2j], np.complex64)
    assert convert_to(pairs, type_named("i1")).tolist() == [False, True]
    assert convert_to(pairs, type_named("si32")).tolist() == [0, 3]
    assert convert_to(np.array([3], np.int32), type_named("complex<f64>")).tolist() == [3 + 0j]


@pytest.mark.parametrize("count", [3, 2000])
def test_iota_counts_along_its_dimension(count: int) -> None:
    found = iota(iota_dimension=1, result=TensorType((2, count), type_named("si8")))
    wrapped = [(n + 128) % 256 - 128 for n in range(count)]
    assert found.tolist() == [wrapped, wrapped]
    found[0, 1] = 9  # nobody else's array
    assert iota(iota_dimension=1, result=TensorType((2, count), type_named("si8")))[0, 1] == 1


def test_bitcasts_are_little_endian() -> None:
    word = np.array([0x04030201], np.uint32)
    bytes_ = bitcast_convert(word, result=TensorType((1, 4), type_named("ui8")))
    assert bytes_.tolist() == [[1, 2, 3, 4]]
    assert bitcast_convert(bytes_, result=TensorType((1,), type_named("ui32"))).tolist() == [
        0x04030201
    ]
    halves = bitcast_convert(
        np.array([0x2F], np.uint8), result=TensorType((1, 2), type_named("ui4"))
    )
    assert to_bits(halves).tolist() == [[0xF, 0x2]]
    pair = np.array([[1.0, -2.0]], np.float32)
    assert bitcast_convert(pair, result=TensorType((1,), type_named("complex<f32>"))) == 1 - 2j
    empty = bitcast_convert(np.zeros((0,), np.uint32), result=TensorType((0, 4), type_named("ui8")))
    assert empty.shape == (0, 4)


@pytest.mark.parametrize(
    ("exponent_bits", "mantissa_bits", "value", "wanted"),
    [
        (8, 23, 1.1, 1.1),
        (8, 0, 1.5, 2.0),  # ties to even
        (8, 0, 2.999, 2.0),
        (8, 1, 1.25, 1.0),
        (8, 7, 1 + 2.0**-8, 1.0),
        (8, 7, 1 + 3 * 2.0**-8, 1 + 2.0**-6),
        (5, 10, 65504.0, 65504.0),
        (5, 10, 65520.0, inf),
        (5, 23, 65535.0, 65535.0),
        (5, 23, -(2.0**16), -inf),
        (5, 10, 2.0**-14, 2.0**-14),
        (5, 10, -(2.0**-15), -0.0),  # a reduced format has no subnormal numbers
        (8, 2, 2.0**-149, 0.0),  # rounded at the position of the operand's own format
        (1, 0, 0.5, 0.0),
        (2, 0, 1.0, 1.0),
        (8, 1, nan, nan),
        (2, 1, inf, inf),
    ],
)
def test_precision_is_reduced(
    exponent_bits: int, mantissa_bits: int, value: float, wanted: float
) -> None:
    given = np.array([value], np.float32)
    (found,) = reduce_precision(given, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)
    assert np.array([found]).view(np.uint32) == np.array([wanted], np.float32).view(np.uint32)


def test_parts_of_complex_numbers() -> None:
    made = complex_(np.array([1.0, -0.0], np.float32), np.array([nan, 2.0], np.float32))
    assert made.dtype == np.complex64
    np.testing.assert_array_equal(real(made), np.array([1.0, -0.0], np.float32))
    np.testing.assert_array_equal(imag(made), np.array([nan, 2.0], np.float32))
    assert np.signbit(real(made)).tolist() == [False, True]
    alone = np.array([-0.0], np.float64)
    assert np.signbit(real(alone)).tolist() == [True]
    assert np.signbit(imag(alone)).tolist() == [False]

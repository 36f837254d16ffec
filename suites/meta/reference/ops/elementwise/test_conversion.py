"""convert, bitcast_convert and iota against Python's fractions and integers, for all types."""

import math
from fractions import Fraction

import numpy as np
import pytest

from reference.interpreter.evaluate import evaluate
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import (
    ALL,
    ELEMENT_TYPES,
    Array,
    ElementType,
    element_type_of,
    from_bits,
    to_bits,
)
from reference.unspecified.table import unspecified_elements
from suites.meta.support.one_op import codes, run, samples
from suites.meta.support.ops.exact import Number, are_same, exact_value, nearest_number, numbers


def meanings(array: Array) -> list[Number]:
    """Return the values of real elements of any type; of complex elements, of their real parts."""
    element_type = element_type_of(array)
    if element_type.is_complex:
        return meanings(np.ascontiguousarray(np.real(array)))
    if element_type.is_float:
        return numbers(array, element_type)
    return [Fraction(int(element)) or 0.0 for element in array.tolist()]


def convert_number(x: Number, to: ElementType) -> tuple[Number | None, bool]:
    """Return the conversion of a value to a real type, and whether it is unspecified."""
    if to.is_float:
        return nearest_number(x, to.float_format)
    if to.is_boolean:
        return Fraction(x != 0) or 0.0, False
    value = exact_value(x)
    if value is None or not to.min_integer <= math.trunc(value) <= to.max_integer:
        return None, True
    return Fraction(math.trunc(value)) or 0.0, False


def convertible_elements(of: ElementType) -> Array:
    """Return elements to convert: not all of a byte's codes, or it takes long."""
    found = samples(of)
    return found[:: max(1, len(found) // 64)]


@pytest.mark.parametrize("to", ALL, ids=str)
def test_convert(to: ElementType) -> None:
    for of in ALL:
        operand = convertible_elements(of) if of is not to else samples(of)
        result, mask = run("convert", operand, to=to)
        if to.is_complex and of.is_complex:
            for part in (np.real, np.imag):
                assert_parts(part(operand), part(result), to.part)
            continue
        if to.is_complex:
            assert not to_bits(np.imag(result).copy()).any(), of
            result = np.real(result).copy()
        for given, got, masked in zip(
            meanings(operand), meanings(result), mask.tolist(), strict=True
        ):
            want, left_open = convert_number(given, to.part)
            assert masked == left_open, (of, given)
            assert want is None or are_same(got, want), (of, given, got)


def assert_parts(given: Array, got: Array, to: ElementType) -> None:
    parts = zip(meanings(given.copy()), meanings(got.copy()), strict=True)
    assert all(are_same(y, nearest_number(x, to.float_format)[0]) for x, y in parts)


@pytest.mark.parametrize("of", ["f16", "bf16", "f8E5M2", "f8E4M3FN", "f4E2M1FN"])
def test_convert_rounds_once(of: str) -> None:
    """f64 numbers just off a midpoint, where rounding to f32 first would go wrong."""
    to = ELEMENT_TYPES[of]
    step = 2.0**-to.float_format.mantissa_bits
    middle = 1.0 + step / 2
    near = np.array([np.nextafter(middle, 0), middle, np.nextafter(middle, 2)])
    result, _ = run("convert", near, to=to)
    assert result.astype(np.float64).tolist() == [1.0, 1.0, 1.0 + step]


BIT_TYPES = [of for of in ALL if not of.is_complex]


@pytest.mark.parametrize("of", BIT_TYPES, ids=str)
def test_bitcast_convert(of: ElementType) -> None:
    """The bits of a row of elements as one large integer; the first element's bits are lowest."""
    for to in BIT_TYPES:
        ratio = max(of.bits, to.bits) // min(of.bits, to.bits)
        if ratio * min(of.bits, to.bits) != max(of.bits, to.bits):
            continue  # bits of 4 and 6 do not fit
        given = codes(of)
        shape: tuple[int, ...] = (len(given),)
        if of.bits < to.bits:
            given = np.resize(given, (max(1, len(given) // ratio), ratio))
            shape = given.shape[:1]
        elif of.bits > to.bits:
            shape = (len(given), ratio)
        result = bitcast(given, shape, to)
        rows = list(zip(as_rows(given, of), as_rows(result, to), strict=True))
        assert all(join_codes(row, of.bits) == join_codes(other, to.bits) for row, other in rows), (
            to
        )


def bitcast(given: Array, shape: tuple[int, ...], to: ElementType) -> Array:
    operand = Value("v", TensorType(given.shape, element_type_of(given)))
    (result,) = evaluate(
        single_op("bitcast_convert", (operand,), (TensorType(shape, to),)), [given]
    )
    return result


def as_rows(array: Array, of: ElementType) -> list[list[int]]:
    bits = to_bits(array) if not of.is_boolean else array.astype(np.uint8)
    return [[int(code) for code in row] for row in bits.reshape(len(array), -1)]


def join_codes(row: list[int], width: int) -> int:
    return sum(code << width * place for place, code in enumerate(row))


def test_bitcast_convert_of_complex_and_empty() -> None:
    pair = np.array([1 + 2j, -0.5 + 3j], np.complex64)
    one = bitcast(pair, (), ELEMENT_TYPES["complex<f64>"])
    assert one.tobytes() == pair.tobytes()
    again = bitcast(one, (2,), ELEMENT_TYPES["complex<f32>"])
    assert again.tolist() == pair.tolist()
    assert bitcast(np.zeros((0, 4), np.uint8), (0,), ELEMENT_TYPES["f32"]).shape == (0,)
    assert bitcast(np.zeros((3, 0), np.float32), (3, 0, 4), ELEMENT_TYPES["si8"]).shape == (3, 0, 4)


def test_bits_of_signaling_nans_are_unspecified() -> None:
    given = from_bits(
        np.array([0x7F800001, 0x7FC00000, 0x3F800000], np.uint32), ELEMENT_TYPES["f32"]
    )
    assert run("bitcast_convert", given, to=ELEMENT_TYPES["ui32"])[1].tolist() == [
        True,
        False,
        False,
    ]
    assert to_bits(run("bitcast_convert", given, to=ELEMENT_TYPES["ui32"])[0])[0] == 0x7F800001


@pytest.mark.parametrize("to", [of for of in ALL if not of.is_boolean], ids=str)
def test_iota(to: ElementType) -> None:
    shape = (2, 300, 2)
    for dimension in range(3):
        of = TensorType(shape, to)
        program = single_op("iota", (), (of,), {"iota_dimension": dimension})
        (result,) = evaluate(program, [])
        masks = unspecified_elements(program.main.body.operations[0], [], result)
        mask = np.zeros(shape, np.bool_)
        for _, one in masks:
            mask |= one
        assert result.shape == shape
        line = [0, 0, 0]
        line[dimension] = slice(None)  # type: ignore[call-overload]
        got, open_ = meanings(result[tuple(line)].copy()), mask[tuple(line)].tolist()
        for index, (number, masked) in enumerate(zip(got, open_, strict=True)):
            want, left_open = convert_number(Fraction(index) or 0.0, to.part)
            assert masked == left_open, index
            assert want is None or are_same(number, want), index
        lined = np.moveaxis(to_bits(result), dimension, 0).reshape(shape[dimension], -1)
        if not to.is_complex:
            assert (lined == lined[:, :1]).all()

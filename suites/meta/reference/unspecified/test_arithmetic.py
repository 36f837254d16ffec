"""Elementwise results that the specification leaves unspecified, next to those it defines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, QuantizedType, TensorType, Value, single_op
from reference.ir.types import Array, element_type, element_type_of, from_bits
from reference.numerics.arithmetic import abs as modulus
from reference.numerics.arithmetic import add, quiet
from reference.unspecified import complex_arithmetic as reasons
from reference.unspecified.elementwise import unspecified_elements
from reference.unspecified.quantization import unspecified_codes
from suites.meta.support.ops.unspecified import Found, array, unspecified_by

NAN, INF = np.nan, np.inf


@quiet
def find_unspecified(
    op: str, *operands: Array, to: str = "", shape: Any = None, **given: Any
) -> Found:
    types = [TensorType(operand.shape, element_type_of(operand)) for operand in operands]
    shape = operands[0].shape if shape is None else shape
    of = element_type(to) if to else types[0].element
    values = tuple(Value(f"v{n}", one) for n, one in enumerate(types))
    operation = single_op(op, values, (TensorType(shape, of),), given).subject
    (result,) = apply(operation, operands)
    found = unspecified_elements(operation, operands, result)
    return {
        label: np.broadcast_to(mask, result.shape).tolist() for label, mask in found if mask.any()
    }


@pytest.mark.parametrize("op", ["divide", "remainder"])
def test_integer_division(op: str) -> None:
    lhs, rhs = array("si8", [5, -128, -128, 5]), array("si8", [0, -1, 1, -1])
    assert find_unspecified(op, lhs, rhs) == {
        "integer division by zero": [True, False, False, False],
        "smallest integer divided by -1": [False, True, False, False],
    }
    assert find_unspecified(op, array("ui8", [255]), array("ui8", [255])) == {}
    assert find_unspecified(op, array("f32", [1]), array("f32", [0])) == {}


def test_integer_powers() -> None:
    base, exponent = array("si8", [2, 2, -2, -2, 1]), array("si8", [7, 6, 7, -1, 100])
    assert find_unspecified("power", base, exponent) == {
        "negative power of an integer": [False, False, False, True, False],
        "power too large for the integer type": [True, False, False, False, False],
    }


def test_powers_of_signaling_nans() -> None:
    """The quiet bit of f32 is bit 22."""
    nans = from_bits(np.array([0x7F800001, 0x7FC00000], np.uint32), element_type("f32"))
    label = "power of a signaling NaN"
    assert find_unspecified("power", nans, array("f32", [0, 0])) == {label: [True, False]}
    assert find_unspecified("power", array("f32", [1, 1]), nans) == {label: [True, False]}
    assert find_unspecified("power", array("f32", [2, 2]), nans) == {}


@pytest.mark.parametrize("op", ["shift_left", "shift_right_logical", "shift_right_arithmetic"])
def test_shifts_by_the_width(op: str) -> None:
    found = find_unspecified(op, array("si8", [1, 1, 1]), array("si8", [7, 8, -1]))
    assert found == {"shift by the width or more": [False, True, True]}


def test_counts_of_two_bits_in_two_bits() -> None:
    label = "count too large for the type"
    assert find_unspecified("popcnt", array("si2", [-1, 1])) == {label: [True, False]}
    assert find_unspecified("count_leading_zeros", array("si2", [0, 1])) == {label: [True, False]}
    assert find_unspecified("popcnt", array("ui2", [3])) == {}
    assert find_unspecified("popcnt", array("si4", [-1])) == {}


@pytest.mark.parametrize(
    ("of", "inside", "outside", "to"),
    [
        ("f32", [127.9, -128.9, 0], [128, -129, NAN], "si8"),
        ("f32", [2.0**31 - 128, -(2.0**31), 0], [2.0**31, -(2.0**31) - 256, INF], "si32"),
        ("f32", [0, -0.9, 255], [-1, 256, -INF], "ui8"),
        ("si16", [127, -128, 0], [128, -129, -32768], "si8"),
        ("ui8", [127, 0, 1], [128, 200, 255], "si8"),
        ("si8", [0, 127, 1], [-1, -128, -2], "ui32"),
        ("complex<f32>", [127, 1 + 900j, 0], [128, NAN, -129], "si8"),
    ],
)
def test_conversions_to_integers(of: str, inside: Any, outside: Any, to: str) -> None:
    found = find_unspecified("convert", array(of, [*inside, *outside]), to=to)
    assert found == {"conversion to an integer out of range": [False] * 3 + [True] * 3}


def test_booleans_convert_to_any_integer() -> None:
    assert find_unspecified("convert", np.array([True]), to="si2") == {}


def test_total_order_of_nans() -> None:
    bits = np.array([0x7FC00000, 0x7FC00001, 0xFFC00000], np.uint32)
    nans = from_bits(bits, element_type("f32"))
    given = {"comparison_direction": "LT", "compare_type": "TOTALORDER"}
    found = find_unspecified("compare", nans, nans[[1, 1, 0]], to="i1", **given)
    assert found == {"total order of two NaNs": [True, False, False]}
    assert find_unspecified("compare", nans, nans[::-1], to="i1", comparison_direction="LT") == {}


def test_order_of_complex_numbers_with_nan() -> None:
    """Imaginary parts decide only if real parts are equal."""
    lhs = array("complex<f32>", [complex(NAN, 0), complex(1, NAN), complex(1, NAN), 1])
    rhs = array("complex<f32>", [1, complex(1, 0), complex(2, 0), 1])
    found = find_unspecified("compare", lhs, rhs, to="i1", comparison_direction="GE")
    assert found == {"order of complex numbers with NaN": [True, True, False, False]}
    assert find_unspecified("compare", lhs, rhs, to="i1", comparison_direction="NE") == {}


@pytest.mark.parametrize("op", ["maximum", "minimum"])
def test_extrema_of_complex_numbers(op: str) -> None:
    zero, negative = complex(0, 1), complex(-0.0, 1)
    lhs = array("complex<f32>", [complex(1, NAN), 0, complex(1, 0.0), complex(1, 0.0)])
    rhs = array("complex<f32>", [1, 0, complex(1, -0.0), complex(2, -0.0)])
    lhs[1], rhs[1] = zero, negative
    assert find_unspecified(op, lhs, rhs) == {
        "order of complex numbers with NaN": [True, False, False, False],
        "order of complex numbers by the sign of zero": [False, True, True, False],
    }


def test_bits_of_signaling_nans() -> None:
    nans = from_bits(np.array([0x7F800001, 0x7FC00000], np.uint32), element_type("f32"))
    label = "bits of a signaling NaN"
    assert find_unspecified("bitcast_convert", nans, to="si32") == {label: [True, False]}
    halves = find_unspecified("bitcast_convert", nans, to="ui16", shape=(2, 2))
    assert halves == {label: [[True, True], [False, False]]}
    pair = from_bits(np.array([0x7C01, 0x3C00], np.uint16), element_type("f16"))
    assert find_unspecified("bitcast_convert", pair, to="f32", shape=()) == {label: True}
    assert find_unspecified("bitcast_convert", array("f8E4M3FN", [NAN]), to="ui8") == {}


def unspecified_reduction(
    of: str, numbers: list[float], exponent_bits: int, mantissa_bits: int
) -> Found:
    return find_unspecified(
        "reduce_precision",
        array(of, numbers),
        exponent_bits=exponent_bits,
        mantissa_bits=mantissa_bits,
    )


def test_precision_without_mantissa() -> None:
    assert unspecified_reduction("f32", [1.5, 1.25, NAN], 8, 0) == {
        "tie between powers of two": [True, False, False],
        "NaN in a format without NaN": [False, False, True],
    }
    assert unspecified_reduction("f32", [1.5, NAN], 8, 1) == {}
    far = unspecified_reduction("f32", [1.5 * 2.0**7, 1.5 * 2.0**8, 1.5 * 2.0**-8], 4, 0)
    assert far == {"tie between powers of two": [True, False, False]}


def test_reduced_precision_of_subnormal_numbers() -> None:
    tiny = 2.0**-126
    assert unspecified_reduction("f32", [tiny / 2, tiny, 0], 8, 10) == {
        "reduced precision of a subnormal number": [True, False, False]
    }
    assert unspecified_reduction("f32", [tiny / 2], 5, 10) == {}  # underflows to zero
    assert unspecified_reduction("f32", [tiny / 2], 8, 23) == {}


def test_reduced_range_of_a_format_that_is_not_ieees() -> None:
    """The largest exponent of f8E4M3FN has finite numbers, which an IEEE format lacks."""
    label = "exponent range of a format that is not IEEE's"
    assert unspecified_reduction("f8E4M3FN", [256, 240, 1], 4, 3) == {label: [True, False, False]}
    assert unspecified_reduction("f8E4M3", [240, 1], 4, 3) == {}


def test_values_that_the_result_type_lacks() -> None:
    label = "overflow in a format without infinity"
    f8 = "f8E4M3FN"
    assert find_unspecified("add", array(f8, [448, 1]), array(f8, [448, 1])) == {
        label: [True, False]
    }
    assert find_unspecified("convert", array("f32", [500, 448]), to=f8) == {label: [True, False]}
    assert find_unspecified("exponential", array(f8, [8, 1])) == {label: [True, False]}
    assert find_unspecified("negate", array("f8E8M0FNU", [1]))
    assert find_unspecified("add", array("f8E5M2", [57344]), array("f8E5M2", [57344])) == {}


INF, NAN, BIG = np.inf, np.nan, 3e38
ADD = Operation("add")


def numbers(*values: complex) -> Array:
    return np.array(values, np.complex64)


def mask(found: list[tuple[str, Array]]) -> list[bool]:
    ((_, only),) = found
    return only.tolist()


@quiet
def test_sums_that_overflow_or_cancel_infinities() -> None:
    lhs = numbers(BIG, complex(0, INF), complex(INF, 1), complex(NAN, 1), 1)
    rhs = numbers(BIG, complex(0, -INF), complex(INF, 1), complex(1, 1), 1)
    found = reasons.complex_sum(ADD, (lhs, rhs), add(lhs, rhs))
    assert mask(found) == [True, True, False, False, False]
    real = np.real(lhs)
    assert reasons.complex_sum(ADD, (real, real), real) == []


def test_powers_of_zero_take_its_logarithm() -> None:
    zero, one = numbers(0, 1), numbers(1, 1)
    assert mask(reasons.complex_exception(Operation("power"), (zero, one), one)) == [True, False]
    assert mask(reasons.complex_exception(Operation("multiply"), (zero, one), one)) == [False] * 2


def test_atan2_at_its_pole() -> None:
    lhs, rhs = numbers(1j, -1j, 2j, 1), numbers(1, 1, 1, 1)
    found = reasons.complex_exception(Operation("atan2"), (lhs, rhs), numbers(0, 0, 0, 0))
    assert mask(found) == [True, True, False, False]


def test_the_lower_side_of_a_branch_cut() -> None:
    below, above = complex(-1, -0.0), complex(-1, 0.0)
    operand = numbers(below, above, complex(1, -0.0), complex(-1, -1), complex(0, -0.0))
    found = reasons.branch_cut(Operation("log"), (operand,), operand)
    assert mask(found) == [True, False, False, False, False]


@quiet
def test_moduli_that_overflow_or_are_of_nan() -> None:
    operand = numbers(complex(BIG, BIG), complex(INF, NAN), complex(INF, 1), complex(NAN, 1), 5)
    found = reasons.complex_abs(Operation("abs"), (operand,), modulus(operand))
    assert mask(found) == [True, True, False, False, False]


@quiet
def test_signs_divide_by_an_infinite_modulus() -> None:
    operand = numbers(complex(BIG, BIG), complex(INF, 0), complex(INF, NAN), 1)
    found = reasons.complex_sign(Operation("sign"), (operand,), operand)
    assert mask(found) == [True, True, False, False]


@pytest.mark.parametrize("name", ["complex_exception", "branch_cut", "complex_abs", "complex_sign"])
def test_real_numbers_are_not_affected(name: str) -> None:
    real = np.array([INF, -1.0, NAN])
    assert getattr(reasons, name)(Operation("power"), (real, real), real) == []


SI32, SI8, F32 = (element_type(name) for name in ("si32", "si8", "f32"))


def quantized_type(
    of: str, storage_min: int, storage_max: int, expressed: str = "f32", scale: float = 1.0,
    zero_point: int = 0,
) -> QuantizedType:  # fmt: skip
    return QuantizedType(
        element_type(of), storage_min, storage_max, element_type(expressed), (scale,), (zero_point,)
    )


def no_reasons(*_: object) -> list[tuple[str, Array]]:
    return []


@quiet
def codes(
    numbers: Sequence[float], to: QuantizedType, expressed: str = "f32"
) -> dict[str, list[bool]]:
    operand = array(expressed, numbers)
    value = Value("x", TensorType(operand.shape, element_type(expressed)))
    operation = single_op("uniform_quantize", (value,), (TensorType(operand.shape, to),)).subject
    found = unspecified_codes(operation, [operand], operand, 0, no_reasons)
    return {label: mask.tolist() for label, mask in found if mask.any()}


def test_a_bound_that_the_expressed_type_lacks_does_not_clamp() -> None:
    """2^31 - 1 is 2^31 in f32, which a number of si32 cannot be."""
    whole = quantized_type("si32", -(2**31), 2**31 - 1)
    found = codes([2.0**31, 2.0**31 - 128, -(2.0**31)], whole)
    assert found == {"out of the range of the storage type": [True, False, False]}
    assert codes([2.0**31], quantized_type("si32", -(2**31), 2**31 - 129)) == {}
    assert codes([2.0**31], quantized_type("si32", -(2**31), 2**31 - 1, "f64"), "f64") == {}


def test_the_reasons_of_the_operation_on_numbers_count() -> None:
    seen: list[Operation] = []

    def plain(
        operation: Operation, operands: Sequence[Array], *_: object
    ) -> list[tuple[str, Array]]:
        seen.append(operation)
        assert operands[0].dtype == np.float32
        return [("a reason", np.array([True]))]

    of = quantized_type("si8", -128, 127)
    value = Value("x", TensorType((1,), of))
    operation = single_op("tanh", (value,), (TensorType((1,), of),)).subject
    found = unspecified_codes(operation, [array("si8", [1])], array("si8", [1]), 0, plain)
    assert ("a reason", [True]) in [(label, mask.tolist()) for label, mask in found]
    assert seen[0].results[0].type == TensorType((1,), F32)


def counting(of: str) -> Found:
    shape = np.array([1, 9], np.int32)
    to = TensorType((1, 9), element_type(of))
    return unspecified_by("dynamic_iota", shape, to=to, iota_dimension=1)


def test_an_integer_type_holds_its_largest_index() -> None:
    assert counting("si4") == {"index out of the integer type's range": [False] * 8 + [True]}
    assert counting("ui4") == {}


def test_a_type_without_zero_lacks_the_first_index() -> None:
    assert counting("f8E8M0FNU")["zero or negative in f8E8M0FNU"] == [True] + [False] * 8
    assert counting("f32") == {}

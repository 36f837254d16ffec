"""Elementwise results that the specification leaves unspecified, next to those that it defines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference.interpreter.evaluate import apply
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import Array, element_type, element_type_of, from_bits
from reference.numerics.arithmetic import quiet
from reference.unspecified.elementwise import unspecified_elements
from suites.meta.support.ops.unspecified import Found, array

NAN, INF = np.nan, np.inf


@quiet
def find_unspecified(
    op: str, *operands: Array, to: str = "", shape: Any = None, **given: Any
) -> Found:
    types = [TensorType(one.shape, element_type_of(one)) for one in operands]
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


def test_indices_that_a_type_cannot_hold() -> None:
    found = find_unspecified("iota", to="si2", shape=(3, 1), iota_dimension=0)
    assert found == {"index out of the integer type's range": [[False], [False], [True]]}


def test_total_order_of_nans() -> None:
    bits = np.array([0x7FC00000, 0x7FC00001, 0xFFC00000], np.uint32)
    nans = from_bits(bits, element_type("f32"))
    given = {"comparison_direction": "LT", "compare_type": "TOTALORDER"}
    found = find_unspecified("compare", nans, nans[[1, 1, 0]], to="i1", **given)
    assert found == {"total order of two NaNs": [True, False, False]}
    assert find_unspecified("compare", nans, nans[::-1], to="i1", comparison_direction="LT") == {}


def test_total_order_of_a_nan_without_sign() -> None:
    lhs, rhs = array("f8E4M3FNUZ", [NAN, NAN, 1]), array("f8E4M3FNUZ", [1, NAN, 2])
    given = {"comparison_direction": "LT", "compare_type": "TOTALORDER"}
    found = find_unspecified("compare", lhs, rhs, to="i1", **given)
    assert found == {"total order of a NaN without sign": [True, False, False]}
    given["comparison_direction"] = "EQ"
    assert find_unspecified("compare", lhs, rhs, to="i1", **given) == {}


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

"""Bits of constants, taken as if each narrow element had a byte, or with their signs extended."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from conformance.known.programs import candidates_for
from conformance.known.xla.result_types.other_types import BYTES
from conformance.known.xla.sub_byte.folded_bitcasts import BY_BYTES, SIGN_ABOVE
from conformance.stablehlo.parse import parse_module
from reference.ir.program import Program
from reference.ir.types import Array


def predicting_class(program: Program, inputs: tuple[Array, ...], actual: tuple[Array, ...]) -> str:
    """Return the class that predicts exactly these results, "" for none."""
    found = candidates_for(program, inputs, actual, "cpu")
    return next((one.label for one in found if one.is_exact), "")


def label(constant: str, of: str, to: str, got: Array) -> str:
    text = f"""
func.func @main() -> tensor<{to}> {{
  %x = stablehlo.constant dense<{constant}> : tensor<{of}>
  %0 = stablehlo.bitcast_convert %x : (tensor<{of}>) -> tensor<{to}>
  return %0 : tensor<{to}>
}}"""
    return predicting_class(parse_module(text), (), (got,))


def test_narrow_element_may_be_read_as_a_byte() -> None:
    def predicting_label(*got: int) -> str:
        return label("0xE4", "ui8", "2xui4", np.array(got, ml_dtypes.uint4))

    assert predicting_label(4, 0) == predicting_label(4, 9) == BY_BYTES
    assert predicting_label(5, 14) == ""
    pair = label("[3, 1]", "2xui4", "ui8", np.array(3, np.uint8))
    assert pair == BY_BYTES
    assert label("[3, 1]", "2xui4", "ui8", np.array(0x13, np.uint8)) == ""


def test_truth_values_have_a_byte_each_and_results_of_another_shape() -> None:
    """Two times two i1 are four bytes, which hold four times as many si2."""
    four = "[[true, false], [true, true]]"

    def predicting_label(*got: int) -> str:
        return label(four, "2x2xi1", "2xi2", np.array(got, ml_dtypes.int2).reshape(2, 2, -1))

    rest = (-1,) * 12
    assert predicting_label(1, 0, 1, 1, *rest) == BY_BYTES
    assert predicting_label(1, 1, 1, 1, *rest) == ""
    pair = np.array([1, 0], np.uint8)
    assert label("[1, 0]", "2xui4", "ui8", pair) == ""  # only an i1 makes other shapes
    eight = "[true, false, false, true, true, false, true, false]"
    by_bytes = np.array([1, 0, 0, 1, 1, 0, 1, 0], np.int8)
    assert label(eight, "8xi1", "i8", by_bytes) == BYTES  # folded or not


def test_operations_may_follow_results_of_another_shape() -> None:
    text = """
func.func @main(%x: tensor<2x4xi1>) -> tensor<2xi4> {
  %0 = stablehlo.constant dense<[[false, true, false, false], [true, false, true, false]]>
    : tensor<2x4xi1>
  %1 = stablehlo.not {operand} : tensor<2x4xi1>
  %2 = stablehlo.bitcast_convert %1 : (tensor<2x4xi1>) -> tensor<2xi4>
  %3 = stablehlo.negate %2 : tensor<2xi4>
  return %3 : tensor<2xi4>
}"""
    given = (np.array([[False, True, False, False], [True, False, True, False]]),)

    def label_of(operand: str, *elements: int) -> str:
        got = np.array(elements, ml_dtypes.int4).reshape(2, 4, 2)
        return predicting_class(parse_module(text.replace("{operand}", operand)), given, (got,))

    bytes_, elements = (-1, 0, -1, -1, 0, -1, 0, -1), (7,) * 8
    assert label_of("%0", *bytes_, *elements) == BY_BYTES
    assert label_of("%0", *bytes_[:-1], 1, *elements) == ""
    in_memory = (-1, 0, 0, 0, -1, 0, -1, 0, 0, 0, -1, 0, 0, 0, -1, 0)
    assert label_of("%x", *in_memory) == BYTES
    assert label_of("%x", *bytes_, *elements) == ""


TAKEN = """
func.func @main(%y: tensor<4xui4>) -> tensor<{shape}ui4> {{
  %x = stablehlo.constant dense<[0xE4, 0x31]> : tensor<2xui8>
  %0 = stablehlo.bitcast_convert %x : (tensor<2xui8>) -> tensor<2x2xui4>
  %1 = {taken} : {type} -> tensor<{shape}ui4>
  return %1 : tensor<{shape}ui4>
}}"""


@pytest.mark.parametrize(
    ("taken", "shape", "got", "expected"),
    [
        ("stablehlo.slice %0 [0:1, 0:2]", (1, 2), [4, 1], BY_BYTES),
        ("stablehlo.slice %0 [0:1, 0:2]", (1, 2), [4, 2], ""),
        ("stablehlo.slice %0 [0:2, 1:2]", (2, 1), [1, 9], BY_BYTES),  # 9 is in memory behind
        ("stablehlo.slice %0 [0:2, 1:2]", (2, 1), [2, 9], ""),
        ("stablehlo.reshape %0", (4,), [4, 1, 7, 8], BY_BYTES),
        ("stablehlo.reshape %0", (4,), [4, 14, 7, 8], ""),
    ],
)
def test_operations_may_follow(
    taken: str, shape: tuple[int, ...], got: list[int], expected: str
) -> None:
    sizes = "".join(f"{n}x" for n in shape)
    text = TAKEN.format(taken=taken, shape=sizes, type="(tensor<2x2xui4>)")
    actual = np.array(got, ml_dtypes.uint4).reshape(shape)
    given = (np.zeros(4, ml_dtypes.uint4),)
    assert predicting_class(parse_module(text), given, (actual,)) == expected


@pytest.mark.parametrize(
    ("count", "to", "storage"), [(2, "i8", np.int8), (4, "i16", np.int16), (8, "i32", np.int32)]
)
def test_a_sign_may_be_extended_over_the_elements_above(count: int, to: str, storage: type) -> None:
    assert label("-5", f"{count}xi4", to, np.array(-5, storage)) == SIGN_ABOVE
    assert label("-5", f"{count}xi4", to, np.array(-6, storage)) == ""
    assert label("5", f"{count}xi4", to, np.array(-5, storage)) == ""
    other = "[" + ", ".join(["-5"] * (count - 1) + ["-4"]) + "]"
    assert label(other, f"{count}xi4", to, np.array(-5, storage)) != SIGN_ABOVE


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ([-2] * 4, SIGN_ABOVE),
        ([-2, -1] * 2, SIGN_ABOVE),
        ([-2, -1, -2, -2], ""),
        ([-1, -2] * 2, ""),
    ],
)
def test_a_sign_may_end_with_an_element_of_four_bits_or_with_its_byte(
    got: list[int], expected: str
) -> None:
    assert label("-2", "4x2xi2", "4xi4", np.array(got, ml_dtypes.int4)) == expected


def test_parameters_and_wide_types_never_have_the_class() -> None:
    text = """
func.func @main(%x: tensor<ui8>) -> tensor<2xui4> {
  %0 = stablehlo.bitcast_convert %x : (tensor<ui8>) -> tensor<2xui4>
  return %0 : tensor<2xui4>
}"""
    program, given = parse_module(text), (np.array(0xE4, np.uint8),)
    assert predicting_class(program, given, (np.array([4, 0], ml_dtypes.uint4),)) == ""
    assert label("0x0102", "ui16", "2xui8", np.array([2, 2], np.uint8)) == ""


def test_programs_of_nothing_or_of_other_results_have_no_such_class() -> None:
    nothing = """
func.func @main() -> () {
  return
}"""
    assert predicting_class(parse_module(nothing), (), ()) == ""
    other = """
func.func @main() -> tensor<ui8> {
  %x = stablehlo.constant dense<0xE4> : tensor<ui8>
  %0 = stablehlo.bitcast_convert %x : (tensor<ui8>) -> tensor<2xui4>
  return %x : tensor<ui8>
}"""
    assert predicting_class(parse_module(other), (), (np.array(4, np.uint8),)) == ""


def test_results_of_another_shape_have_no_such_class() -> None:
    assert label("0xE4", "ui8", "2xui4", np.array([4], ml_dtypes.uint4)) == ""
    assert label("0xE4", "ui8", "2xui4", np.array([4, 0], np.uint8)) == ""

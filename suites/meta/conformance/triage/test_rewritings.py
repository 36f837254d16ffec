"""Identities of real numbers, and narrow integers in eight bits: predictions in isolation."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from conformance.known.rewritings.exponentials import LARGEST_ARGUMENT, UNROUNDED
from conformance.known.rewritings.identities import EXPONENTIAL, LOGARITHM, REGROUPED, ZEROS
from conformance.known.rewritings.narrow.integers import KEPT, NEGATIVE
from conformance.known.rewritings.table import IOTA
from suites.meta.support.rewriting import kind_of

F32 = np.float32

TWO_CONSTANTS = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %c = stablehlo.constant dense<{c}> : tensor<2xf32>
  %d = stablehlo.constant dense<{d}> : tensor<2xf32>
  %0 = stablehlo.{one} %x, %c : tensor<2xf32>
  %1 = stablehlo.{other} %0, %d : tensor<2xf32>
  return %1 : tensor<2xf32>
}}"""


@pytest.mark.parametrize(
    ("one", "other", "c", "d", "x", "got", "wrong"),
    [
        ("multiply", "divide", "1.0e4", "1.0e2", [1e36, 2], [1e38, 200], [2e38, 200]),
        ("multiply", "multiply", "1.0e4", "1.0e-2", [1e36, 2], [1e38, 200], [1e38, 201]),
        ("divide", "multiply", "7.0", "7.0", [4.2e-45, 2], [4.2e-45, 2], [8.4e-45, 2]),
        ("divide", "divide", "1.0e-4", "1.0e2", [1e36, 2], [1e38, 200], [-1e38, 200]),
    ],
)
def test_constants_that_are_multiplied_first(
    one: str, other: str, c: str, d: str, x: list[float], got: list[float], wrong: list[float]
) -> None:
    text = TWO_CONSTANTS.format(one=one, other=other, c=c, d=d)
    given = [np.array(x, F32)]
    assert kind_of(text, given, np.array(got, F32)) == REGROUPED
    assert kind_of(text, given, np.array(wrong, F32)) != REGROUPED
    parameters = text.replace("%x: tensor<2xf32>", "%x: tensor<2xf32>, %c: tensor<2xf32>")
    parameters = "\n".join(row for row in parameters.splitlines() if "%c = " not in row)
    more = [*given, np.full(2, float(c), F32)]
    assert kind_of(parameters, more, np.array(got, F32)) != REGROUPED


THREE_CONSTANTS = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %c = stablehlo.constant dense<1.0e4> : tensor<2xf32>
  %d = stablehlo.constant dense<1.0e-2> : tensor<2xf32>
  %0 = stablehlo.{first} %x, %c : tensor<2xf32>
  %1 = stablehlo.multiply %c, %0 : tensor<2xf32>
  %2 = stablehlo.{last} %1, %d : tensor<2xf32>
  return %2 : tensor<2xf32>
}}"""


@pytest.mark.parametrize(
    ("first", "last", "x", "got"),
    [
        ("multiply", "multiply", [1e32, 2], [1e34 * 1e4, 2e6]),
        ("divide", "multiply", [1e-42, 2], [1e-44, 0.02]),
    ],
)
def test_consecutive_constants_are_multiplied_first(
    first: str, last: str, x: list[float], got: list[float]
) -> None:
    text = THREE_CONSTANTS.format(first=first, last=last)
    given = [np.array(x, F32)]
    assert kind_of(text, given, np.array(got, F32)) == REGROUPED
    assert kind_of(text, given, np.array([2 * got[0], got[1]], F32)) != REGROUPED


TWO_PRODUCTS = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {{
  %c = stablehlo.constant dense<[{c}, {d}]> : tensor<2xf32>
  %0 = stablehlo.{one} %x, %c : tensor<2xf32>
  %1 = stablehlo.{other} %y, %c : tensor<2xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<2xf32>
  return %2 : tensor<2xf32>
}}"""


@pytest.mark.parametrize(
    ("one", "other", "c", "d"),
    [("multiply", "multiply", "1.0e30", "2.0"), ("divide", "divide", "1.0e-30", "0.5")],
)
def test_constants_of_two_products_that_are_multiplied_first(
    one: str, other: str, c: str, d: str
) -> None:
    text = TWO_PRODUCTS.format(one=one, other=other, c=c, d=d)
    given = [np.array([0, 3], F32), np.array([1e-30, 5], F32)]
    assert kind_of(text, given, np.array([np.nan, 60], F32)) == REGROUPED  # 0 * infinity
    assert kind_of(text, given, np.array([np.nan, 61], F32)) != REGROUPED
    assert kind_of(text, given, np.array([np.inf, 60], F32)) != REGROUPED
    swapped = text.replace("%y, %c", "%c, %y")
    is_product = other == "multiply"
    assert (kind_of(swapped, given, np.array([np.nan, 60], F32)) == REGROUPED) == is_product


POWER = """
func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.power %x, %y : tensor<3xf32>
  %1 = stablehlo.log %0 : tensor<3xf32>
  return %1 : tensor<3xf32>
}"""


def test_the_logarithm_of_a_power_as_a_product() -> None:
    given = [np.array([-5, 1e30, 3], F32), np.array([1, 2, 2], F32)]
    got = np.array([np.log(5), 2 * np.log(1e30), 2 * np.log(3)], F32)
    assert kind_of(POWER, given, got) == LOGARITHM
    assert kind_of(POWER, given, got * np.array([1, 1.01, 1], F32)) != LOGARITHM


QUOTIENT = """
func.func @main(%a: tensor<2xf16>, %x: tensor<2xf16>) -> tensor<2xf16> {
  %0 = stablehlo.exponential %x : tensor<2xf16>
  %1 = stablehlo.divide %a, %0 : tensor<2xf16>
  return %1 : tensor<2xf16>
}"""


def test_a_quotient_by_an_exponential_as_a_product() -> None:
    given = [np.array([14.17, 2], np.float16), np.array([14.17, 1], np.float16)]
    right = np.float16(2) / np.float16(np.e)
    got = np.array([14.17 * np.exp(-14.17), right], np.float16)
    assert kind_of(QUOTIENT, given, got) == EXPONENTIAL  # exp(14.17) has no room in f16
    assert kind_of(QUOTIENT, given, got * np.array([-1, 1], np.float16)) != EXPONENTIAL
    assert kind_of(QUOTIENT, given, got * np.array([2, 1], np.float16)) != EXPONENTIAL
    assert kind_of(QUOTIENT.replace("exponential", "tan"), given, got) != EXPONENTIAL


NARROW = """
func.func @main(%x: tensor<4xi4>) -> tensor<4xi8> {
  %0 = stablehlo.negate %x : tensor<4xi4>
  %1 = stablehlo.add %0, %0 : tensor<4xi4>
  %2 = stablehlo.reshape %1 : (tensor<4xi4>) -> tensor<2x2xi4>
  %3 = stablehlo.reshape %2 : (tensor<2x2xi4>) -> tensor<4xi4>
  %4 = stablehlo.convert %3 : (tensor<4xi4>) -> tensor<4xi8>
  return %4 : tensor<4xi8>
}"""
FOUR = np.array([-8, 7, 1, 2], ml_dtypes.int4)


def test_untruncated_narrow_integers_have_the_class() -> None:
    def kind(got: list[int]) -> str:
        return kind_of(NARROW, [FOUR], np.array(got, np.int8))

    assert kind([16, -14, -2, -4]) == KEPT
    assert kind([-16, -14, -2, -4]) != KEPT  # cut in between, which the whole is not
    assert kind([16, -14, -2, -5]) != KEPT
    unsigned = NARROW.replace("xi4>", "xui4>").replace("xi8>", "xui8>")
    four = FOUR.astype(np.int8).astype(np.uint8) & 15
    got = (-2 * four.astype(np.int64)).astype(np.uint8)
    assert kind_of(unsigned, [four.astype(ml_dtypes.uint4)], got) == KEPT


def test_an_operation_that_is_wrong_by_itself_is_of_no_such_class() -> None:
    text = """
func.func @main(%x: tensor<1xi4>) -> tensor<1xi4> {
  %0 = stablehlo.popcnt %x : tensor<1xi4>
  return %0 : tensor<1xi4>
}"""
    eight = np.array([-8], ml_dtypes.int4)  # 8 is -8 in four bits
    assert kind_of(text, [np.array([-1], ml_dtypes.int4)], eight) != KEPT


COUNTED = """
func.func @main() -> tensor<3xi1> {
  %0 = stablehlo.iota dim = 0 : tensor<3xi2>
  %1 = stablehlo.constant dense<0> : tensor<3xi2>
  %2 = stablehlo.compare GE, %0, %1 : (tensor<3xi2>, tensor<3xi2>) -> tensor<3xi1>
  return %2 : tensor<3xi1>
}"""


def test_iota_without_wrapping_is_compared_in_eight_bits() -> None:
    assert kind_of(COUNTED, [], np.array([True, True, True])) == KEPT
    assert kind_of(COUNTED, [], np.array([True, False, True])) != KEPT


OVERFLOWING = """
func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {{
  %0 = stablehlo.exponential %x : tensor<3xf32>
  %1 = stablehlo.{op} {taken} : tensor<3xf32>
  return %1 : tensor<3xf32>
}}"""


@pytest.mark.parametrize(
    ("op", "taken", "sign"),
    [("subtract", "%0, %y", 1), ("subtract", "%y, %0", -1), ("add", "%y, %0", 1)],
)
def test_an_exponential_that_overflows_is_finite_in_a_sum(op: str, taken: str, sign: int) -> None:
    text = OVERFLOWING.format(op=op, taken=taken)
    y = np.array([np.inf, 5e37, 1], F32) * (1 if op == "subtract" else -1)
    given = [np.array([np.inf, 100, 1], F32), y]
    with np.errstate(over="ignore"):
        last = F32(F32(np.e) + (-1 if op == "subtract" else 1) * y[2])
        got = (
            np.array([-np.inf, np.exp(LARGEST_ARGUMENT) - 5e37, last], np.float64).astype(F32)
            * sign
        )
    assert kind_of(text, given, got) == UNROUNDED
    assert kind_of(text, given, got * np.array([-1, 1, 1], F32)) != UNROUNDED
    assert kind_of(text, given, got * np.array([1, 0.99, 1], F32)) != UNROUNDED


FOLDED = """
func.func @main({taken}) -> tensor<2xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<2xf32>
  %0 = stablehlo.iota dim = 0 : tensor<2xf32>
  %1 = stablehlo.negate {of} : tensor<2xf32>
  %2 = stablehlo.maximum %zero, %1 : tensor<2xf32>
  return %2 : tensor<2xf32>
}}"""


def test_folded_extrema_take_zeros_for_equal() -> None:
    got = np.array([-0.0, -0.0], F32)
    assert kind_of(FOLDED.format(taken="", of="%0"), [], got) == ZEROS
    assert kind_of(FOLDED.format(taken="", of="%0"), [], np.array([0, -1], F32)) != ZEROS
    given = [np.array([0, 1], F32)]
    compiled = FOLDED.format(taken="%x: tensor<2xf32>", of="%x")
    assert kind_of(compiled, given, got) != ZEROS


COUNTING = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %c = stablehlo.constant dense<[{first}]> : tensor<2xf32>
  %0 = stablehlo.negate %c : tensor<2xf32>
  %1 = stablehlo.maximum %0, %x : tensor<2xf32>
  return %1 : tensor<2xf32>
}}"""


def test_constant_folded_to_iota_has_sign_of_first_zero() -> None:
    given, got = [np.array([-0.0, 7], F32)], np.array([0, 7], F32)
    assert kind_of(COUNTING.format(first="0.0, -1.0"), given, got) == IOTA
    assert kind_of(COUNTING.format(first="0.0, -2.0"), given, got) != IOTA
    assert kind_of(COUNTING.format(first="0.0, -1.0"), given, np.array([0, 8], F32)) != IOTA


TWO_BITS = """
func.func @main(%x: tensor<2x{of}>) -> tensor<2xi8> {{
  %0 = stablehlo.constant dense<{c}> : tensor<2x{of}>
  %1 = stablehlo.{op} %0, %x : tensor<2x{of}>
  %2 = stablehlo.convert %1 : (tensor<2x{of}>) -> tensor<2xi8>
  return %2 : tensor<2xi8>
}}"""


@pytest.mark.parametrize(
    ("of", "op", "c", "got", "is_explained"),
    [
        ("i2", "maximum", -1, [-1, 0], True),
        ("i2", "maximum", -1, [5, 0], False),  # no number of two bits
        ("i2", "maximum", 0, [-1, 0], False),
        ("i2", "xor", -1, [0, 0], False),
        ("i4", "maximum", -1, [-1, 0], False),
    ],
)
def test_two_bits_beside_a_negative_constant(
    of: str, op: str, c: int, got: list[int], is_explained: bool
) -> None:
    given = [np.array([1, 0], ml_dtypes.int2 if of == "i2" else ml_dtypes.int4)]
    found = kind_of(TWO_BITS.format(of=of, op=op, c=c), given, np.array(got, np.int8))
    assert (found == NEGATIVE) == is_explained


TAKEN_BY = """
func.func @main(%x: tensor<2xi2>) -> tensor<2xi2> {{
  %0 = stablehlo.constant dense<{c}> : tensor<2xi2>
  %1 = stablehlo.{op} %x, %0 : tensor<2xi2>
  %2 = stablehlo.{taker} %1 : tensor<2xi2>
  return %2 : tensor<2xi2>
}}"""


@pytest.mark.parametrize(
    ("op", "c", "taker", "got", "label"),
    [
        ("divide", -2, "sign", [-1, 0], NEGATIVE),  # 1 is right: -2 / -2
        ("divide", -2, "abs", [-1, 0], NEGATIVE),
        ("divide", -2, "not", [0, -1], NEGATIVE),
        ("divide", 1, "sign", [1, 1], ""),
        ("and", -2, "sign", [1, 0], ""),
        ("minimum", -2, "popcnt", [-1, -1], KEPT),  # seven bits, cut to two
        ("minimum", 1, "not", [-1, -1], ""),
    ],
)
def test_op_using_two_bit_value_decides_the_class(
    op: str, c: int, taker: str, got: list[int], label: str
) -> None:
    given = [np.array([-2, 1], ml_dtypes.int2)]
    text = TAKEN_BY.format(op=op, c=c, taker=taker)
    found = kind_of(text, given, np.array(got, np.int8).astype(ml_dtypes.int2))
    assert (found if found in (NEGATIVE, KEPT) else "") == label


COMPARED = """
func.func @main(%x: tensor<4xi2>) -> tensor<4x{to}> {{
  %0 = stablehlo.constant dense<{c}> : tensor<4xi2>
  %1 = stablehlo.{op} %x, %0 : {type}
  return %1 : tensor<4x{to}>
}}"""


@pytest.mark.parametrize(
    ("op", "c", "got", "is_explained"),
    [
        ("compare EQ,", -1, [0, 0, 0, 0], True),
        ("compare NE,", -2, [1, 1, 1, 1], True),
        ("compare GE,", -2, [0, 0, 0, 0], True),
        ("compare GT,", -2, [1, 1, 1, 1], True),
        ("compare GE,", -2, [0, 0, 1, 0], True),
        ("compare EQ,", -1, [1, 0, 0, 0], False),
        ("compare LT,", -1, [0, 0, 0, 0], False),
        ("maximum", -1, [-1, -1, -1, -1], True),
        ("maximum", -1, [0, 0, 0, 0], True),
        ("maximum", -1, [-2, -1, 0, 1], False),
        ("maximum", -1, [1, 1, 1, 1], False),
        ("minimum", -1, [1, 1, 1, 1], False),
    ],
)
def test_a_negative_constant_of_two_bits_is_compared_as_one_without_a_sign(
    op: str, c: int, got: list[int], is_explained: bool
) -> None:
    given = [np.array([-2, -1, 0, 1], ml_dtypes.int2)]
    compares = op.startswith("compare")
    of = "(tensor<4xi2>, tensor<4xi2>) -> tensor<4xi1>" if compares else "tensor<4xi2>"
    text = COMPARED.format(op=op, c=c, to="i1" if compares else "i2", type=of)
    result = np.array(got, np.int8).astype(np.bool_ if compares else ml_dtypes.int2)
    assert (kind_of(text, given, result) == NEGATIVE) == is_explained

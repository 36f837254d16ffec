"""Comparisons with zero of values assumed not to be negative, by the op that produces them."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.rewritings.identities import NOT_NEGATIVE
from suites.meta.support.rewriting import kind_of

PROGRAM = """
func.func @main(%x: tensor<2x{of}>, %y: tensor<2x{of}>) -> tensor<2xi1> {{
  %zero = stablehlo.constant dense<{zero}> : tensor<2x{of}>
  %two = stablehlo.constant dense<{two}> : tensor<2x{of}>
  %a = stablehlo.abs %x : tensor<2x{of}>
  %s = stablehlo.multiply %x, %x : tensor<2x{of}>
  %p = stablehlo.{op} : tensor<2x{of}>
  %0 = stablehlo.compare {comparison} : (tensor<2x{of}>, tensor<2x{of}>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}}"""


@pytest.mark.parametrize(
    ("op", "is_taken"),
    [
        ("abs %x", True),
        ("multiply %x, %x", True),
        ("power %x, %two", True),
        ("exponential %x", True),
        ("sqrt %s", True),
        ("maximum %y, %a", True),
        ("maximum %x, %zero", True),
        ("minimum %s, %a", True),
        ("multiply %s, %a", True),
        ("multiply %x, %y", False),
        ("power %x, %y", False),
        ("minimum %y, %a", False),
        ("multiply %y, %a", False),
        ("add %a, %a", False),
        ("maximum %x, %y", False),
        ("sqrt %y", False),
        ("tan %x", False),
    ],
)
def test_producing_op_decides_whether_value_is_nonnegative(op: str, is_taken: bool) -> None:
    text = PROGRAM.format(of="f32", zero="0.0", two="2.0", op=op, comparison="GE, %p, %zero")
    given = [np.array([np.nan, 1], np.float32)] * 2
    found = kind_of(text, given, np.array([True, True]))
    assert (found == NOT_NEGATIVE) == is_taken


@pytest.mark.parametrize(
    ("comparison", "got", "is_taken"),
    [
        ("LT, %p, %zero", [False, False], True),
        ("GT, %zero, %p", [False, False], True),
        ("GE, %p, %zero", [True, True], True),
        ("LE, %zero, %p", [True, True], True),
        ("GE, %p, %zero", [True, False], False),
        ("LT, %p, %two", [False, False], False),
        ("GT, %p, %zero", [True, True], False),
        ("LE, %p, %zero", [False, False], False),
    ],
)
def test_a_square_that_wraps_is_compared_with_zero(
    comparison: str, got: list[bool], is_taken: bool
) -> None:
    text = PROGRAM.format(
        of="i8", zero="0", two="2", op="multiply %x, %x", comparison=comparison
    )  # 12 * 12 is -112
    given = [np.array([12, 1], np.int8)] * 2
    assert (kind_of(text, given, np.array(got)) == NOT_NEGATIVE) == is_taken


COUNTED = """
func.func @main() -> tensor<130xi8> {{
  %x = stablehlo.iota dim = 0 : tensor<130xi8>
  %n = stablehlo.negate %x : tensor<130xi8>
  %by = stablehlo.constant dense<{by}> : tensor<130xi8>
  %0 = stablehlo.{op} {of}, %by : tensor<130xi8>
  return %0 : tensor<130xi8>
}}"""


@pytest.mark.parametrize(
    ("op", "of", "by", "is_taken"),
    [
        ("remainder", "%x", 2, True),
        ("divide", "%x", 4, True),
        ("remainder", "%x", 3, False),
        ("remainder", "%n", 2, False),
        ("divide", "%n", 4, False),
    ],
)
def test_quotients_by_powers_of_two_become_shifts(
    op: str, of: str, by: int, is_taken: bool
) -> None:
    x = np.arange(130).astype(np.int8)  # -128 and -127 at the end
    bits = (x if of == "%x" else -x).view(np.uint8)
    got = (bits % by if op == "remainder" else bits // by).astype(np.int8)
    found = kind_of(COUNTED.format(op=op, of=of, by=by), (), got)
    assert (found == NOT_NEGATIVE) == is_taken


@pytest.mark.parametrize(
    ("product", "got", "is_taken"),
    [
        ("%x, %x", [-112, 9], True),
        ("%x, %x", [111, 9], False),
        ("%x, %y", [-112, 9], False),  # a product of two is no square
    ],
)
def test_the_magnitude_of_a_square_is_left_out(
    product: str, got: list[int], is_taken: bool
) -> None:
    x = np.array([12, 3], np.int8)  # 12 * 12 is -112
    text = f"""
func.func @main(%x: tensor<2xi8>, %y: tensor<2xi8>) -> tensor<2xi8> {{
  %square = stablehlo.multiply {product} : tensor<2xi8>
  %0 = stablehlo.abs %square : tensor<2xi8>
  return %0 : tensor<2xi8>
}}"""
    found = kind_of(text, (x, x), np.array(got, np.int8))
    assert (found == NOT_NEGATIVE) == is_taken

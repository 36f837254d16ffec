"""Narrow floating-point numbers that are not rounded between operations in f32 or f16."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from conformance.known.rewritings.identities import LEFT_OUT
from conformance.known.rewritings.narrow.floats import KEPT_IN_F16, KEPT_IN_F32
from suites.meta.support.rewriting import kind_of

F8 = ml_dtypes.float8_e5m2
FNUZ = ml_dtypes.float8_e4m3fnuz
BF16 = ml_dtypes.bfloat16

DIFFERENCE = """
func.func @main(%x: tensor<{e}>, %y: tensor<{e}>) -> tensor<{e}> {{
  %0 = stablehlo.add %x, %y : tensor<{e}>
  {moved}
  %2 = stablehlo.subtract %1, %y : tensor<{e}>
  return %2 : tensor<{e}>
}}"""
DIRECT = "%1 = stablehlo.add %x, %y : tensor<{e}>"
RESHAPED = "%1 = stablehlo.reshape %0 : (tensor<{e}>) -> tensor<{e}>"


@pytest.mark.parametrize("moved", [DIRECT, RESHAPED])
@pytest.mark.parametrize(
    ("element", "of", "x", "y", "known", "others"),
    [
        ("bf16", BF16, 1.0, 512.0, 1.0, [2.0, -1.0, 0.5]),  # 513 rounds to 512
        ("f8E4M3FNUZ", FNUZ, 200.0, 200.0, 200.0, [208.0, 0.0]),  # 400 overflows to NaN
    ],
)
def test_a_sum_is_not_rounded_before_it_is_used(
    element: str, of: type, x: float, y: float, known: float, others: list[float], moved: str
) -> None:
    text = DIFFERENCE.format(e=element, moved=moved.format(e=element))
    given = [np.array(x, of), np.array(y, of)]
    found = [kind_of(text, given, np.array(one, of)) for one in (known, *others)]
    assert found[0] == KEPT_IN_F32
    assert KEPT_IN_F32 not in found[1:]


def test_numbers_of_f32_are_rounded() -> None:
    text = DIFFERENCE.format(e="f32", moved=DIRECT.format(e="f32"))
    given = [np.array(one, np.float32) for one in (1.0, 2.0**25)]
    assert kind_of(text, given, np.array(1.0, np.float32)) != KEPT_IN_F32


def test_a_stated_conversion_does_not_round() -> None:
    text = """
    func.func @main(%x: tensor<f32>, %y: tensor<bf16>) -> tensor<bf16> {
      %0 = stablehlo.convert %x : (tensor<f32>) -> tensor<bf16>
      %1 = stablehlo.subtract %0, %y : tensor<bf16>
      return %1 : tensor<bf16>
    }"""
    given = [np.array(1.001, np.float32), np.array(1.0, BF16)]
    kept = (given[0] - np.float32(1)).astype(BF16)
    assert kind_of(text, given, kept) == KEPT_IN_F32
    assert kind_of(text, given, (2 * kept).astype(BF16)) != KEPT_IN_F32


def test_a_comparison_takes_unrounded_numbers() -> None:
    text = """
    func.func @main(%x: tensor<bf16>, %y: tensor<bf16>) -> tensor<i1> {
      %0 = stablehlo.add %x, %y : tensor<bf16>
      %1 = stablehlo.compare GT, %0, %x : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      return %1 : tensor<i1>
    }"""
    given = [np.array(512.0, BF16), np.array(1.0, BF16)]
    assert kind_of(text, given, np.array(True)) == KEPT_IN_F32
    assert kind_of(text, [given[0], np.array(-0.0, BF16)], np.array(True)) != KEPT_IN_F32


QUOTIENTS = """
func.func @main({arguments}) -> tensor<bf16> {{
  {constants}
  %0 = stablehlo.divide %x, %c : tensor<bf16>
  %1 = stablehlo.divide %0, %d : tensor<bf16>
  return %1 : tensor<bf16>
}}"""
CONSTANTS = """
  %c = stablehlo.constant dense<3.0> : tensor<bf16>
  %d = stablehlo.constant dense<-3.0> : tensor<bf16>"""


def test_quotients_by_constants_are_products_with_rounded_reciprocals() -> None:
    """Both reciprocals are rounded to bf16, the product of x with the first is not."""
    of_constants = QUOTIENTS.format(arguments="%x: tensor<bf16>", constants=CONSTANTS)
    x = np.array(27.0, BF16)
    assert kind_of(of_constants, [x], np.array(-3.015625, BF16)) == KEPT_IN_F32
    assert kind_of(of_constants, [x], np.array(-3.03125, BF16)) != KEPT_IN_F32
    names = "%x: tensor<bf16>, %c: tensor<bf16>, %d: tensor<bf16>"
    of_parameters = QUOTIENTS.format(arguments=names, constants="")
    given = [x, np.array(3.0, BF16), np.array(-3.0, BF16)]
    assert kind_of(of_parameters, given, np.array(-3.015625, BF16)) != KEPT_IN_F32


def test_a_conversion_and_back_of_wider_types_is_left_out() -> None:
    text = """
    func.func @main(%x: tensor<f64>) -> tensor<f64> {
      %0 = stablehlo.convert %x : (tensor<f64>) -> tensor<f16>
      %1 = stablehlo.convert %0 : (tensor<f16>) -> tensor<f64>
      return %1 : tensor<f64>
    }"""
    x = np.array(4.271973277260974)
    assert kind_of(text, [x], x) == LEFT_OUT
    assert kind_of(text, [x], x + 1e-15) != LEFT_OUT


A_THIRD = """
func.func @main(%x: tensor<{e}>, %y: tensor<{e}>, %a: tensor<{e}>, %b: tensor<{e}>, %c: tensor<{e}>)
    -> tensor<{e}> {{
  %0 = stablehlo.divide %x, %y : tensor<{e}>
  %1 = stablehlo.subtract %0, %a : tensor<{e}>
  %2 = stablehlo.subtract %1, %b : tensor<{e}>
  %3 = stablehlo.subtract %2, %c : tensor<{e}>
  return %3 : tensor<{e}>
}}"""


@pytest.mark.parametrize(
    ("got", "known"), [(0.0, KEPT_IN_F16), (2.0**-14 * 1.25, KEPT_IN_F32), (2.0**-13, None)]
)
def test_numbers_of_eight_bits_may_be_computed_in_f16(got: float, known: str | None) -> None:
    """A third in f16 is 5/16 + 5/256 + 5/4096. Numbers of bf16 are not computed in f16."""
    text = A_THIRD.format(e="f8E5M2")
    given = [np.array(one, F8) for one in (1.0, 3.0, 5 / 16, 5 / 256, 5 / 4096)]
    found = kind_of(text, given, np.array(got, F8))
    assert found == known or (known is None and found not in (KEPT_IN_F16, KEPT_IN_F32))
    others = [one.astype(BF16) for one in given]
    assert kind_of(A_THIRD.format(e="bf16"), others, np.array(0.0, BF16)) != KEPT_IN_F16


def test_bits_read_and_read_back_are_not_rounded() -> None:
    text = """
    func.func @main(%x: tensor<f8E4M3FNUZ>) -> tensor<f8E4M3FNUZ> {{
      %0 = stablehlo.add %x, %x : tensor<f8E4M3FNUZ>
      %1 = stablehlo.bitcast_convert %0 : (tensor<f8E4M3FNUZ>) -> tensor<{of}>
      %2 = stablehlo.bitcast_convert %1 : (tensor<{of}>) -> tensor<f8E4M3FNUZ>
      {between}
      %4 = stablehlo.sign %3 : tensor<f8E4M3FNUZ>
      return %4 : tensor<f8E4M3FNUZ>
    }}"""
    straight = "%3 = stablehlo.reshape %2 : (tensor<f8E4M3FNUZ>) -> tensor<f8E4M3FNUZ>"
    x, one = np.array(200.0, FNUZ), np.array(1.0, FNUZ)  # 400 overflows to NaN
    assert kind_of(text.format(of="ui8", between=straight), [x], one) == KEPT_IN_F32
    assert kind_of(text.format(of="ui8", between=straight), [x], -one) != KEPT_IN_F32
    other = "%3 = stablehlo.bitcast_convert %1 : (tensor<ui8>) -> tensor<f8E4M3FNUZ>"
    assert kind_of(text.format(of="ui8", between=other), [x], one) == KEPT_IN_F32


def test_an_iota_is_not_rounded() -> None:
    text = """
    func.func @main(%x: tensor<10xf8E5M2>) -> tensor<10xf8E5M2> {
      %0 = stablehlo.iota dim = 0 : tensor<10xf8E5M2>
      %1 = stablehlo.subtract %0, %x : tensor<10xf8E5M2>
      return %1 : tensor<10xf8E5M2>
    }"""
    x = np.full(10, 8.0, F8)  # 9 rounds to 8
    for last, is_known in ((1.0, True), (2.0, False)):
        got = (np.arange(10).astype(F8).astype(np.float32) - 8).astype(F8)
        got[9] = last
        assert (kind_of(text, [x], got) == KEPT_IN_F32) == is_known

"""Integers of four bits that are computed in eight, in the region of a map too."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from conformance.known.rewritings.narrow.integers import KEPT, NEGATIVE
from suites.meta.support.rewriting import kind_of

BEHIND = """
func.func @main(%x: tensor<1xi4>) -> tensor<1xi8> {
  %0 = stablehlo.multiply %x, %x : tensor<1xi4>
  %1 = "stablehlo.map"(%0) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i4>):
    %2 = stablehlo.convert %a : (tensor<i4>) -> tensor<i8>
    stablehlo.return %2 : tensor<i8>
  }) : (tensor<1xi4>) -> tensor<1xi8>
  return %1 : tensor<1xi8>
}"""
BEFORE = """
func.func @main(%x: tensor<1xi4>) -> tensor<1xi8> {
  %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i4>):
    %2 = stablehlo.multiply %a, %a : tensor<i4>
    stablehlo.return %2 : tensor<i4>
  }) : (tensor<1xi4>) -> tensor<1xi4>
  %1 = stablehlo.convert %0 : (tensor<1xi4>) -> tensor<1xi8>
  return %1 : tensor<1xi8>
}"""


@pytest.mark.parametrize("text", [BEHIND, BEFORE])
def test_map_passes_untruncated_integers(text: str) -> None:
    given = [np.array([6]).astype(ml_dtypes.int4)]
    found = {got: kind_of(text, given, np.array([got], np.int8)) for got in (36, 35, 0, -4)}
    assert [got for got, kind in found.items() if kind == KEPT] == [36]


DOTS = """
func.func @main(%x: tensor<2xi4>, %y: tensor<2xi4>) -> tensor<{to}> {{
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0]
    : (tensor<2xi4>, tensor<2xi4>) -> tensor<i4>
  %1 = stablehlo.convert %0 : (tensor<i4>) -> tensor<{to}>
  return %1 : tensor<{to}>
}}"""


@pytest.mark.parametrize(("to", "storage", "known"), [("i8", np.int8, [35]), ("i16", np.int16, [])])
def test_a_sum_of_products_converted_to_eight_bits_is_not_truncated(
    to: str, storage: type, known: list[int]
) -> None:
    """7 * 6 - 7 is 35, and 3 in four bits; conversions to wider types are of 3."""
    given = [np.array(one).astype(ml_dtypes.int4) for one in ([7, 7], [6, -1])]
    text = DOTS.format(to=to)
    found = {got: kind_of(text, given, np.array(got, storage)) for got in (35, 34, -3, 19)}
    assert [got for got, kind in found.items() if kind == KEPT] == known


def test_region_of_map_returns_untruncated_integers() -> None:
    within = """
    %2 = stablehlo.multiply %a, %a : tensor<i4>
    %3 = stablehlo.convert %2 : (tensor<i4>) -> tensor<i8>
    stablehlo.return %3 : tensor<i8>"""
    text = BEHIND.replace("stablehlo.multiply %x, %x", "stablehlo.reverse %x, dims = [0]", 1)
    start = text.index("\n    %2")
    text = text[:start] + within + text[text.index("\n  }) :") :]
    given = [np.array([6]).astype(ml_dtypes.int4)]
    assert kind_of(text, given, np.array([36], np.int8)) == KEPT
    assert kind_of(text, given, np.array([35], np.int8)) != KEPT


@pytest.mark.parametrize("x", [0, 1])
def test_a_maximum_with_minus_one_is_three_in_the_next_operation(x: int) -> None:
    text = """
    func.func @main(%x: tensor<1xi2>) -> tensor<1xi2> {
      %c = stablehlo.constant dense<-1> : tensor<1xi2>
      %0 = stablehlo.maximum %x, %c : tensor<1xi2>
      %1 = stablehlo.maximum %0, %x : tensor<1xi2>
      return %1 : tensor<1xi2>
    }"""
    given = [np.array([x]).astype(ml_dtypes.int2)]
    wrong = {got: np.array([got]).astype(ml_dtypes.int2) for got in (-2, -1, 0, 1) if got != x}
    kinds = {got: kind_of(text, given, array) for got, array in wrong.items()}
    assert kinds[-1] == NEGATIVE  # three, truncated
    assert kinds[-2] != NEGATIVE

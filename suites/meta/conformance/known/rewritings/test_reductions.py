"""Reductions of reductions that are merged: any number where only their order decides."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.rewritings.reductions import MADE_ONE
from conformance.known.rewritings.table import COLUMNS
from suites.meta.support.rewriting import kind_of

PROGRAM = """
func.func @main(%x: tensor<2x2x1xf16>) -> tensor<1xf16> {{
  %c = stablehlo.constant dense<{init}> : tensor<f16>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.{first} across dimensions = [1]
    : (tensor<2x2x1xf16>, tensor<f16>) -> tensor<2x1xf16>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.{last} across dimensions = [0]
    : (tensor<2x1xf16>, tensor<f16>) -> tensor<1xf16>
  return %1 : tensor<1xf16>
}}"""
OVERFLOWING = [[[0], [300]], [[1], [300]]]


@pytest.mark.parametrize(
    ("first", "last", "init", "numbers", "got", "is_explained"),
    [
        ("multiply", "multiply", 1.0, OVERFLOWING, np.nan, True),  # 0 is right
        ("multiply", "multiply", 1.0, OVERFLOWING, 7, False),
        ("multiply", "multiply", 1.0, [[[0], [3]], [[1], [3]]], np.nan, False),
        ("multiply", "add", 0.0, OVERFLOWING, np.nan, False),
        ("add", "add", 0.0, [[[6e4], [-6e4]], [[6e4], [0]]], np.inf, True),  # 6e4 is right
        ("add", "add", 0.0, [[[6e4], [-6e4]], [[6e4], [0]]], 5e4, False),
        ("add", "add", 0.0, [[[6e4], [-6e4]], [[6], [0]]], np.inf, False),
    ],
)
def test_the_order_of_all_elements_decides(
    first: str, last: str, init: float, numbers: list[list[list[float]]], got: float,
    is_explained: bool,
) -> None:  # fmt: skip
    text = PROGRAM.format(first=first, last=last, init=init)
    found = kind_of(text, [np.array(numbers, np.float16)], np.array([got], np.float16))
    assert (found == MADE_ONE) == is_explained


SQUARES = """
func.func @main(%m: tensor<3x1xf64>, %x: tensor<20000x1xf64>) -> tensor<20000xf64> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.dot_general %m, %x, contracting_dims = [1] x [1]
    : (tensor<3x1xf64>, tensor<20000x1xf64>) -> tensor<3x20000xf64>
  %1 = stablehlo.{op} %0, %0 : tensor<3x20000xf64>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<3x20000xf64>, tensor<f64>) -> tensor<20000xf64>
  return %2 : tensor<20000xf64>
}}"""


@pytest.mark.parametrize(
    ("op", "begin", "back", "is_explained"),
    [
        ("multiply", 16384, 64, True),
        ("multiply", 16384, 63, False),
        ("multiply", 16383, 64, False),
        ("add", 16384, 64, False),
    ],
)
def test_columns_of_a_squared_product(op: str, begin: int, back: int, is_explained: bool) -> None:
    x = np.arange(20000.0)
    right = 3 * x**2 if op == "multiply" else 6 * x
    got = np.concatenate([right[:begin], right[begin - back : -back]])
    given = [np.ones((3, 1)), x.reshape(-1, 1)]
    assert (kind_of(SQUARES.format(op=op), given, got) == COLUMNS) == is_explained

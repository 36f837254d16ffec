"""Reductions of reductions that are made one: any number where only their order decides."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.reductions import MADE_ONE
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

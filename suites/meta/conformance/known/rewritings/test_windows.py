"""Windows over a cropped value: the negative padding of the pad is added to theirs."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.rewritings.windows import CUT_ELEMENTS_RETURNED, ONE_FOR_ALL
from suites.meta.support.rewriting import kind_of

SUMS = """
func.func @main(%x: tensor<3xi32>) -> tensor<3xi32> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.pad %x, %zero, low = [{low}], high = [{high}], interior = [0]
    : (tensor<3xi32>, tensor<i32>) -> tensor<2xi32>
  %0 = "stablehlo.reduce_window"(%p, %zero) <{{window_dimensions = array<i64: 1>,
    padding = dense<[[1, 0]]> : tensor<1x2xi64>}}> ({{
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }}) : (tensor<2xi32>, tensor<i32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}}"""

CONVOLVED = """
func.func @main(%x: tensor<1x3x1xf32>, %k: tensor<1x1x1xf32>) -> tensor<1x3x1xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.pad %x, %zero, low = [0, -1, 0], high = [0, 0, 0], interior = [0, 0, 0]
    : (tensor<1x3x1xf32>, tensor<f32>) -> tensor<1x2x1xf32>
  %0 = stablehlo.convolution(%p, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {pad = [[1, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x2x1xf32>, tensor<1x1x1xf32>) -> tensor<1x3x1xf32>
  return %0 : tensor<1x3x1xf32>
}"""


@pytest.mark.parametrize(
    ("low", "high", "got", "is_explained"),
    [
        (-1, 0, (5, 6, 7), True),
        (-1, 0, (5, 6, 8), False),
        (-1, 0, (4, 6, 7), False),
        (0, -1, (5, 5, 6), False),
    ],
    ids=["back", "and another", "another", "at the other end"],
)
def test_sums(low: int, high: int, got: tuple[int, ...], is_explained: bool) -> None:
    given, found = np.array([5, 6, 7], np.int32), np.array(got, np.int32)
    assert (
        kind_of(SUMS.format(low=low, high=high), [given], found) == CUT_ELEMENTS_RETURNED
    ) == is_explained


@pytest.mark.parametrize(("first", "is_explained"), [(10, True), (9, False), (np.nan, False)])
def test_convolutions(first: float, is_explained: bool) -> None:
    given = [np.array([5, 6, 7], np.float32).reshape(1, 3, 1), np.full((1, 1, 1), 2, np.float32)]
    got = np.array([first, 12, 14], np.float32).reshape(1, 3, 1)
    assert (kind_of(CONVOLVED, given, got) == CUT_ELEMENTS_RETURNED) == is_explained


LAST = """
func.func @main(%x: tensor<3xi32>, %y: tensor<i32>) -> tensor<4xi32> {
  %p = stablehlo.pad %x, %y, low = [-1], high = [0], interior = [1]
    : (tensor<3xi32>, tensor<i32>) -> tensor<4xi32>
  %0 = "stablehlo.reduce_window"(%p, %y) <{window_dimensions = array<i64: 2>,
    padding = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}"""


PADDED = """
func.func @main(%x: tensor<{size}xi32>, %y: tensor<i32>) -> tensor<{count}xi32> {{
  %p = stablehlo.pad %x, %y, low = [0], high = [0], interior = [1]
    : (tensor<{size}xi32>, tensor<i32>) -> tensor<{padded}xi32>
  %0 = "stablehlo.reduce_window"(%p, %y) <{{padding = dense<1> : tensor<1x2xi64>,
    window_dimensions = array<i64: 1>}}> ({{
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.minimum %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }}) : (tensor<{padded}xi32>, tensor<i32>) -> tensor<{count}xi32>
  return %0 : tensor<{count}xi32>
}}"""


@pytest.mark.parametrize(
    ("size", "got", "is_explained"),
    [(1, (7, 7, 7), True), (1, (7, 7, 6), False), (2, (7, 7, 7, 7, 7), False)],
)
def test_windows_over_one_padded_element(
    size: int, got: tuple[int, ...], is_explained: bool
) -> None:
    text = PADDED.format(size=size, padded=2 * size - 1, count=2 * size + 1)
    given = [np.full(size, 7, np.int32), np.array(3, np.int32)]
    assert (kind_of(text, given, np.array(got, np.int32)) == ONE_FOR_ALL) == is_explained


ROWS = """
func.func @main(%x: tensor<1x2xi32>, %y: tensor<i32>) -> tensor<3x2xi32> {{
  %p = stablehlo.pad %x, %y, low = [{low}, 0], high = [{low}, 0], interior = [1, 0]
    : (tensor<1x2xi32>, tensor<i32>) -> tensor<{padded}x2xi32>
  %0 = "stablehlo.reduce_window"(%p, %y) <{{padding = dense<[[{own}, {own}], [-1, 1]]>
    : tensor<2x2xi64>, window_dimensions = array<i64: {window}, 1>}}> ({{
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.maximum %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }}) : (tensor<{padded}x2xi32>, tensor<i32>) -> tensor<3x2xi32>
  return %0 : tensor<3x2xi32>
}}"""


@pytest.mark.parametrize(("low", "own", "window"), [(0, 1, 1), (1, 1, 3), (1, 0, 1)])
@pytest.mark.parametrize("row", [(6, 7), (6, 8)])
def test_windows_over_a_row_that_is_padded_along_one_element(
    low: int, own: int, window: int, row: tuple[int, int]
) -> None:
    """A window of one element does not contain x in all places of a padded dimension."""
    text = ROWS.format(low=low, own=own, window=window, padded=2 * low + 1)
    given = [np.array([[6, 7]], np.int32), np.array(3, np.int32)]
    kind = kind_of(text, given, np.array([row] * 3, np.int32))
    assert (kind == ONE_FOR_ALL) == (row == (6, 7) and window > low)

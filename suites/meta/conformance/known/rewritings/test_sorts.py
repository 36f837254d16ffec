"""First elements of descending sorts, taken in total order."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.rewritings.sorts import IN_TOTAL_ORDER
from reference.ir.types import Array
from suites.meta.support.rewriting import kind_of

NAN = np.float32(np.nan)
TEXT = """
func.func @main(%x: tensor<3xf32>) -> tensor<{k}xf32> {{
  %0 = "stablehlo.sort"(%x) ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare {direction}, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }}) {{dimension = 0 : i64, is_stable = true}} : (tensor<3xf32>) -> tensor<3xf32>
  %2 = stablehlo.slice %0 [{start}:{end}] : (tensor<3xf32>) -> tensor<{k}xf32>
  return %2 : tensor<{k}xf32>
}}"""


def is_explained(
    x: list[float], got: list[float], *, direction: str = "GT", start: int = 0
) -> bool:
    text = TEXT.format(direction=direction, k=len(got), start=start, end=start + len(got))
    arrays: list[Array] = [np.array(one, np.float32) for one in (x, got)]
    return kind_of(text, arrays[:1], arrays[1]) == IN_TOTAL_ORDER


@pytest.mark.parametrize(
    ("x", "got", "expected"),
    [
        ([-0.0, 0.0, -1.0], [0.0], True),
        ([-0.0, 0.0, -1.0], [0.0, -0.0], True),
        ([0.0, -0.0, -1.0], [-0.0], False),
        ([-0.0, 0.0, -1.0], [-1.0], False),
        ([0.0, 0.0, NAN], [NAN], True),
        ([-NAN, 0.0, 0.0], [0.0, 0.0], True),
        ([-NAN, 0.0, 0.0], [0.0, NAN], False),
    ],
)
def test_zeros_and_nan_have_an_order(x: list[float], got: list[float], expected: bool) -> None:
    assert is_explained(x, got) == expected


def test_other_slices_and_sorts_are_not_explained() -> None:
    x = [-0.0, 0.0, 0.0]
    assert is_explained(x, [0.0])
    assert not is_explained([0.0, -0.0, -0.0], [0.0], direction="GE")
    assert not is_explained(x, [0.0, 0.0, -0.0])  # not of some elements
    assert not is_explained(x, [-0.0], start=2)
    assert not is_explained(x, [0.0], direction="LT")


PAIRS = """
func.func @main(%x: tensor<4xf32>, %i: tensor<4xi32>) -> tensor<2xi32> {
  %0:2 = "stablehlo.sort"(%x, %i) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %1 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true}
    : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  %2 = stablehlo.slice %0#1 [0:2] : (tensor<4xi32>) -> tensor<2xi32>
  return %2 : tensor<2xi32>
}"""


@pytest.mark.parametrize(("first", "expected"), [(0, True), (5, False)])
def test_indices_follow_and_other_operands_do_not(first: int, expected: bool) -> None:
    x = np.array([-0.0, 0.0, -0.0, 0.0], np.float32)
    indices = np.arange(4, dtype=np.int32) + np.int32(first)
    got = np.array([1, 3], np.int32) + np.int32(first)
    assert (kind_of(PAIRS, [x, indices], got) == IN_TOTAL_ORDER) == expected

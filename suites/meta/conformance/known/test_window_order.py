"""Elements that depend on the order of a window's elements."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.window_order import order_dependent_elements
from conformance.stablehlo.parse import parse_module

SELECTION = """
func.func @main(%x: tensor<2x2xi32>, %y: tensor<1x1xi32>, %z: tensor<i32>) -> tensor<2x2xi32> {{
  %0 = "stablehlo.select_and_scatter"(%x, %y, %z) ({{
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.compare {}, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }}, {{
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }}) {{window_dimensions = array<i64: 2, 2>}}
    : (tensor<2x2xi32>, tensor<1x1xi32>, tensor<i32>) -> tensor<2x2xi32>
  return %0 : tensor<2x2xi32>
}}"""

REDUCTION = """
func.func @main(%x: tensor<3xi32>, %i: tensor<i32>) -> tensor<{}xi32> {{
  %0 = "stablehlo.reduce_window"(%x, %i) ({{
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    {}
    stablehlo.return %1 : tensor<i32>
  }}) {{window_dimensions = array<i64: 2>, padding = dense<[[0, {}]]> : tensor<1x2xi64>}}
    : (tensor<3xi32>, tensor<i32>) -> tensor<{}xi32>
  return %0 : tensor<{}xi32>
}}"""
ADD = "%1 = stablehlo.add %a, %b : tensor<i32>"
SECOND = "%1 = stablehlo.maximum %b, %b : tensor<i32>"


@pytest.mark.parametrize("direction", ["GE", "GT"])
@pytest.mark.parametrize(
    ("operand", "found"),
    [
        ([[1, 2], [3, 4]], [[False, False], [False, False]]),
        ([[4, 2], [3, 4]], [[True, False], [False, True]]),
        ([[1, 1], [3, 4]], [[False, False], [False, False]]),  # equal, and never selected
        ([[5, 5], [5, 5]], [[True, True], [True, True]]),
    ],
)
def test_equal_elements_are_selected_by_the_order(
    direction: str, operand: list[list[int]], found: list[list[bool]]
) -> None:
    operation = parse_module(SELECTION.format(direction)).subject
    arrays = (np.array(one, np.int32) for one in (operand, [[7]], 0))
    (mask,) = order_dependent_elements(operation, tuple(arrays))
    assert mask.tolist() == found


@pytest.mark.parametrize(
    ("body", "padding", "init", "found"),
    [
        (ADD, 0, 0, [False, False]),
        (SECOND, 0, 0, [True, False]),  # of 1 and 2, and of 2 and 2
        (ADD, 1, 0, [False, False, False]),
        (ADD, 1, 5, [False, False, True]),  # the last window has an element of padding
    ],
)
def test_results_of_windows_depend_on_order_and_padding(
    body: str, padding: int, init: int, found: list[bool]
) -> None:
    size = 2 + padding
    text = REDUCTION.format(size, body, padding, size, size)
    arrays = (np.array(one, np.int32) for one in ([1, 2, 2], init))
    (mask,) = order_dependent_elements(parse_module(text).subject, tuple(arrays))
    assert mask.tolist() == found

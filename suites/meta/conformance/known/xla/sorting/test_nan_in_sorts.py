"""Sorts in which NaN counts as larger than all numbers."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.sorting.nan_in_sorts import LABEL
from conformance.stablehlo.parse import parse_module
from suites.meta.support.small_programs import array

NAN = np.nan

SORT = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {{
  %0:2 = "stablehlo.sort"(%x, %y) ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %before = stablehlo.compare {order} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %before : tensor<i1>
  }}) {{dimension = 0 : i64, is_stable = true}} : (tensor<4xf32>, tensor<4xi32>) ->
      (tensor<4xf32>, tensor<4xi32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xi32>
}}
"""


@pytest.mark.parametrize(
    ("order", "given", "got", "places", "is_explained"),
    [
        ("LT, %a, %b", [NAN, 0, -0.0, NAN], [0, -0.0, NAN, NAN], [1, 2, 0, 3], True),
        ("GT, %b, %a", [NAN, 0, -0.0, NAN], [0, -0.0, NAN, NAN], [1, 2, 0, 3], True),
        ("GT, %a, %b", [0, NAN, 0, 0], [NAN, 0, 0, 0], [1, 0, 2, 3], True),
        ("LT, %a, %b", [NAN, 0, -0.0, NAN], [-0.0, 0, NAN, NAN], [2, 1, 0, 3], False),
        ("LT, %a, %b", [NAN, 0, -0.0, NAN], [0, -0.0, NAN, NAN], [1, 2, 3, 0], False),
        ("LT, %a, %b", [NAN, 0, 0, 0], [NAN, 0, 0, 0], [1, 0, 2, 3], False),
        ("LT, %a, %b", [0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 2, 3], False),
    ],
)
def test_only_results_of_this_order_have_the_class(
    order: str, given: list[float], got: list[float], places: list[int], is_explained: bool
) -> None:
    program = parse_module(SORT.format(order=order))
    inputs = (array(given), np.arange(4, dtype=np.int32))
    found = judge_operation(program, inputs, inputs, (array(got), np.array(places, np.int32)))
    assert ({one.kind for one in found.failing} == {LABEL}) is is_explained

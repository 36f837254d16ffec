"""Custom calls that name functions: these are evaluated like other functions."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.types import Array

WINDOWS = """
func.func private @inner(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {{
  %0 = stablehlo.add %x, %y : tensor<f32>
  return %0 : tensor<f32>
}}
func.func private @combine(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {{
  %0 = {combined} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}}
func.func @main(%x: tensor<6xf32>) -> tensor<3xf32> {{
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %two = stablehlo.constant dense<2> : tensor<1xi64>
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %none = stablehlo.constant dense<0> : tensor<1x2xi64>
  %0 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(
    %x, %init, %two, %two, %one, %one, %none) {{called_computations = [@{called}]}}
    : (tensor<6xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>,
       tensor<1x2xi64>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}}"""
"""Windows of two elements are summed by a function that calls another function."""

X = np.arange(6, dtype=np.float32)


def add_arrays(x: Array, y: Array) -> Array:
    return x + y


@pytest.mark.parametrize(
    "combined",
    [
        '"stablehlo.add"(%x, %y)',
        "func.call @inner(%x, %y)",
        'stablehlo.composite "test.sum" %x, %y {decomposition = @inner}',
        "stablehlo.custom_call @test.sum(%x, %y)",
    ],
)
def test_called_computation_may_call_others(combined: str) -> None:
    program = parse_module(WINDOWS.format(combined=combined, called="combine"))
    (result,) = evaluate(program, [X], custom_calls={"test.sum": add_arrays})
    np.testing.assert_array_equal(result, [1, 5, 9])


def test_a_computation_that_calls_itself_is_an_error_of_the_call() -> None:
    text = WINDOWS.format(combined="func.call @combine(%x, %y)", called="combine")
    with pytest.raises(EvaluationError, match="combine calls itself"):
        evaluate(parse_module(text), [X])


def test_operations_of_a_called_computation_are_part_of_the_call() -> None:
    """The hook does not see them, as in the body of a reduction."""
    program = parse_module(WINDOWS.format(combined="func.call @inner(%x, %y)", called="combine"))
    seen: list[str] = []

    def on_result(operation, results):  # type: ignore[no-untyped-def]
        seen.append(operation.name)
        return results

    evaluate(program, [X], on_result=on_result)
    assert seen == ["constant"] * 4 + ["custom_call"]

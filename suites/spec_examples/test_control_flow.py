"""The specification's own examples of control flow, tuples, tokens and calls, evaluated.

Values are the specification's (seeds/004). Its `while` counts from 1 while below 10 and so adds one
nine times; the text prints a sum of 10.
"""

from typing import Any

import numpy as np
import pytest

from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import check, evaluate

EXAMPLES: dict[str, tuple[str, list[Any]]] = {
    "after_all": (
        """func.func @main() -> tensor<i1> {
          %input0 = stablehlo.create_token : !stablehlo.token
          %input1 = stablehlo.create_token : !stablehlo.token
          %result = "stablehlo.after_all"(%input0, %input1)
            : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
          %yes = stablehlo.constant dense<true> : tensor<i1>
          %0:2 = stablehlo.optimization_barrier %yes, %result : tensor<i1>, !stablehlo.token
          return %0#0 : tensor<i1>
        }""",
        [True],
    ),
    "case": (
        """func.func @main() -> (tensor<2xi64>, tensor<2xi64>) {
          %index = stablehlo.constant dense<-1> : tensor<i32>
          %branch0 = stablehlo.constant dense<0> : tensor<2xi64>
          %branch1 = stablehlo.constant dense<1> : tensor<2xi64>
          %result0, %result1 = "stablehlo.case"(%index) ({
            stablehlo.return %branch0, %branch0 : tensor<2xi64>, tensor<2xi64>
          }, {
            stablehlo.return %branch1, %branch1 : tensor<2xi64>, tensor<2xi64>
          }) : (tensor<i32>) -> (tensor<2xi64>, tensor<2xi64>)
          return %result0, %result1 : tensor<2xi64>, tensor<2xi64>
        }""",
        [[1, 1], [1, 1]],
    ),
    "composite": (
        """func.func @main() -> tensor<f32> {
          %input0 = stablehlo.constant dense<3.0> : tensor<f32>
          %input1 = stablehlo.constant dense<4.0> : tensor<f32>
          %results = "stablehlo.composite"(%input0, %input1) {
            name = "my_namespace.my_op", composite_attributes = {my_attribute = "my_value"},
            decomposition = @my_op, version = 1 : i32
          } : (tensor<f32>, tensor<f32>) -> tensor<f32>
          return %results : tensor<f32>
        }
        func.func private @my_op(%0: tensor<f32>, %1: tensor<f32>) -> tensor<f32> {
          %2 = stablehlo.subtract %1, %0 : tensor<f32>
          return %2 : tensor<f32>
        }""",
        [1.0],
    ),
    "custom_call": (
        """func.func @main() -> tensor<f64> {
          %input0 = stablehlo.constant dense<2.0> : tensor<f64>
          %results = "stablehlo.custom_call"(%input0) {
            call_target_name = "foo", has_side_effect = false, backend_config = {bar = 42 : i32},
            api_version = 4 : i32, called_computations = [@foo]
          } : (tensor<f64>) -> tensor<f64>
          return %results : tensor<f64>
        }
        func.func private @foo(%0: tensor<f64>) -> tensor<f64> {
          return %0 : tensor<f64>
        }""",
        [12.0],
    ),
    "get_tuple_element": (
        """func.func @main() -> tensor<2xf32> {
          %val0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
          %three = stablehlo.constant dense<3> : tensor<i32>
          %val1 = stablehlo.tuple %three : tuple<tensor<i32>>
          %operand = "stablehlo.tuple"(%val0, %val1)
            : (tensor<2xf32>, tuple<tensor<i32>>) -> tuple<tensor<2xf32>, tuple<tensor<i32>>>
          %result = "stablehlo.get_tuple_element"(%operand) {index = 0 : i32}
            : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tensor<2xf32>
          return %result : tensor<2xf32>
        }""",
        [[1.0, 2.0]],
    ),
    "if": (
        """func.func @main() -> tensor<i32> {
          %pred = stablehlo.constant dense<true> : tensor<i1>
          %ten = stablehlo.constant dense<10> : tensor<i32>
          %eleven = stablehlo.constant dense<11> : tensor<i32>
          %result = "stablehlo.if"(%pred) ({
            "stablehlo.return"(%ten) : (tensor<i32>) -> ()
          }, {
            "stablehlo.return"(%eleven) : (tensor<i32>) -> ()
          }) : (tensor<i1>) -> tensor<i32>
          return %result : tensor<i32>
        }""",
        [10],
    ),
    "optimization_barrier": (
        """func.func @main() -> (tensor<f32>, tensor<f32>) {
          %operand0 = stablehlo.constant dense<0.0> : tensor<f32>
          %operand1 = stablehlo.constant dense<1.0> : tensor<f32>
          %result0, %result1 = "stablehlo.optimization_barrier"(%operand0, %operand1)
            : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
          return %result0, %result1 : tensor<f32>, tensor<f32>
        }""",
        [0.0, 1.0],
    ),
    "tuple": (
        """func.func @main() -> (tensor<2xf32>, tensor<i32>) {
          %val0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
          %three = stablehlo.constant dense<3> : tensor<i32>
          %val1 = stablehlo.tuple %three : tuple<tensor<i32>>
          %result = "stablehlo.tuple"(%val0, %val1)
            : (tensor<2xf32>, tuple<tensor<i32>>) -> tuple<tensor<2xf32>, tuple<tensor<i32>>>
          %0 = stablehlo.get_tuple_element %result[0]
            : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tensor<2xf32>
          %1 = stablehlo.get_tuple_element %result[1]
            : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tuple<tensor<i32>>
          %2 = stablehlo.get_tuple_element %1[0] : (tuple<tensor<i32>>) -> tensor<i32>
          return %0, %2 : tensor<2xf32>, tensor<i32>
        }""",
        [[1.0, 2.0], 3],
    ),
    "while": (
        """func.func @main() -> (tensor<i64>, tensor<i64>) {
          %init_i = stablehlo.constant dense<1> : tensor<i64>
          %init_sum = stablehlo.constant dense<0> : tensor<i64>
          %one = stablehlo.constant dense<1> : tensor<i64>
          %ten = stablehlo.constant dense<10> : tensor<i64>
          %results0, %results1 = "stablehlo.while"(%init_i, %init_sum) ({
          ^bb0(%arg0: tensor<i64>, %arg1: tensor<i64>):
            %cond = "stablehlo.compare"(%arg0, %ten) {
              comparison_direction = #stablehlo<comparison_direction LT>
            } : (tensor<i64>, tensor<i64>) -> tensor<i1>
            stablehlo.return %cond : tensor<i1>
          }, {
          ^bb0(%arg0: tensor<i64>, %arg1: tensor<i64>):
            %new_sum = stablehlo.add %arg1, %one : tensor<i64>
            %new_i = stablehlo.add %arg0, %one : tensor<i64>
            stablehlo.return %new_i, %new_sum : tensor<i64>, tensor<i64>
          }) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
          return %results0, %results1 : tensor<i64>, tensor<i64>
        }""",
        [10, 9],
    ),
}


@pytest.mark.parametrize("op", EXAMPLES)
def test_example(op: str) -> None:
    text, expected = EXAMPLES[op]
    program = parse_module(text)
    assert check(program) == []
    assert op in {operation.name for operation in program.walk()}
    sixfold = {"foo": lambda x: np.asarray(6 * x)}
    results = evaluate(program, [], custom_calls=sixfold)
    assert [result.tolist() for result in results] == expected

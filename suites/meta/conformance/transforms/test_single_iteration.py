"""Loops replaced by a single iteration."""

from __future__ import annotations

import numpy as np

from conformance.stablehlo.parse import parse_module
from conformance.transforms.single_iteration import replace_loop_by_body
from reference.interpreter.evaluate import evaluate

LOOP = parse_module("""
func.func @main(%x: tensor<f32>, %k: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<f32>
   cond {
    %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.multiply %y, %k : tensor<f32>
    stablehlo.return %j, %z : tensor<i32>, tensor<f32>
  }
  %s = stablehlo.negate %r#1 : tensor<f32>
  return %s, %r#0 : tensor<f32>, tensor<i32>
}""")


def test_a_loop_runs_once() -> None:
    loop = next(one for one in LOOP.main.body.operations if one.name == "while")
    inputs = (np.array(5, np.float32), np.array(2, np.float32))
    assert [one.tolist() for one in evaluate(LOOP, inputs)] == [-40, 3]
    once = replace_loop_by_body(LOOP, loop)
    assert "while" not in [one.name for one in once.walk()]
    assert [one.tolist() for one in evaluate(once, inputs)] == [-10, 1]

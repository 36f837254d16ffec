"""Regions in place of their operation, and regions of scalars as regions of arrays."""

from __future__ import annotations

import numpy as np

from conformance.known.rewritings.simplified.inlining import inline_region, lift_region
from conformance.stablehlo.parse import parse_module
from conformance.transforms.outline import outline_region
from reference.interpreter.evaluate import evaluate

PROGRAM = """
func.func @main(%x: tensor<2x3xf32>, %z: tensor<f32>) -> tensor<2x3xf32> {{
  %0 = "stablehlo.map"(%x) ({{
  ^bb0(%a: tensor<f32>):
    %k = stablehlo.constant dense<2.0> : tensor<f32>
    %m = stablehlo.multiply %a, %k : tensor<f32>
    {body}
  }}) {{dimensions = array<i64: 0, 1>}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}}"""
WITH_Z = """%s = stablehlo.add %m, %z : tensor<f32>
    stablehlo.return %s : tensor<f32>"""
REPEATED = """%s = stablehlo.broadcast_in_dim %m, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %r = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
    stablehlo.return %r : tensor<f32>"""


def test_a_lifted_region_computes_each_element() -> None:
    operation = parse_module(PROGRAM.format(body=WITH_Z)).main.body.operations[0]
    region = lift_region(operation.regions[0], (2, 3))
    assert region is not None
    program, free = outline_region(region)
    assert len(free) == 1
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (found,) = evaluate(program, (x, np.array(1, np.float32)))
    assert (found == 2 * x + 1).all()


def test_a_region_with_other_shapes_is_not_lifted() -> None:
    operation = parse_module(PROGRAM.format(body=REPEATED)).main.body.operations[0]
    assert lift_region(operation.regions[0], (2, 3)) is None


def test_inlined_operations_give_the_operation_s_results() -> None:
    operation = parse_module(PROGRAM.format(body=WITH_Z)).main.body.operations[0]
    region = lift_region(operation.regions[0], (2, 3))
    assert region is not None
    found = inline_region(operation, region, operation.operands)
    assert found is not None
    assert found.results == operation.results
    assert found.operations[-1].results == operation.results
    assert found.operations[0].results[0].name.startswith(f"{operation.results[0].name}.")
    assert inline_region(operation, operation.regions[0], operation.operands) is None

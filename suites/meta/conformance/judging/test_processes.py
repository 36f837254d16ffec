"""Results of several processes as programs of one process."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.judging.processes import process_results
from conformance.stablehlo.parse import parse_module
from generators.invalid.misses import tensor
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Value, single_op
from reference.ir.types import element_type

F32 = element_type("f32")
REDUCED = parse_module(
    """
module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func @main(%x: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.OP %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}""".replace("OP", "add")
)


def test_folding_collective_is_a_reduction_of_the_contributions_of_its_group() -> None:
    inputs = (np.full((), 3, np.float32), np.full((), 4, np.float32))
    expected = evaluate(REDUCED, inputs)
    found = list(process_results(REDUCED, inputs, expected, [np.full((), 8, np.float32)] * 2))
    assert len(found) == 2
    for one in found:
        assert not one.is_data
        assert one.program.subject.name == "reduce"
        assert one.inputs[0].tolist() == [3.0, 4.0]
        assert evaluate(one.program, one.inputs)[0] == one.expected[0] == 7
        assert one.actual[0] == 8


def test_moved_results_are_data() -> None:
    program = replace(REDUCED, process_grid=(2, 1))
    moved = single_op("optimization_barrier", (Value("x", tensor(F32)),), (tensor(F32),))
    moved = replace(moved, process_grid=program.process_grid)
    inputs = (np.full((), 1, np.float32), np.full((), 2, np.float32))
    found = list(process_results(moved, inputs, inputs, inputs))
    assert [(one.is_data, float(one.expected[0])) for one in found] == [(True, 1.0), (True, 2.0)]

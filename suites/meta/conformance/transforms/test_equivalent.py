"""Equivalent programs: other constants, other parameters and barriers change no result."""

from __future__ import annotations

import numpy as np

from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.transforms.equivalent import (
    insert_barriers,
    turn_constants_into_parameters,
    turn_inputs_into_constants,
)
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program

PROGRAM = parse_module("""
func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %c = stablehlo.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
  %a = stablehlo.add %x, %c : tensor<3xf32>
  %b = stablehlo.multiply %a, %y : tensor<3xf32>
  return %b, %c : tensor<3xf32>, tensor<3xf32>
}""")
INPUTS = (np.array([1, 2, 3], np.float32), np.array([0.5, 8, -1], np.float32))


def names(program: Program) -> list[str]:
    return [one.name for one in program.main.body.operations]


def assert_equal_results(program: Program, inputs: tuple[np.ndarray, ...]) -> None:
    """Both programs give the same results, and the text of the new program can be read."""
    program = parse_module(emit(program))
    for one, other in zip(evaluate(program, inputs), evaluate(PROGRAM, INPUTS), strict=True):
        np.testing.assert_array_equal(one, other)


def test_constants_become_parameters_at_the_end() -> None:
    made = turn_constants_into_parameters(PROGRAM, INPUTS)
    assert made is not None
    program, inputs = made
    assert "constant" not in names(program)
    assert len(inputs) == len(program.main.arguments) == 3
    assert_equal_results(program, inputs)
    assert turn_constants_into_parameters(program, inputs) is None


def test_inputs_become_constants() -> None:
    made = turn_inputs_into_constants(PROGRAM, INPUTS)
    assert made is not None
    program, inputs = made
    assert (inputs, program.main.arguments) == ((), ())
    assert names(program).count("constant") == 3
    assert_equal_results(program, inputs)
    assert turn_inputs_into_constants(program, ()) is None


def test_inputs_of_unknown_sizes_become_no_constants() -> None:
    text = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }"
    assert turn_inputs_into_constants(parse_module(text), INPUTS[:1]) is None


def test_barriers_stand_between_operations() -> None:
    program = insert_barriers(PROGRAM)
    assert program is not None
    barrier = "optimization_barrier"
    assert names(program) == [
        "constant", barrier, "add", barrier, "multiply", barrier, "return",
    ]  # fmt: skip
    assert_equal_results(program, INPUTS)


def test_a_single_operation_gets_no_barrier() -> None:
    text = emit(PROGRAM).replace("multiply", "add")
    assert insert_barriers(parse_module(text)) is not None
    single = parse_module("""
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<3xf32>
  %a = stablehlo.add %x, %c : tensor<3xf32>
  return %a : tensor<3xf32>
}""")
    assert insert_barriers(single) is None

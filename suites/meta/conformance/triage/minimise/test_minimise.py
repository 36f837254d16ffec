"""Failing programs are minimised: operations, regions, shapes and data."""

from __future__ import annotations

import numpy as np

from conformance.executors.limit import TooSlow, limit_evaluation
from conformance.stablehlo.parse import parse_module
from conformance.triage.minimise.minimise import minimise
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program

LONG = """
func.func @main(%x: tensor<6x5xf32>, %y: tensor<6x5xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>) {
  %c = stablehlo.constant dense<2.0> : tensor<6x5xf32>
  %0 = stablehlo.add %x, %c : tensor<6x5xf32>
  %1 = stablehlo.multiply %0, %y : tensor<6x5xf32>
  %2 = stablehlo.negate %1 : tensor<6x5xf32>
  %3 = stablehlo.sine %2 : tensor<6x5xf32>
  %4 = stablehlo.subtract %3, %0 : tensor<6x5xf32>
  return %4, %2 : tensor<6x5xf32>, tensor<6x5xf32>
}
"""

NESTED = """
func.func @main(%x: tensor<4xi32>, %n: tensor<i32>) -> tensor<4xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xi32>
    cond {
      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %a = stablehlo.multiply %v, %v : tensor<4xi32>
      %b = stablehlo.add %a, %v : tensor<4xi32>
      %c = stablehlo.xor %b, %a : tensor<4xi32>
      stablehlo.return %next, %c : tensor<i32>, tensor<4xi32>
    }
  return %0#1 : tensor<4xi32>
}
"""


def names(program: Program) -> list[str]:
    return [one.name for one in program.walk() if one.name not in ("constant", "return")]


def minimise_text(text: str, has, *inputs):
    program = parse_module(text)

    def fails(smaller: Program, given) -> bool:
        try:
            with limit_evaluation(0.2):
                evaluate(smaller, given)
        except TooSlow:  # a loop that has lost what ends it
            return False
        return has(smaller, given)

    assert fails(program, inputs)
    return minimise(fails, program, inputs, seconds=30.0)


def test_operations_shapes_and_data() -> None:
    x = np.arange(30, dtype=np.float32).reshape(6, 5)
    small = minimise_text(LONG, lambda p, _: "multiply" in names(p), x, x)
    assert names(small.program) == ["multiply"]
    assert [of.shape for of in small.inputs] == [(1, 1), (1, 1)]
    assert not any(array.any() for array in small.inputs)


WIDER = """
func.func @main(%x: tensor<2x3xbf16>, %k: tensor<3x2xbf16>) -> tensor<2x2xf32> {
  %y = stablehlo.negate %x : tensor<2x3xbf16>
  %0 = stablehlo.convolution(%y, %k) dim_numbers = [b, f]x[i, o]->[b, f], window = {}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x3xbf16>, tensor<3x2xbf16>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
"""


def test_a_constraint_that_is_broken_as_an_extension_is_no_obstacle() -> None:
    """A convolution of bf16 into f32 breaks C27."""
    of = parse_module(WIDER).main.arguments[0].type.element.storage  # type: ignore[union-attr]
    inputs = np.ones((2, 3), of), np.ones((3, 2), of)
    small = minimise_text(WIDER, lambda p, _: "convolution" in names(p), *inputs)
    assert names(small.program) == ["convolution"]


def test_only_the_data_that_matters_stays() -> None:
    x = np.arange(30, dtype=np.float32).reshape(6, 5)
    small = minimise_text(
        LONG,
        lambda p, given: "negate" in names(p) and any((one == 7).any() for one in given[:1]),
        x,
        x,
    )
    assert "sine" not in names(small.program)
    assert small.inputs[0].size <= 12
    assert set(np.unique(small.inputs[0])) <= {0, 1, 7}


def test_within_a_loop() -> None:
    small = minimise_text(
        NESTED,
        lambda p, _: {"while", "xor"} <= set(names(p)),
        np.arange(4, dtype=np.int32),
        np.array(2, np.int32),
    )
    assert "multiply" not in names(small.program)
    assert small.inputs[0].shape in ((1,), ())


def test_no_more_is_tried_than_is_allowed() -> None:
    program = parse_module(LONG)
    tried: list[int] = []

    def fails(smaller: Program, _) -> bool:
        tried.append(len(names(smaller)))
        return True

    x = np.ones((6, 5), np.float32)
    minimise(fails, program, (x, x), seconds=30.0, tries=3)
    assert len(tried) == 3


UNUSED = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  %1 = stablehlo.sine %y : tensor<4xf32>
  %2 = stablehlo.negate %1 : tensor<4xf32>
  %3 = stablehlo.abs %1 : tensor<4xf32>
  %4 = stablehlo.multiply %0, %0 : tensor<4xf32>
  return %4, %0 : tensor<4xf32>, tensor<4xf32>
}
"""


def test_a_program_that_fails_by_an_unused_operation_is_reduced_to_it() -> None:
    x = np.ones(4, np.float32)
    small = minimise_text(UNUSED, lambda p, _: "negate" in names(p), x, x)
    assert names(small.program) == ["sine", "negate"]
    assert len(small.program.main.body.operations[-1].operands) == 1


def test_unused_operation_is_dropped_if_failure_remains() -> None:
    x = np.ones(4, np.float32)
    small = minimise_text(UNUSED, lambda p, _: "multiply" in names(p), x, x)
    assert names(small.program) == ["multiply"]

"""Failing programs are minimised: operations, regions, shapes and data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from conformance.executors.limit import TooSlow, limit_evaluation
from conformance.pipeline.items import Inputs
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.triage.minimise.minimise import minimise
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import Array

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
    return [
        operation.name
        for operation in program.walk()
        if operation.name not in ("constant", "return")
    ]


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


NEGATED = """
func.func @main(%x: tensor<3xi32>) -> tensor<3xi32> {
  %0 = stablehlo.negate %x : tensor<3xi32>
  return %0 : tensor<3xi32>
}
"""


@pytest.mark.parametrize(
    ("is_needed", "elements"),
    [
        (lambda x: (x > 4).any(), [5]),
        (lambda x: (x < -6).any(), [-7]),
        (lambda x: (x > 4).any() and (x < -6).any(), [7, -7]),
        (lambda x: (x != 0).any(), [1]),
        (lambda x: (x == 1065353216).any(), [1065353216]),
    ],
)
def test_elements_become_as_small_as_the_failure_permits(
    is_needed: Callable[[Array], bool], elements: list[int]
) -> None:
    def fails(_: Program, given: Inputs) -> bool:
        return any(bool(is_needed(one)) for one in given)

    small = minimise_text(NEGATED, fails, np.array([1065353216, -1082130432, 0], np.int32))
    assert [one.ravel().tolist() for one in small.inputs] == [elements]


def test_a_number_stays_a_number() -> None:
    text = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "chlo.constant_like"(%x) {value = 3.0 : f32} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}"""
    x = np.arange(5, 13, dtype=np.float32)
    small = minimise_text(text, lambda p, _: "chlo.constant_like" in names(p), x)
    assert "{value = 0.0 : f32}" in emit(small.program)


CONVERTED = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xi32> {
  %a = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xi32>
  %b = stablehlo.negate %a : tensor<2xi32>
  return %b : tensor<2xi32>
}
"""


@pytest.mark.parametrize("takes_integers", [True, False])
def test_values_are_replaced_by_parameters_or_constants(takes_integers: bool) -> None:
    def fails(program: Program, _: Inputs) -> bool:
        has_integers = any("i32" in str(argument.type) for argument in program.main.arguments)
        return "negate" in names(program) and (takes_integers or not has_integers)

    small = minimise_text(CONVERTED, fails, np.array([1, 2], np.float32))
    assert names(small.program) == ["negate"]
    assert [one.dtype for one in small.inputs] == ([np.int32] if takes_integers else [])


REDUCED = """
func.func @main(%x: tensor<4xi32>, %zero: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.reduce(%x init: %zero) across dimensions = [0]
      : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
    reducer(%a: tensor<i32>, %b: tensor<i32>) {
      %s = stablehlo.multiply %a, %b : tensor<i32>
      %t = stablehlo.add %s, %b : tensor<i32>
      stablehlo.return %t : tensor<i32>
    }
  return %0 : tensor<i32>
}
"""


@pytest.mark.parametrize(("kept", "dropped"), [("add", "multiply"), ("multiply", "add")])
def test_bodies_are_simplified(kept: str, dropped: str) -> None:
    def fails(program: Program, _: Inputs) -> bool:
        return {"reduce", kept} <= {*names(program)}

    small = minimise_text(REDUCED, fails, np.arange(4, dtype=np.int32), np.array(0, np.int32))
    assert dropped not in names(small.program)


def test_no_more_is_tried_than_is_allowed() -> None:
    program = parse_module(LONG)
    tried: list[int] = []

    def fails(smaller: Program, _) -> bool:
        tried.append(len(names(smaller)))
        return True

    x = np.ones((6, 5), np.float32)
    minimise(fails, program, (x, x), seconds=30.0, tries=3)
    assert len(tried) == 3

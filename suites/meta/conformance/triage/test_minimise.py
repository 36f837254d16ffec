"""Failing programs are minimised: operations, regions, shapes and data."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import inf

import numpy as np

from conformance.executors.limit import TooSlow, limit_evaluation
from conformance.pipeline.items import Inputs
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.triage.minimise.attempts import Fails, Minimisation
from conformance.triage.minimise.contents import simplify_data
from conformance.triage.minimise.minimise import minimise
from conformance.triage.minimise.surgery import (
    drop_first_operations,
    replace_values,
    simplify_regions,
)
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Dense, Program
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


PROGRAM = parse_module("""
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<[3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]> : tensor<8xf32>
  %0 = stablehlo.divide %x, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}""")

EIGHT = np.arange(5, 13, dtype=np.float32)


def constant_of(program: Program) -> Array:
    value = program.main.body.operations[0].attribute("value")
    assert isinstance(value, Dense)
    return value.array


def simplify_contents(
    fails: Fails, inputs: tuple[Array, ...] = (EIGHT,), left: int = 500
) -> Minimisation:
    attempts = Minimisation(fails, PROGRAM, inputs, left, inf)
    assert fails(PROGRAM, inputs)
    simplify_data(attempts)
    return attempts


def test_elements_that_do_not_matter_are_zero() -> None:
    attempts = simplify_contents(lambda _, inputs: inputs[0][6] == 11)
    assert attempts.inputs[0].tolist() == [0, 0, 0, 0, 0, 0, 11, 0]
    assert not constant_of(attempts.program).any()


def test_elements_that_may_not_be_zero_are_one() -> None:
    attempts = simplify_contents(
        lambda program, inputs: all(inputs[0]) and all(constant_of(program))
    )
    assert attempts.inputs[0].tolist() == [1] * 8
    assert constant_of(attempts.program).tolist() == [1] * 8


def test_integers_become_as_small_as_the_failure_permits() -> None:
    whole = parse_module("""
func.func @main(%x: tensor<8xf32>, %i: tensor<2xi32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}""")
    index = np.array([1065353216, -1082130432], np.int32)
    attempts = Minimisation(lambda _, inputs: inputs[1][0] > 4, whole, (EIGHT, index), 500, inf)
    simplify_data(attempts)
    assert attempts.inputs[1].tolist() == [5, 0]
    attempts = Minimisation(lambda _, inputs: inputs[1][1] < -6, whole, (EIGHT, index), 500, inf)
    simplify_data(attempts)
    assert attempts.inputs[1].tolist() == [0, -7]


def test_a_number_stays_a_number() -> None:
    program = parse_module("""
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "chlo.constant_like"(%x) {value = 3.0 : f32} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}""")
    attempts = Minimisation(lambda *_: True, program, (EIGHT,), 500, inf)
    simplify_data(attempts)
    assert "{value = 0.0 : f32}" in emit(attempts.program)


CHAIN = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %two = stablehlo.constant dense<2.0> : tensor<2xf32>
  %a = stablehlo.add %x, %two : tensor<2xf32>
  %b = stablehlo.negate %a : tensor<2xf32>
  %c = stablehlo.multiply %b, %y : tensor<2xf32>
  return %c, %a : tensor<2xf32>, tensor<2xf32>
}
"""

X, Y = np.array([1, 2], np.float32), np.array([3, -1], np.float32)


def ops(program: Program) -> list[str]:
    """Return the ops of main, without its return."""
    return [one.name for one in program.main.body.operations[:-1]]


def attempts(
    text: str, holds: Callable[[Program], bool], *inputs: np.ndarray, left: int = 99
) -> Minimisation:
    """Return attempts at a program that fails while `holds` holds."""

    def fails(program: Program, given: Inputs) -> bool:
        evaluate(program, given)  # inputs belong to the program
        return holds(program)

    program = parse_module(text)
    assert fails(program, inputs)
    return Minimisation(fails, program, inputs, left, math.inf)


def test_first_operations_are_dropped_and_their_results_become_parameters() -> None:
    work = attempts(CHAIN, lambda program: "multiply" in ops(program), X, Y)
    before = evaluate(work.program, work.inputs)
    assert drop_first_operations(work)
    assert ops(work.program) == ["multiply"]
    assert np.array_equal(evaluate(work.program, work.inputs)[0], before[0])


def test_values_are_replaced_by_operands_of_their_type() -> None:
    work = attempts(CHAIN, lambda program: "multiply" in ops(program), X, Y)
    assert replace_values(work)
    assert ops(work.program) == ["multiply"]
    assert not replace_values(work)


def test_values_are_replaced_by_parameters_or_constants() -> None:
    text = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xi32> {
  %a = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xi32>
  %b = stablehlo.negate %a : tensor<2xi32>
  return %b : tensor<2xi32>
}
"""
    work = attempts(text, lambda program: "negate" in ops(program), X)
    assert replace_values(work)
    assert ops(work.program) == ["negate"]
    assert [one.dtype for one in work.inputs] == [np.int32]

    def has_no_integer_parameter(program: Program) -> bool:
        types = [str(one.type) for one in program.main.arguments]
        return "negate" in ops(program) and not any("i32" in one for one in types)

    work = attempts(text, has_no_integer_parameter, X)
    assert replace_values(work)
    assert ops(work.program) == ["constant", "negate"]
    assert work.inputs == ()


def test_bodies_are_simplified() -> None:
    text = """
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

    def holds(name: str) -> Callable[[Program], bool]:
        return lambda program: name in [one.name for one in program.walk()]

    given = (np.arange(4, dtype=np.int32), np.array(0, np.int32))
    for kept, dropped in (("add", "multiply"), ("multiply", "add")):
        work = attempts(text, holds(kept), *given)
        assert simplify_regions(work)
        assert not holds(dropped)(work.program)

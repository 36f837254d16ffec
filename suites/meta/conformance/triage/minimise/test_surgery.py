"""Surgery: each kind of step yields the smaller programs it is named for, with their inputs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from conformance.pipeline.items import Inputs
from conformance.stablehlo.parse import parse_module
from conformance.triage.minimise.attempts import Minimisation
from conformance.triage.minimise.surgery import (
    drop_first_operations,
    prune_parameters,
    reduce_results,
    reference_values,
    replace_constants,
    replace_values,
    simplify_regions,
    tidy,
)
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program

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
    text: str, has: Callable[[Program], bool], *inputs: np.ndarray, left: int = 99
) -> Minimisation:
    """Return attempts at a program that fails while `has` holds."""

    def fails(program: Program, given: Inputs) -> bool:
        evaluate(program, given)  # inputs belong to the program
        return has(program)

    program = parse_module(text)
    assert fails(program, inputs)
    return Minimisation(fails, program, inputs, left, math.inf)


def test_earliest_failing_result_is_returned() -> None:
    work = attempts(CHAIN, lambda program: "negate" in ops(program), X, Y)
    assert reduce_results(work)
    assert ops(work.program) == ["constant", "add", "negate", "multiply"]
    assert len(work.program.main.result_types) == 1
    assert reduce_results(work)
    assert ops(work.program) == ["constant", "add", "negate"]
    assert [one.tolist() for one in work.inputs] == [X.tolist()]
    assert not reduce_results(work)


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


def test_constants_become_parameters() -> None:
    work = attempts(CHAIN, lambda program: "add" in ops(program), X, Y)
    assert replace_constants(work)
    assert ops(work.program) == ["add", "negate", "multiply"]
    assert work.inputs[-1].tolist() == [2.0, 2.0]


def test_nothing_is_tried_once_the_budget_is_spent() -> None:
    work = attempts(CHAIN, lambda _: True, X, Y, left=0)
    steps = (reduce_results, drop_first_operations, replace_values, replace_constants)
    assert not any(step(work) for step in (*steps, simplify_regions))
    assert work.inputs == (X, Y)


def test_values_equal_those_of_the_reference() -> None:
    found = reference_values(attempts(CHAIN, lambda _: True, X, Y))
    assert found is not None
    values = [one.tolist() for one in found.values()]
    assert values == [[1, 2], [3, -1], [2, 2], [3, 4], [-3, -4], [-9, 4]]


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

    def has(name: str) -> Callable[[Program], bool]:
        return lambda program: name in [one.name for one in program.walk()]

    given = (np.arange(4, dtype=np.int32), np.array(0, np.int32))
    for kept, dropped in (("add", "multiply"), ("multiply", "add")):
        work = attempts(text, has(kept), *given)
        assert simplify_regions(work)
        assert not has(dropped)(work.program)


def test_unused_parts_are_removed_with_their_inputs() -> None:
    program = parse_module("""
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %unused = stablehlo.add %x, %y : tensor<2xf32>
  %0 = stablehlo.negate %y : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @nobody(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
""")
    pruned, inputs = prune_parameters(program, (X, Y))
    assert (len(pruned.functions), len(inputs)) == (1, 2)
    tidied, inputs = tidy(program, (X, Y))
    assert ops(tidied) == ["negate"]
    assert tidied.main.arguments == program.main.arguments[1:]
    assert [one.tolist() for one in inputs] == [Y.tolist()]

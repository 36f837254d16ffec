"""Inputs and constants are simplified: elements that do not matter become 0, or else 1."""

from __future__ import annotations

from math import inf

import numpy as np

from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.triage.minimise.attempts import Fails, Minimisation
from conformance.triage.minimise.contents import simplify_data
from reference.ir.program import Dense, Program
from reference.ir.types import Array

PROGRAM = parse_module("""
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<[3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]> : tensor<8xf32>
  %0 = stablehlo.divide %x, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}""")
X = np.arange(5, 13, dtype=np.float32)


def constant_of(program: Program) -> Array:
    value = program.main.body.operations[0].attribute("value")
    assert isinstance(value, Dense)
    return value.array


def simplify_contents(
    fails: Fails, inputs: tuple[Array, ...] = (X,), left: int = 500
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


def test_constants_of_which_one_matters() -> None:
    attempts = simplify_contents(lambda program, _: constant_of(program)[2] == 3)
    assert constant_of(attempts.program).tolist() == [0, 0, 3, 0, 0, 0, 0, 0]


def test_the_type_stays() -> None:
    attempts = simplify_contents(lambda *_: True)
    assert attempts.inputs[0].dtype == np.float32
    assert constant_of(attempts.program).shape == (8,)


def test_nothing_changes_when_all_of_it_matters_or_the_budget_is_spent() -> None:
    whole = simplify_contents(lambda _, inputs: inputs[0].tolist() == X.tolist(), left=100)
    assert whole.inputs[0].tolist() == X.tolist()
    spent = simplify_contents(lambda *_: True, left=0)
    assert spent.program == PROGRAM


def test_integers_become_as_small_as_the_failure_permits() -> None:
    whole = parse_module("""
func.func @main(%x: tensor<8xf32>, %i: tensor<2xi32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}""")
    index = np.array([1065353216, -1082130432], np.int32)
    attempts = Minimisation(lambda _, inputs: inputs[1][0] > 4, whole, (X, index), 500, inf)
    simplify_data(attempts)
    assert attempts.inputs[1].tolist() == [5, 0]
    attempts = Minimisation(lambda _, inputs: inputs[1][1] < -6, whole, (X, index), 500, inf)
    simplify_data(attempts)
    assert attempts.inputs[1].tolist() == [0, -7]


def test_a_number_stays_a_number() -> None:
    program = parse_module("""
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "chlo.constant_like"(%x) {value = 3.0 : f32} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}""")
    attempts = Minimisation(lambda *_: True, program, (X,), 500, inf)
    simplify_data(attempts)
    assert "{value = 0.0 : f32}" in emit(attempts.program)

"""Simplified programs: their operations, the values of these, and constants."""

from __future__ import annotations

import numpy as np

from conformance.known.rewritings.simplified.simplify import SimplifiedProgram, simplify
from conformance.stablehlo.parse import parse_module
from reference.ir.program import Operation
from suites.meta.support.checking import values_of

BRANCH = parse_module("""
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %yes = stablehlo.constant dense<true> : tensor<i1>
  %c = stablehlo.constant dense<3.0> : tensor<2xf32>
  %0 = "stablehlo.if"(%yes) ({
    %a = stablehlo.add %x, %x : tensor<2xf32>
    %b = stablehlo.negate %a : tensor<2xf32>
    stablehlo.return %b : tensor<2xf32>
  }, {
    stablehlo.return %x : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  %1 = stablehlo.select %yes, %c, %x : tensor<i1>, tensor<2xf32>
  %2 = stablehlo.multiply %1, %c : tensor<2xf32>
  %3 = stablehlo.add %0, %2 : tensor<2xf32>
  return %3 : tensor<2xf32>
}""")
X = np.array([1, 2], np.float32)


def operation(simple: SimplifiedProgram, number: int) -> Operation:
    """Return the operation that defines a result of the program's operation."""
    of = BRANCH.main.body.operations[number].results[0]
    found = simple.operation(of.name)
    assert found is not None
    return found


def test_values_of_an_inlined_branch_follow_from_the_backend_s() -> None:
    simple, values = simplify(BRANCH), values_of(BRANCH, (X,))
    assert simple.is_changed
    negation = operation(simple, 2)
    assert negation.name == "negate"
    found = simple.complete_values({name: values[name] for name in values if name != "a"})
    assert found[negation.operands[0].name].tolist() == [2, 4]
    assert found[negation.results[0].name].tolist() == [-2, -4]


def test_removed_operations_have_a_value_in_their_place() -> None:
    simple = simplify(BRANCH)
    selection, constant = BRANCH.main.body.operations[3], BRANCH.main.body.operations[1]
    assert simple.replaced[selection.results[0].name] == constant.results[0]
    assert simple.operation(selection.results[0].name) is None
    assert operation(simple, 4).operands == (*constant.results, *constant.results)


def test_constants_are_folded_through_what_is_removed() -> None:
    operations = BRANCH.main.body.operations
    folded = simplify(BRANCH).folded
    assert {operations[n].results[0].name for n in (0, 1, 3, 4)} <= folded
    assert operations[2].results[0].name not in folded
    assert operations[5].results[0].name not in folded


def test_a_program_without_such_operations_is_unchanged() -> None:
    program = parse_module("""
func.func @main(%x: tensor<2xf32>, %y: tensor<?xf32>) -> tensor<2xf32> {
  %0 = stablehlo.abs %y : tensor<?xf32>
  %1 = stablehlo.add %x, %x : tensor<2xf32>
  return %1 : tensor<2xf32>
}""")
    simple = simplify(program)
    assert not simple.is_changed
    assert simple.program == program

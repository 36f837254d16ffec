"""Rewritings that entries state."""

from __future__ import annotations

import pytest

from conformance.known.rewritings.stated import StatedRewriting
from conformance.known.rewritings.values import ObservedProgram
from conformance.stablehlo.parse import parse_module
from suites.meta.support.checking import values_of
from suites.meta.support.small_programs import array

PROGRAM = parse_module("""
func.func @main(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<1xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<1xf32>
  %1 = stablehlo.add %0, %x : tensor<1xf32>
  return %1 : tensor<1xf32>
}""")
INPUTS = (array([3.0]), array([5.0]))
SHOWN = ObservedProgram(PROGRAM, values_of(PROGRAM, INPUTS))
MULTIPLY, ADD = PROGRAM.main.body.operations[:2]
OF_TWO = StatedRewriting("mine", ("*",), "(add (multiply x y) z)", "(subtract x z)")
OF_ONE = StatedRewriting("mine", ("*",), "(add x y)", "(subtract x y)")


def test_prediction_is_evaluated_on_the_values_of_the_program() -> None:
    found = list(OF_TWO.predictions(SHOWN, ADD))
    assert [one.result.tolist() for one in found] == [[0.0], [2.0]]  # z = x, in either order
    assert not list(OF_TWO.predictions(SHOWN, MULTIPLY))


@pytest.mark.parametrize(
    ("types", "op", "acts"),
    [
        (("*",), ADD, True),
        (("f32",), ADD, True),
        (("bf16",), ADD, False),
        (("*",), MULTIPLY, False),
    ],
)
def test_entry_acts_on_the_outermost_operation_of_its_types(types, op, acts: bool) -> None:
    stated = StatedRewriting("mine", types, "(add x y)", "(subtract x y)")
    assert stated.acts_on(op) is acts
    assert stated.applies(op) is acts


def test_only_patterns_of_one_operation_apply_to_its_results_alone() -> None:
    assert OF_ONE.applies(ADD)
    assert not OF_TWO.applies(ADD)
    assert OF_TWO.acts_on(ADD)


def test_class_is_that_of_the_entry() -> None:
    assert OF_ONE.label == OF_TWO.label
    assert "mine" in OF_ONE.label
    assert OF_ONE.hypothesis().stated

"""Rewritings of an operation that only show in later results."""

from __future__ import annotations

from conformance.known.rewritings.table import is_rewriting
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.triage.downstream import explain_downstream
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation
from suites.meta.support.checking import values_of
from suites.meta.support.small_programs import array

PROGRAM = parse_module("""
func.func @main(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<1xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<1xf32>
  %1 = stablehlo.add %0, %y : tensor<1xf32>
  %2 = stablehlo.negate %1 : tensor<1xf32>
  return %2 : tensor<1xf32>
}""")
INPUTS = (array([1 + 2.0**-12]), array([-1.0]))
ROUNDED_ONCE = -(2.0**-11 + 2.0**-24)
"""-(x x + y) with the product unrounded; the rounded product loses the last term."""


def explain(actual: float) -> tuple[Operation, str] | None:
    operations, values = PROGRAM.main.body.operations[:-1], values_of(PROGRAM, INPUTS)
    given = [array([actual])]
    return explain_downstream(PROGRAM, INPUTS, given, operations, values, Hardware.CPU)


def test_a_rewriting_that_explains_all_results_is_found() -> None:
    assert float(evaluate(PROGRAM, INPUTS)[0][0]) == -(2.0**-11)
    found = explain(ROUNDED_ONCE)
    assert found is not None
    operation, label = found
    assert operation.name == "add"
    assert is_rewriting(label)


def test_results_that_no_rewriting_gives_are_not_explained() -> None:
    assert explain(2 * ROUNDED_ONCE) is None


def test_without_operations_nothing_is_explained() -> None:
    given = [array([ROUNDED_ONCE])]
    assert explain_downstream(PROGRAM, INPUTS, given, (), {}, Hardware.CPU) is None

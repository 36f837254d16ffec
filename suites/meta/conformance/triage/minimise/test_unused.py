"""Programs that fail by operations whose results nothing uses."""

from __future__ import annotations

from math import inf

import numpy as np

from conformance.stablehlo.parse import parse_module
from conformance.triage.minimise.attempts import Minimisation
from conformance.triage.minimise.unused import is_unused_to_blame, reduce_unused
from reference.ir.program import Program

UNUSED = parse_module("""
func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.sine %y : tensor<3xf32>
  %1 = stablehlo.cosine %0 : tensor<3xf32>
  %2 = stablehlo.tanh %x : tensor<3xf32>
  %3 = stablehlo.negate %x : tensor<3xf32>
  return %3 : tensor<3xf32>
}""")
INPUTS = (np.zeros(3, np.float32), np.ones(3, np.float32))


def names(program: Program) -> list[str]:
    return [one.name for one in program.main.body.operations]


def attempts_at(op: str, left: int = 100) -> Minimisation:
    """Return a program that fails as long as it has this op."""
    return Minimisation(lambda program, _: op in names(program), UNUSED, INPUTS, left, inf)


def test_without_the_unused_operation_at_fault_nothing_fails() -> None:
    attempts = attempts_at("tanh")
    assert is_unused_to_blame(attempts)
    assert attempts.program == UNUSED


def test_a_program_that_still_fails_loses_its_unused_operations() -> None:
    attempts = attempts_at("negate")
    assert not is_unused_to_blame(attempts)
    assert names(attempts.program) == ["negate", "return"]
    assert len(attempts.inputs) == 1


def test_only_the_operation_at_fault_and_its_operands_are_left() -> None:
    attempts = attempts_at("cosine")
    assert reduce_unused(attempts)
    assert names(attempts.program) == ["sine", "cosine", "return"]
    assert not reduce_unused(attempts)


def test_nothing_is_tried_when_the_budget_is_spent() -> None:
    attempts = attempts_at("cosine", left=0)
    assert not reduce_unused(attempts)
    assert attempts.program == UNUSED

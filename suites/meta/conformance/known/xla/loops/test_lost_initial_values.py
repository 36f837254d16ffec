"""Loops whose updated array starts from zeros, because each iteration swaps it with another."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.known.xla.loops.lost_initial_values import LABEL, concerns, rewrite
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.table import RULES
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import Array

LOOP = """
  %0:3 = stablehlo.while(%i = %start, %p = %x, %q = %y)
    : tensor<i32>, tensor<2x3xf32>, tensor<2x3xf32>
  cond {
    %c = stablehlo.compare LE, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %n = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.dynamic_slice %q, %i, %start, sizes = [1, 3]
      : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
    %u = stablehlo.dynamic_update_slice %p, %s, %i, %start
      : (tensor<2x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    stablehlo.return %n, RETURNED : tensor<i32>, tensor<2x3xf32>, tensor<2x3xf32>
  }"""

BEGIN = """
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %start = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>"""

END = """
  return %0#1 : tensor<2x3xf32>
}"""

BRANCH = """
  %t = stablehlo.constant dense<true> : tensor<i1>
  %1 = "stablehlo.if"(%t) ({LOOP
    stablehlo.return %0#1 : tensor<2x3xf32>
  }, {
    stablehlo.return %x : tensor<2x3xf32>
  }) : (tensor<i1>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}"""

SWAPPED, IN_PLACE = "%q, %u", "%u, %q"
X = np.full((2, 3), 7, np.float32)
Y = np.arange(6, dtype=np.float32).reshape(2, 3)


def program_of(returned: str, *, in_branch: bool = False) -> Program:
    """Return a program with a loop that returns its two arrays so."""
    loop = LOOP.replace("RETURNED", returned)
    return parse_module(BEGIN + (BRANCH.replace("LOOP", loop) if in_branch else loop + END))


def kind_of(actual: Array, platform: str) -> str:
    """Return the class of a result of the loop that swaps its arrays."""
    program = program_of(SWAPPED)
    expected = evaluate(program, [X, Y])
    return judge(program, [X, Y], expected, [actual], RULES["data"], platform=platform).kind


@pytest.mark.parametrize("in_branch", [False, True])
def test_slices_that_are_not_written_are_zeros(in_branch: bool) -> None:
    program = program_of(SWAPPED, in_branch=in_branch)
    ((rewritten,),) = rewrite(program)
    (computed,) = evaluate(rewritten, [X, Y])
    assert computed.tolist() == [Y[0].tolist(), [0, 0, 0]]
    assert concerns(program.main.body.operations[-2])


def test_arrays_that_stay_at_their_position_are_overwritten() -> None:
    assert not list(rewrite(program_of(IN_PLACE)))


@pytest.mark.parametrize(
    ("row", "value", "platform", "kind"),
    [
        (1, 0.0, Hardware.TPU, LABEL),
        (1, 5.0, Hardware.TPU, "wrong value"),
        (0, 9.0, Hardware.TPU, "wrong value"),
        (1, 0.0, Hardware.CPU, "wrong value"),
    ],
)
def test_only_slices_that_are_not_written_have_the_class(
    row: int, value: float, platform: str, kind: str
) -> None:
    (actual,) = evaluate(program_of(SWAPPED), [X, Y])
    actual = actual.copy()
    actual[row] = value
    assert kind_of(actual, platform) == kind

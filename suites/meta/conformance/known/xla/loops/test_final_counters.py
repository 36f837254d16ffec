"""Unsigned counters that count down, and the values that XLA computes for them."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.known.xla.loops.final_counters import LABEL, rewrite
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.table import RULES
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program

PROGRAM = """
func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<{of}>, tensor<f32>) {{
  %start = stablehlo.constant dense<{start}> : tensor<{of}>
  %limit = stablehlo.constant dense<{limit}> : tensor<{of}>
  %0:2 = stablehlo.while(%i = %start, %z = %x) : tensor<{of}>, tensor<f32>
  cond {{
    %1 = stablehlo.compare {direction}, %i, %limit : (tensor<{of}>, tensor<{of}>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %step = stablehlo.constant dense<{step}> : tensor<{of}>
    %1 = stablehlo.{op} %i, %step : tensor<{of}>
    stablehlo.return %1, %y : tensor<{of}>, tensor<f32>
  }}
  return %0#0, %0#1 : tensor<{of}>, tensor<f32>
}}"""

INPUTS = np.array(1, np.float32), np.array(2, np.float32)


def loop(start: int, limit: int, direction: str, op: str, step: int, of: str = "ui8") -> Program:
    """Return a loop with a counter, and a value that no iteration but the first changes."""
    given = {"start": start, "limit": limit, "direction": direction, "op": op, "step": step}
    return parse_module(PROGRAM.format(of=of, **given))


def kind_of(program: Program, counter: int) -> str:
    """Return the class of a result with this counter."""
    expected = evaluate(program, INPUTS)
    actual = (np.array(counter, expected[0].dtype), expected[1])
    return judge(program, INPUTS, expected, actual, RULES["data"]).kind


@pytest.mark.parametrize(
    ("start", "limit", "direction", "op", "step", "measured"),
    [
        (5, 0, "GT", "subtract", 1, 4),
        (6, 0, "GT", "subtract", 2, 4),
        (200, 100, "GT", "subtract", 10, 190),
        (5, 1, "GE", "subtract", 1, 4),
        (5, 0, "GT", "add", 255, 4),
    ],
)
def test_counter_measured_is_predicted(
    start: int, limit: int, direction: str, op: str, step: int, measured: int
) -> None:
    program = loop(start, limit, direction, op, step)
    assert kind_of(program, measured) == LABEL
    assert kind_of(program, measured - 2) == "wrong value"


@pytest.mark.parametrize(
    "given",
    [
        (5, 0, "NE", "subtract", 1),
        (0, 5, "LT", "add", 1),
        (0, 5, "GT", "subtract", 1),
        (250, 5, "GT", "add", 1),
        (5, 0, "GT", "subtract", 1, "i8"),
    ],
)
def test_other_counters_are_right(given: tuple[int, int, str, str, int, str]) -> None:
    assert not list(rewrite(loop(*given)))

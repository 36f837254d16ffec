"""Unsigned counters that count down, and the values that XLA computes for them."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.known.xla.loops.final_counters import (
    ITERATED_ONCE,
    LABEL,
    iterate_once,
    rewrite,
)
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
    assert not list(iterate_once(loop(*given)))


ACCUMULATED = """
func.func @main(%x: tensor<i16>) -> (tensor<ui8>, tensor<i16>) {{
  %start = stablehlo.constant dense<{}> : tensor<ui8>
  %0:2 = stablehlo.while(%i = %start, %z = %x) : tensor<ui8>, tensor<i16>
  cond {{
    %limit = stablehlo.constant dense<{}> : tensor<ui8>
    %1 = stablehlo.compare {}, %i, %limit : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %step = stablehlo.constant dense<{}> : tensor<ui8>
    %1 = stablehlo.subtract %i, %step : tensor<ui8>
    %2 = stablehlo.add %z, %x : tensor<i16>
    stablehlo.return %1, %2 : tensor<ui8>, tensor<i16>
  }}
  return %0#0, %0#1 : tensor<ui8>, tensor<i16>
}}"""


@pytest.mark.parametrize(
    ("start", "limit", "direction", "step", "counter"),
    [(5, 0, "GT", 1, 4), (200, 100, "GT", 10, 190), (5, 1, "GE", 1, 4), (3, 1, "GE", 5, 254)],
)
def test_all_values_measured_after_one_iteration_are_predicted(
    start: int, limit: int, direction: str, step: int, counter: int
) -> None:
    program = parse_module(ACCUMULATED.format(start, limit, direction, step))
    inputs = (np.array(1, np.int16),)
    expected = evaluate(program, inputs)
    for total, kind in ((2, ITERATED_ONCE), (4, "wrong value")):
        actual = np.array(counter, np.uint8), np.array(total, np.int16)
        judged = judge(program, inputs, expected, actual, RULES["data"])
        assert kind in {one.kind for one in judged.failing}

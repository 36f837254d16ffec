"""Windows over a value with a dynamic size: rows that are too short, stored consecutively."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.known.xla.indexing.bounded_windows import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict

ONES = "window_dimensions = array<i64: 1, 1>"
PROGRAM = """
func.func @main(%x: tensor<2x2xf32>, %n: tensor<i32>) -> {of} {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.{first} : (tensor<2x2xf32>{more}) -> tensor<2x2xf32>
  %1 = "stablehlo.reduce_window"(%0, %zero) <{{{windows}, {ONES}}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }}) : (tensor<2x2xf32>, tensor<f32>) -> {of}
  %3 = stablehlo.negate %1 : {of}
  return %3 : {of}
}}"""
CUT = "set_dimension_size %x, %n, dim = 1"
DILATED = "base_dilations = array<i64: 1, 2>"
PADDED = "padding = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>"


def kind_of(text: str, got: list[float]) -> str:
    """Return the class of negated windows over 1, 2 and 3, 4; "" if they are right."""
    program = parse_module(text)
    inputs = (np.array([[1, 2], [3, 4]], np.float32), np.array(2, np.int32))
    actual = np.array(got, np.float32).reshape(2, 3)
    judged = judge_program(PermittedResults(program, inputs), (actual,))
    return judged.kind if judged.verdict is Verdict.DIVERGENT else ""


@pytest.mark.parametrize(
    ("windows", "got", "kind"),
    [
        (DILATED, [-1, -0.0, -2, -3, -0.0, -4], ""),
        (DILATED, [-1, -0.0, -3, -0.0, 7, 8], LABEL),  # nobody knows what is behind the rows
        (DILATED, [-1, -0.0, -3, -1, -3, -4], "wrong value"),
        (PADDED, [-0.0, -1, -2, -0.0, -3, -4], ""),
        (PADDED, [-0.0, -1, -0.0, -3, 7, np.nan], LABEL),
        (PADDED, [-1, -2, -3, -4, 7, 8], "wrong value"),
    ],
)
def test_rows_that_are_counted_too_short_lie_one_behind_the_other(
    windows: str, got: list[float], kind: str
) -> None:
    text = PROGRAM.format(
        ONES=ONES, of="tensor<2x3xf32>", first=CUT, more=", tensor<i32>", windows=windows
    )
    found = kind_of(text, got)
    assert found == kind or (kind == "wrong value" and found != LABEL)


def test_rows_of_known_sizes_are_counted_right() -> None:
    text = PROGRAM.format(
        ONES=ONES,
        of="tensor<2x3xf32>",
        first="transpose %x, dims = [0, 1]",
        more="",
        windows=DILATED,
    )
    assert kind_of(text, [-1, -0.0, -2, -3, -0.0, -4]) == ""
    assert kind_of(text, [-1, -0.0, -3, -0.0, 7, 8]) != LABEL

"""A select_and_scatter without source elements, folded by XLA's evaluator."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.windows.no_source import LABEL
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array
from suites.meta.support.small_programs import array, execute

OPERAND = np.arange(16).reshape(2, 4, 2)
WITHOUT = np.zeros((0, 1, 4), np.int32)


def _text(*, is_constant: bool) -> str:
    made = "%c = stablehlo.constant" if is_constant else "%unused = stablehlo.constant"
    taken = "" if is_constant else "%c: tensor<2x4x2xi32>, "
    return f"""
func.func @main({taken}%source: tensor<0x1x4xi32>) -> tensor<2x4x2xi32> {{
  {made} dense<{OPERAND.tolist()}> : tensor<2x4x2xi32>
  %init = stablehlo.constant dense<7> : tensor<i32>
  %0 = "stablehlo.select_and_scatter"(%c, %source, %init) <{{
    padding = dense<[[0, 0], [0, -2], [2, 2]]> : tensor<3x2xi64>,
    window_dimensions = array<i64: 3, 2, 3>}}> ({{
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.compare LE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }}, {{
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.minimum %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }}) : (tensor<2x4x2xi32>, tensor<0x1x4xi32>, tensor<i32>) -> tensor<2x4x2xi32>
  return %0 : tensor<2x4x2xi32>
}}"""


def _kinds(got: Array, *, is_constant: bool = True) -> set[str]:
    program = parse_module(_text(is_constant=is_constant))
    inputs = [WITHOUT] if is_constant else [array(OPERAND, "si32"), WITHOUT]
    return {
        kind
        for _, kind in judge_operation(program, inputs, evaluate(program, inputs), [got]).findings
    }


@pytest.mark.parametrize(
    ("at", "kind"),
    [
        ((0, 0, 0), LABEL),
        ((0, 0, 1), LABEL),
        ((0, 1, 0), "wrong value"),
        ((1, 0, 0), "wrong value"),
    ],
)
def test_elements_selected_by_first_windows_may_be_anything(at: tuple[int, ...], kind: str) -> None:
    got = np.full((2, 4, 2), 7, np.int32)
    assert _kinds(got) == set()
    got[at] = 3
    assert _kinds(got) == {kind}


def test_only_constants_are_folded() -> None:
    got = np.full((2, 4, 2), 7, np.int32)
    got[0, 0, 0] = 0
    assert _kinds(got, is_constant=False) == {"wrong value"}


def test_the_cpu_scatters_to_no_other_elements() -> None:
    (got,) = execute("cpu", parse_module(_text(is_constant=True)), WITHOUT)
    assert _kinds(got) <= {LABEL}
    assert (np.delete(got.reshape(-1), [0, 1]) == 7).all()

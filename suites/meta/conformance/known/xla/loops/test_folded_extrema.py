"""Extrema of constants in bodies that are folded, with zeros of both signs treated as equal."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.loops.folded_extrema import LABEL, concerns, rewrite
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program

T, X = "tensor<3xf32>", "dense<[0.0, -0.0, 1.0]> : tensor<3xf32>"

SCAN = f"""
func.func @main(%i: {T}) -> {T} {{
  %x = stablehlo.constant dense<[[0.0, -0.0, 1.0]]> : tensor<1x3xf32>
  %z = stablehlo.constant dense<[-0.0, 0.0, 2.0]> : {T}
  %0:2 = mhlo.scan(%x) inits (START) dimension=0 {{
  ^bb0(%a: {T}, %b: {T}):
    %1 = stablehlo.OP %b, %a : {T}
    stablehlo.return %1, %1 : {T}, {T}
  }} : (tensor<1x3xf32>, {T}) -> (tensor<1x3xf32>, {T})
  return %0#1 : {T}
}}"""

MAP = f"""
func.func @main(%i: {T}) -> {T} {{
  %x = stablehlo.constant {X}
  %z = stablehlo.constant dense<[-0.0, 0.0, 2.0]> : {T}
  %0 = "stablehlo.map"(START, %x) ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.OP %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }}) {{dimensions = array<i64: 0>}} : ({T}, {T}) -> {T}
  return %0 : {T}
}}"""

WHILE = f"""
func.func @main(%i: {T}) -> {T} {{
  %x = stablehlo.constant {X}
  %z = stablehlo.constant dense<[-0.0, 0.0, 2.0]> : {T}
  %start = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%b = START, %n = %start) : {T}, tensor<i32>
  cond {{
    %c = stablehlo.compare LT, %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %1 = stablehlo.OP %b, %x : {T}
    %2 = stablehlo.add %n, %one : tensor<i32>
    stablehlo.return %1, %2 : {T}, tensor<i32>
  }}
  return %0#0 : {T}
}}"""

START = np.array([-0.0, 0.0, 2.0], np.float32)


def _kind(program: Program, got: list[float]) -> str:
    expected = evaluate(program, (START,))
    found = judge_operation(program, (START,), expected, (np.array(got, np.float32),))
    assert (found.verdict is Verdict.PASS) == (found.kind == "")
    return found.kind


@pytest.mark.parametrize("text", [SCAN, MAP, WHILE])
@pytest.mark.parametrize(
    ("op", "got", "kind"),
    [
        ("maximum", [-0.0, 0.0, 2.0], LABEL),
        ("maximum", [0.0, -0.0, 2.0], LABEL),
        ("maximum", [0.0, 0.0, 2.0], ""),
        ("maximum", [-0.0, -0.0, 2.0], "signed zero"),
        ("maximum", [-0.0, 0.0, 1.0], "wrong value"),
        ("minimum", [-0.0, 0.0, 1.0], LABEL),
        ("minimum", [0.0, -0.0, 1.0], LABEL),
    ],
)
def test_one_operand_in_place_of_equal_zeros(
    text: str, op: str, got: list[float], kind: str
) -> None:
    program = parse_module(text.replace("OP", op).replace("START", "%z"))
    assert any(map(concerns, program.walk()))
    assert _kind(program, got) == kind


@pytest.mark.parametrize("text", [SCAN, MAP, WHILE])
def test_only_extrema_of_constants_are_folded(text: str) -> None:
    program = parse_module(text.replace("OP", "maximum").replace("START", "%i"))
    assert [*rewrite(program)] == []
    assert _kind(program, [-0.0, 0.0, 2.0]) == "signed zero"


def test_sums_in_bodies_are_no_extrema() -> None:
    program = parse_module(SCAN.replace("OP", "add").replace("START", "%z"))
    assert not any(map(concerns, program.walk()))
    assert [*rewrite(program)] == []


@pytest.mark.parametrize(
    ("got", "kind"),
    [(-0.0, LABEL), (0.0, ""), (1.0, "wrong value")],
)
def test_clamps_in_a_map_return_the_operand(got: float, kind: str) -> None:
    program = parse_module("""
func.func @main() -> tensor<1xf32> {
  %x = stablehlo.constant dense<-0.0> : tensor<1xf32>
  %0 = "stablehlo.map"(%x) ({
  ^bb0(%a: tensor<f32>):
    %l = stablehlo.constant dense<0.0> : tensor<f32>
    %h = stablehlo.constant dense<2.0> : tensor<f32>
    %1 = stablehlo.clamp %l, %a, %h : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<1xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}""")
    found = judge_operation(program, (), evaluate(program, ()), (np.array([got], np.float32),))
    assert found.kind == kind

"""Programs that keep more precision than their types say."""

from __future__ import annotations

import numpy as np

from conformance.stablehlo.parse import parse_module
from conformance.transforms.dead_code import remove_unused
from conformance.transforms.unrounded import remove_roundings
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program

THIRD = np.array([1 / 3], np.float32)


def names(program: Program) -> list[str]:
    return [one.name for one in remove_unused(program).main.body.operations]


def conversions(middle: str, wide: str = "f32") -> Program:
    """Return the program that converts to a type and back, and adds the number to itself."""
    return parse_module(f"""
func.func @main(%x: tensor<1x{wide}>) -> tensor<1x{wide}> {{
  %0 = stablehlo.convert %x : (tensor<1x{wide}>) -> tensor<1x{middle}>
  %1 = stablehlo.convert %0 : (tensor<1x{middle}>) -> tensor<1x{wide}>
  %2 = stablehlo.add %1, %1 : tensor<1x{wide}>
  return %2 : tensor<1x{wide}>
}}""")


def test_a_conversion_there_and_back_is_left_out() -> None:
    program = conversions("bf16")
    assert names(remove_roundings(program)) == ["add", "return"]
    (rounded,), (kept,) = (evaluate(one, (THIRD,)) for one in (program, remove_roundings(program)))
    assert kept == 2 * THIRD != rounded


def test_integers_are_not_rounded() -> None:
    program = conversions("f32", wide="i64")
    assert names(remove_roundings(program)) == names(program)


def test_reduced_precision_is_left_out() -> None:
    program = parse_module("""
func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
  %0 = stablehlo.reduce_precision %x, format = e5m2 : tensor<1xf32>
  return %0 : tensor<1xf32>
}""")
    (kept,) = evaluate(remove_roundings(program), (THIRD,))
    assert kept == THIRD

"""Checking texts of programs: shared helpers of the tests of the command check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from conformance.checking.file import check_file
from conformance.checking.settings import CheckedFile, Settings
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array

OnResult = Callable[[Operation, tuple[Any, ...]], tuple[Any, ...]]

REFERENCE = Settings("reference")


def check_text(tmp_path: Path, text: str | bytes, settings: Settings = REFERENCE) -> CheckedFile:
    path = tmp_path / "program.mlir"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return check_file(str(path), settings)


def values_of(
    program: Program,
    inputs: Sequence[Array],
    change: OnResult = lambda _, results: results,
) -> dict[str, Any]:
    """Return the values of main by name, as the reference has them with some results changed."""
    arguments = zip(program.main.arguments, inputs, strict=True)
    known: dict[str, Any] = {of.name: array for of, array in arguments}

    def keep(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        results = change(operation, results)
        known.update(zip((value.name for value in operation.results), results, strict=True))
        return results

    evaluate(program, inputs, on_result=keep)
    return known


FAULTY = """
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.exponential %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %1 = func.call @inner(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.maximum %1, %y : tensor<4xf32>
  %3 = stablehlo.tanh %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}"""

TEST_PROGRAM = """
module @jit_main attributes {{mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32}} {{
  func.func public @main() -> tensor<3xf32> {{
    %0 = call @inputs() : () -> tensor<3xf32>
    %1 = call @expected() : () -> tensor<3xf32>
    %2 = stablehlo.add %0, %0 : tensor<3xf32>
    stablehlo.custom_call @check.{}(%2, %1) {{has_side_effect = true}}
      : (tensor<3xf32>, tensor<3xf32>) -> ()
    return %2 : tensor<3xf32>
  }}
  func.func private @inputs() -> tensor<3xf32> {{
    %cst = stablehlo.constant dense<[1.0, -2.0, 0.1]> : tensor<3xf32>
    return %cst : tensor<3xf32>
  }}
  func.func private @expected() -> tensor<3xf32> {{
    %cst = stablehlo.constant dense<[2.0, -4.0, {}]> : tensor<3xf32>
    return %cst : tensor<3xf32>
  }}
}}"""

ALONE = """
func.func @main(%x: tensor<f32>) -> tensor<f32> {{
  %0 = {} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}}"""


SEEDED = """
func.func @main(%seed: tensor<ui32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %w = stablehlo.constant dense<32> : tensor<ui32>
  %h = stablehlo.shift_right_logical %seed, %w : tensor<ui32>
  %f = stablehlo.convert %h : (tensor<ui32>) -> tensor<f32>
  %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %a = stablehlo.add %x, %b : tensor<4xf32>
  %s = stablehlo.sine %a : tensor<4xf32>
  %t = stablehlo.tanh %s : tensor<4xf32>
  return %s, %t : tensor<4xf32>, tensor<4xf32>
}"""
"""A program whose shift by 32 bits is implementation-defined; the rest follows from it."""

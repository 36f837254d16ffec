"""Unsigned indices in programs whose intermediate values cannot be returned, on the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.backends.interpreter.backend import InterpreterBackend
from conformance.backends.session import Session
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.known.interpreter.indices import LABEL, rewrite
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.verdict import Verdict
from reference.ir.program import Program, TensorType
from reference.ir.types import Array

QUANTIZED = "!quant.uniform<i8:f32, 1.0:3>"


def slice_at(index: str = "ui8") -> Program:
    """Return a slice of quantized numbers, which begins at an index of that type."""
    return parse_module(f"""
func.func @main(%x: tensor<3xf32>, %i: tensor<{index}>) -> tensor<1xf32> {{
  %0 = stablehlo.uniform_quantize %x : (tensor<3xf32>) -> tensor<3x{QUANTIZED}>
  %1 = stablehlo.dynamic_slice %0, %i, sizes = [1]
    : (tensor<3x{QUANTIZED}>, tensor<{index}>) -> tensor<1x{QUANTIZED}>
  %2 = stablehlo.uniform_dequantize %1 : (tensor<1x{QUANTIZED}>) -> tensor<1xf32>
  return %2 : tensor<1xf32>
}}""")


X = np.array([10, 20, 30], np.float32)


def kind_of(program: Program, index: Array, got: float, platform: str) -> str:
    """Return the class of that number as the result, "" where it is right."""
    permitted = PermittedResults(program, (X, index), platform)
    judged = judge_program(permitted, (np.array([got], np.float32),))
    return judged.kind if judged.verdict is Verdict.DIVERGENT else ""


def test_result_of_interpreter_has_the_class() -> None:
    program, index = slice_at(), np.array(254, np.uint8)
    (got,) = Session(InterpreterBackend()).compile(program).run((X, index))
    assert kind_of(program, index, float(got[0]), Hardware.INTERPRETER) == LABEL


@pytest.mark.parametrize(
    ("index", "got", "platform", "kind"),
    [
        (np.array(254, np.uint8), 30, Hardware.INTERPRETER, ""),
        (np.array(254, np.uint8), 20, Hardware.INTERPRETER, "wrong value"),  # neither
        (np.array(254, np.uint8), 10, Hardware.CPU, "wrong value"),
        (np.array(127, np.uint8), 10, Hardware.INTERPRETER, "wrong value"),  # has no sign bit
        (np.array(-2, np.int8), 30, Hardware.INTERPRETER, "wrong value"),
    ],
)
def test_nothing_else_is(index: Array, got: float, platform: str, kind: str) -> None:
    assert kind_of(slice_at(f"{index.dtype}".replace("int", "i")), index, got, platform) == kind


def test_only_indices_are_reinterpreted() -> None:
    signed = slice_at("i8")
    assert not [*rewrite(signed)]
    sizes = parse_module("""
func.func @main(%x: tensor<4xui8>, %i: tensor<1x1xui8>, %n: tensor<1xui8>) -> tensor<1x?xui8> {
  %0 = "stablehlo.dynamic_gather"(%x, %i, %n) <{dimension_numbers = #stablehlo.gather<
    offset_dims = [1], start_index_map = [0], index_vector_dim = 1>}>
    : (tensor<4xui8>, tensor<1x1xui8>, tensor<1xui8>) -> tensor<1x?xui8>
  return %0 : tensor<1x?xui8>
}""")
    ((changed,),) = rewrite(sizes)
    *_, gather, _ = changed.main.body.operations
    types = [operand.type for operand in gather.operands if isinstance(operand.type, TensorType)]
    assert [str(of.stored) for of in types] == ["ui8", "si8", "ui8"]

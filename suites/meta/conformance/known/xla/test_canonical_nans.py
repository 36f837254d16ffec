"""NaNs of bf16 without their payload, as on XLA's CPU with jaxlib 0.10.2."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.canonical_nans import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES, from_bits

CONSTANT = """
func.func @main() -> tensor<2xbf16> {{
  %x = stablehlo.constant dense<{}> : tensor<2xui16>
  %0 = stablehlo.bitcast_convert %x : (tensor<2xui16>) -> tensor<2xbf16>
  return %0 : tensor<2xbf16>
}}"""
PARAMETER = """
func.func @main(%x: tensor<2xui16>) -> tensor<2xbf16> {
  %0 = stablehlo.bitcast_convert %x : (tensor<2xui16>) -> tensor<2xbf16>
  return %0 : tensor<2xbf16>
}"""


@pytest.mark.parametrize(
    ("bits", "got", "is_explained"),
    [
        ((0x7FFD, 0x7FFD), 0x7FC0, True),
        ((0xFF81, 0xFF81), 0xFFC0, True),
        ((0xFF81, 0xFF81), 0x7FC0, False),
        ((0x7FFD, 0x7FFD), 0x7FFE, False),
        ((0x7FFD, 0x7FFE), 0x7FC0, False),
        ((0x3F80, 0x3F80), 0x7FC0, False),
    ],
)
def test_repeated_nan_is_canonical(bits: tuple[int, int], got: int, is_explained: bool) -> None:
    program = parse_module(CONSTANT.format([*bits]))
    actual = from_bits(np.full(2, got, np.uint16), ELEMENT_TYPES["bf16"])
    verdict = judge_operation(program, [], evaluate(program, []), [actual], Hardware.CPU)
    assert verdict.verdict.fails
    assert (verdict.kind == LABEL) == is_explained


def test_nan_of_a_parameter_keeps_its_payload() -> None:
    program, inputs = parse_module(PARAMETER), [np.full(2, 0x7FFD, np.uint16)]
    actual = from_bits(np.full(2, 0x7FC0, np.uint16), ELEMENT_TYPES["bf16"])
    verdict = judge_operation(program, inputs, evaluate(program, inputs), [actual], Hardware.CPU)
    assert verdict.kind == "NaN bits"

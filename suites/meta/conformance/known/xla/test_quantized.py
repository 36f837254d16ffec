"""Codes of quantized results that a product with a reciprocal may give."""

from __future__ import annotations

import numpy as np

from conformance.catalog import CATALOG
from conformance.known.xla.quantized import quantized_hypotheses
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation

TO_CODES = parse_module("""
func.func @main(%x: tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.3>> {
  %0 = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.3>>
  return %0 : tensor<2x!quant.uniform<i8:f32, 0.3>>
}""").subject
RESCALED = parse_module("""
func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>)
    -> tensor<2x!quant.uniform<i8:f32, 0.3>> {
  %0 = stablehlo.uniform_quantize %x
    : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.3>>
  return %0 : tensor<2x!quant.uniform<i8:f32, 0.3>>
}""").subject


def explained(operation: Operation, operand: np.ndarray, codes: list[int]) -> list[bool]:
    (hypothesis,) = quantized_hypotheses(CATALOG[operation.name].tolerance)
    assert hypothesis.errors is not None
    expected, actual = apply(operation, (operand,)), np.array(codes, np.int8)
    (errors,) = hypothesis.errors(operation, (operand,), tuple(expected), (actual,))
    return (errors == 0).tolist()


def test_quotient_next_to_a_tie_may_be_either_code() -> None:
    """0.75 / 0.3 is 2.5, whose neighbours are 2 and 3; 0.8 / 0.3 is 2.67."""
    x = np.array([0.75, 0.8], np.float32)
    for codes, found in (
        ([2, 3], [True, True]),
        ([3, 2], [True, False]),
        ([1, 4], [False, False]),
    ):
        assert explained(TO_CODES, x, codes) == found


def test_three_roundings_are_permitted_and_no_more() -> None:
    """The quotients exceed 100.5 by 2.3 and by 3.4 roundings, each of 2^-24 of the quotient."""
    nearest = np.float32(100.5 * 0.3)
    x = np.array([nearest + 3 * 2.0**-19, nearest + 4 * 2.0**-19], np.float32)
    assert explained(TO_CODES, x, [100, 100]) == [True, False]


def test_quotient_of_two_scales_may_be_rounded() -> None:
    """3 * 0.5 / 0.3 is 5; 1 * 0.5 / 0.3 is 1.67."""
    codes = np.array([3, 1], np.int8)
    assert explained(RESCALED, codes, [5, 2]) == [True, True]
    assert explained(RESCALED, codes, [6, 1]) == [False, False]


def test_operations_on_codes_divide_nothing() -> None:
    of = "tensor<2x!quant.uniform<i8:f32, 0.3>>"
    operation = parse_module(f"""
    func.func @main(%x: {of}) -> {of} {{
      %0 = stablehlo.reverse %x, dims = [0] : {of}
      return %0 : {of}
    }}""").subject
    assert explained(operation, np.array([3, 1], np.int8), [1, 3]) == [False, False]

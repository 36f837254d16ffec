"""Bits of numbers of f64 that a TPU reads from pairs of f32."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.xla.pairs.bits_of_pairs import rewrite
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate

BITS = """
func.func @main(%x: tensor<f64>) -> tensor<64xi1> {
  %0 = stablehlo.bitcast_convert %x : (tensor<f64>) -> tensor<64xi1>
  return %0 : tensor<64xi1>
}
"""

SIZE = """
func.func @main(%x: tensor<f64>) -> tensor<64xi8> {
  %0 = stablehlo.constant dense<0> : tensor<64xi8>
  return %0 : tensor<64xi8>
}
"""

ARGUMENT = """
func.func @main(%x: tensor<f64>) -> tensor<f64> {
  return %x : tensor<f64>
}
"""


def test_each_byte_of_the_pair_is_a_truth_value() -> None:
    high, low = np.float32(1 + 2.0**-23), np.float32(2.0**-30)
    ((other,),) = rewrite(parse_module(BITS))
    (got,) = evaluate(other, [np.array(np.float64(high) + np.float64(low))])
    assert got.tolist() == [byte != 0 for byte in (*low.tobytes(), *high.tobytes())]


@pytest.mark.parametrize("text", [SIZE, ARGUMENT])
def test_programs_without_such_a_bitcast_have_no_candidate(text: str) -> None:
    assert not list(rewrite(parse_module(text)))

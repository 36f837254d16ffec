"""Bits of numbers of f64 that a TPU reads from pairs of f32."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.xla.pairs.bits_of_pairs import rewrite, rewrite_inner_bitcasts
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


WIDE, BITS_OF = (f"tensor<?x{name}, #stablehlo.bounds<3>>" for name in ("f64", "ui64"))

SUM_OF_BITS = f"""
func.func @main(%x: tensor<3xf64>, %n: tensor<i32>) -> tensor<ui64> {{
  %0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3xf64>, tensor<i32>) -> {WIDE}
  %1 = stablehlo.bitcast_convert %0 : ({WIDE}) -> {BITS_OF}
  %2 = stablehlo.constant dense<0> : tensor<ui64>
  %3 = stablehlo.reduce(%1 init: %2) applies stablehlo.add across dimensions = [0]
    : ({BITS_OF}, tensor<ui64>) -> tensor<ui64>
  return %3 : tensor<ui64>
}}
"""

LAST = """
func.func @main(%x: tensor<f64>) -> tensor<ui64> {
  %0 = stablehlo.bitcast_convert %x : (tensor<f64>) -> tensor<ui64>
  return %0 : tensor<ui64>
}
"""


def test_bits_of_a_dynamic_size_are_computed_with_as_bits_of_pairs() -> None:
    ((other,),) = rewrite_inner_bitcasts(parse_module(SUM_OF_BITS))
    numbers = np.array([-0.0, -1.0, 1.0])
    (got,) = evaluate(other, [numbers, np.array(2, np.int32)])
    assert int(got) == (0x80000000 + 0xBF800000 << 32) % 2**64
    (got,) = evaluate(other, [numbers, np.array(0, np.int32)])
    assert int(got) == 0


@pytest.mark.parametrize("text", [BITS, SIZE, ARGUMENT, LAST])
def test_bits_that_are_returned_have_no_such_candidate(text: str) -> None:
    assert not list(rewrite_inner_bitcasts(parse_module(text)))


def test_sizes_without_bounds_have_no_candidate() -> None:
    text = SUM_OF_BITS.replace("(%x: tensor<3xf64>, %n: tensor<i32>)", "(%0: tensor<?xf64>)")
    lines = [one for one in text.splitlines() if "set_dimension_size" not in one]
    unbounded = "\n".join(lines).replace("?xf64, #stablehlo.bounds<3>", "?xf64")
    assert not list(rewrite_inner_bitcasts(parse_module(unbounded)))

"""Products and sums that kernels of an NVIDIA H200 round to f16."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.sums_of_products.products_in_loops import F16_PRODUCTS, IN_F16
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES

DOT = """
func.func @main(%x: tensor<2x2xOF>, %y: tensor<2x2xOF>) -> tensor<2x2xTO> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
    : (tensor<2x2xOF>, tensor<2x2xOF>) -> tensor<2x2xTO>
  return %0 : tensor<2x2xTO>
}"""

RAGGED = """
func.func @main(%x: tensor<2x2xOF>, %y: tensor<1x2x2xOF>) -> tensor<2x2xTO> {
  %n = stablehlo.constant dense<2> : tensor<1xi64>
  %0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<
    lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1],
    lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}>
    : (tensor<2x2xOF>, tensor<1x2x2xOF>, tensor<1xi64>) -> tensor<2x2xTO>
  return %0 : tensor<2x2xTO>
}"""

LHS, RHS = [[49152.0, 1.0], [2.0**-15, 0.0]], [[2.5, 1.5], [4.0, 0.0]]
RIGHT = [[122884.0, 73728.0], [2.5 * 2.0**-15, 1.5 * 2.0**-15]]
ROUNDED = [[np.inf, np.inf], RIGHT[1]]
"""49152 * 2.5 and 49152 * 1.5 are more than 65504."""


@pytest.mark.parametrize("text", [DOT, RAGGED])
@pytest.mark.parametrize(
    ("of", "to", "got", "on", "is_rounded"),
    [
        ("f8E5M2FNUZ", "f32", ROUNDED, Hardware.GPU, True),
        ("f8E5M2FNUZ", "f32", [[np.inf, np.inf], [1.0, 1.0]], Hardware.GPU, False),
        ("f8E5M2FNUZ", "f32", [[-np.inf, RIGHT[0][1]], RIGHT[1]], Hardware.GPU, False),
        ("f16", "f32", ROUNDED, Hardware.GPU, False),
        ("f8E5M2FNUZ", "f64", ROUNDED, Hardware.GPU, False),
        ("f8E5M2FNUZ", "f32", ROUNDED, Hardware.CPU, False),
    ],
)
def test_products_of_a_loop_are_rounded_to_f16(
    text: str, of: str, to: str, got: list[list[float]], on: str, is_rounded: bool
) -> None:
    program = parse_module(text.replace("OF", of).replace("TO", to))
    given = [np.array(one).astype(ELEMENT_TYPES[of].storage) for one in (LHS, RHS)]
    if text is RAGGED:
        given[1] = given[1][None]
    expected = evaluate(program, given)
    assert (expected[0] == RIGHT).all()
    actual = [np.array(got).astype(expected[0].dtype)]
    found = judge_operation(program, given, expected, actual, platform=on)
    assert {one.kind == F16_PRODUCTS.label for one in found.failing} == (
        {True} if is_rounded else {False} if got[1] == RIGHT[1] else {True, False}
    )


CONVOLUTION = """
func.func @main(%x: tensor<1x2x2xOF>, %y: tensor<2x2x1xOF>) -> tensor<1x3x1xOF> {
  %0 = stablehlo.convolution(%x, %y) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {pad = [[1, 1]], reverse = [REVERSED]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x2x2xOF>, tensor<2x2x1xOF>) -> tensor<1x3x1xOF>
  return %0 : tensor<1x3x1xOF>
}"""

IMAGE, KERNEL = [[[2048.0, 1.0], [1.0, -2048.0]]], [[[1.0], [1.0]], [[1.0], [1.0]]]
"""The window in the middle has 2048 + 1 + 1 - 2048, which is 0 if each sum is rounded to f16."""


@pytest.mark.parametrize(
    ("of", "middle", "is_reversed", "on", "is_in_f16"),
    [
        ("f16", 0.0, False, Hardware.GPU, True),
        ("f16", 0.0, True, Hardware.GPU, True),
        ("f16", 1.0, False, Hardware.GPU, False),
        ("bf16", 0.0, False, Hardware.GPU, False),
        ("f16", 0.0, False, Hardware.CPU, False),
    ],
)
def test_convolutions_of_a_loop_round_each_sum(
    of: str, middle: float, is_reversed: bool, on: str, is_in_f16: bool
) -> None:
    text = CONVOLUTION.replace("OF", of).replace("REVERSED", str(is_reversed).lower())
    program, storage = parse_module(text), ELEMENT_TYPES[of].storage
    given = [np.array(one).astype(storage) for one in (IMAGE, KERNEL)]
    expected = evaluate(program, given)
    got = expected[0].copy()
    assert got[0, 1, 0] == 2
    got[0, 1, 0] = middle
    found = judge_operation(program, given, expected, [got], platform=on)
    assert (found.kind == IN_F16) == is_in_f16

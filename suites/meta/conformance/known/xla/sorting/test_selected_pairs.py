"""TopK of numbers of f64 that are pairs of f32."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.pairs.float_pairs import LABEL
from conformance.known.xla.sorting.selected_pairs import pair_ranks
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate

TOP = """
func.func @main(%x: tensor<5xf64>) -> (tensor<5xf64>, tensor<5xi32>) {
  %0:2 = "mhlo.topk"(%x) {k = 5 : i64, largest = true} : (tensor<5xf64>)
    -> (tensor<5xf64>, tensor<5xi32>)
  return %0#0, %0#1 : tensor<5xf64>, tensor<5xi32>
}"""
ONE, NEXT = 1.0, 1.0 + 2.0**-40


def test_pairs_are_ranked_by_the_larger_number_then_by_the_other() -> None:
    ordered = np.array([-np.inf, -NEXT, -ONE, -1e-60, -0.0, 0.0, 1e-50, ONE, NEXT, 1e300, np.nan])
    ranks = pair_ranks(ordered)
    assert (np.diff(ranks) >= 0).all()
    assert len(set(ranks.tolist())) == 10  # 0 and 1e-50 are one pair
    assert pair_ranks(np.array(1e200)) == pair_ranks(np.array(np.inf))


@pytest.mark.parametrize(
    ("order", "platform", "is_known"),
    [
        ([2, 4, 0, 1, 3], Hardware.TPU, True),
        ([2, 4, 0, 1, 3], Hardware.GPU, False),
        ([2, 4, 3, 0, 1], Hardware.TPU, False),
        ([4, 2, 0, 3, 1], Hardware.TPU, False),
    ],
)
def test_equal_pairs_come_in_order_of_their_indices(
    order: list[int], platform: str, is_known: bool
) -> None:
    operand = np.array([1e-60, 2e-60, ONE, -0.0, ONE])
    program = parse_module(TOP)
    expected = evaluate(program, [operand])
    assert expected[1].tolist() == [2, 4, 1, 0, 3]
    values = np.where(np.abs(operand) < 1e-50, 0.0, operand)
    values[3] = -0.0
    actual = [values[order], np.array(order, np.int32)]
    found = judge_operation(program, [operand], expected, actual, platform)
    assert ({one.kind for one in found.failing} == {LABEL}) is is_known

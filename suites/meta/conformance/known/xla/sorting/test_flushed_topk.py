"""TopK that takes subnormal numbers for zeros of their sign, and total orders that do."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from conformance.catalog import rule_of
from conformance.judging.compare import judge
from conformance.judging.judgement import Judgement
from conformance.known.xla.sorting.misread_orders import FLUSHED as LABEL
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate

TOPK = """
func.func @main(%x: tensor<4xbf16>) -> (tensor<2xbf16>, tensor<2xi32>) {
  %0:2 = "mhlo.topk"(%x) {k = 2 : i64, largest = false} : (tensor<4xbf16>) -> (tensor<2xbf16>, tensor<2xi32>)
  return %0#0, %0#1 : tensor<2xbf16>, tensor<2xi32>
}"""  # noqa: E501
ROWS = (
    TOPK.replace("4xbf16", "2x3x4xbf16")
    .replace("2xbf16>", "2x3x2xbf16>")
    .replace("2xi32", "2x3x2xi32")
)
SORT = """
func.func @main(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<4xbf16>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}"""
NUMBERS = np.array([1e-39, -8e-40, -9e-39, 1e-40]).astype(ml_dtypes.bfloat16)


def judge_result(text: str, order: list[int]) -> Judgement:
    """Judge the numbers in this order, with their indices where there are two results."""
    program = parse_module(text)
    actual = (NUMBERS[order], np.array(order, np.int32))[: len(program.main.result_types)]
    expected = evaluate(program, [NUMBERS])
    rule = rule_of(program.subject)
    assert rule is not None
    return judge(program, [NUMBERS], expected, list(actual), rule)


def test_the_first_of_the_numbers_of_a_sign_is_taken() -> None:
    assert judge_result(TOPK, [2, 1]).verdict is Verdict.PASS
    found = judge_result(TOPK, [1, 2])
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "subnormal comparison")
    for order in ([1, 0], [0, 1], [2, 3]):  # the signs are told apart, and no number is lost
        assert judge_result(TOPK, order).kind != "subnormal comparison"


RIGHT, FLUSHED, WRONG = [2, 1], [1, 2], [1, 0]


@pytest.mark.parametrize(
    ("orders", "kinds"),
    [
        ([RIGHT, FLUSHED, RIGHT, FLUSHED, RIGHT, RIGHT], {LABEL}),
        ([FLUSHED] * 6, {LABEL}),
        ([RIGHT, FLUSHED, WRONG, FLUSHED, RIGHT, RIGHT], {LABEL, "wrong value"}),
        ([RIGHT] * 5 + [WRONG], {"wrong value"}),
        ([RIGHT] * 6, set()),
    ],
)
def test_each_row_may_be_that_of_flushed_numbers(orders: list[list[int]], kinds: set[str]) -> None:
    program, indices = parse_module(ROWS), np.array(orders, np.int32).reshape(2, 3, 2)
    inputs = np.broadcast_to(NUMBERS, (2, 3, 4)).copy()
    rule = rule_of(program.subject)
    assert rule is not None
    expected = evaluate(program, [inputs])
    found = judge(program, [inputs], expected, [NUMBERS[indices], indices], rule)
    assert {kind for _, kind in found.findings} == kinds
    rows = sum(order == FLUSHED for order in orders)
    predicted = [one.predicted for one in found.failing if one.kind == LABEL]
    assert sum(predicted) == 4 * rows


@pytest.mark.parametrize(
    ("order", "verdict"),
    [
        ([2, 1, 3, 0], Verdict.PASS),
        ([1, 2, 0, 3], Verdict.FLUSHED),
        ([0, 1, 2, 3], Verdict.DIVERGENT),
    ],
)
def test_total_order_keeps_the_signs_of_flushed_numbers(order: list[int], verdict: Verdict) -> None:
    assert judge_result(SORT, order).verdict is verdict

"""Sorts and TopK in the order of other numbers: results with the class, and others."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.sorting.misread_orders import CODES, ROUNDED, rank_by_code, rounded_up
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import ELEMENT_TYPES, Array, from_bits, to_bits
from reference.numerics.rounding import to_float64

_UNIT = 2.0**-18


def _sort(of: str, order: str = "TOTALORDER", stable: str = "false") -> Program:
    return parse_module(f"""
func.func @main(%x: tensor<4x{of}>) -> tensor<4x{of}> {{
  %0 = "stablehlo.sort"(%x) ({{
  ^bb0(%a: tensor<{of}>, %b: tensor<{of}>):
    %1 = stablehlo.compare LT, %a, %b, {order} : (tensor<{of}>, tensor<{of}>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }}) {{dimension = 0 : i64, is_stable = {stable}}} : (tensor<4x{of}>) -> tensor<4x{of}>
  return %0 : tensor<4x{of}>
}}""")


def _top(of: str) -> Program:
    return parse_module(f"""
func.func @main(%x: tensor<4x{of}>) -> (tensor<2x{of}>, tensor<2xi32>) {{
  %0:2 = "mhlo.topk"(%x) {{k = 2 : i64, largest = true}} : (tensor<4x{of}>)
    -> (tensor<2x{of}>, tensor<2xi32>)
  return %0#0, %0#1 : tensor<2x{of}>, tensor<2xi32>
}}""")


def _array(of: str, *numbers: float) -> Array:
    return np.array(numbers).astype(ELEMENT_TYPES[of].storage)


def _kind(program: Program, operand: Array, *actual: Array) -> str:
    judged = judge_operation(program, (operand,), evaluate(program, (operand,)), actual)
    return "" if judged.verdict is Verdict.PASS else judged.kind


@pytest.mark.parametrize("name", ["f6E2M3FN", "f6E3M2FN"])
def test_total_order_of_ranks_equals_order_of_codes(name: str) -> None:
    every = from_bits(np.arange(64, dtype=np.uint8), ELEMENT_TYPES[name])
    ranks = rank_by_code(every)
    assert ranks is not None
    assert len(set(to_bits(ranks).tolist())) == 64
    numbers = to_float64(ranks)
    assert (np.diff(numbers) >= 0).all()
    assert numbers[31] == 0
    assert np.signbit(numbers[31])


def test_only_numbers_subnormal_in_f16_are_rounded_up() -> None:
    numbers = [n * s * _UNIT for s in (1, -1) for n in (2, 4, 6, 8, 10, 12, 14, 16, 20)]
    seen = rounded_up(_array("f8E5M2FNUZ", *numbers))
    assert seen is not None
    up = [2, 4, 6, 16, 16, 16, 16, 16, 20]
    assert (to_float64(seen) / _UNIT).tolist() == [*up, *(-n for n in up)]


def test_a_sort_of_six_bits_by_its_codes_has_the_class_and_no_other_order_has() -> None:
    operand = _array("f6E3M2FN", 0.4375, -0.1875, -0.25, 0.875)
    program = _sort("f6E3M2FN")
    right = evaluate(program, (operand,))[0]
    by_code = operand[np.argsort(to_bits(operand))]
    kinds = {
        tuple(to_bits(operand[list(order)]).tolist()): _kind(program, operand, operand[list(order)])
        for order in permutations(range(4))
    }
    expected = {tuple(to_bits(right).tolist()): "", tuple(to_bits(by_code).tolist()): CODES}
    assert {one: kind for one, kind in kinds.items() if kind in ("", CODES)} == expected


@pytest.mark.parametrize(("stable", "count"), [("true", 1), ("false", 6)])
def test_elements_rounded_up_are_equal_to_a_sort(stable: str, count: int) -> None:
    operand = _array("f8E5M2FNUZ", 14 * _UNIT, 16 * _UNIT, 8 * _UNIT, -1.0)
    program = _sort("f8E5M2FNUZ", stable=stable)
    kinds = [_kind(program, operand, operand[list(order)]) for order in permutations(range(4))]
    right = 1
    assert kinds.count(ROUNDED) == (count if stable == "true" else count - right)
    plain = _sort("f8E5M2FNUZ", "FLOAT", stable)
    assert _kind(plain, operand, operand[[3, 0, 1, 2]]) not in ("", ROUNDED)


def test_top_k_takes_the_largest_of_other_numbers() -> None:
    operand = _array("f6E2M3FN", -7.5, 4.0, -1.0, 2.0)
    program = _top("f6E2M3FN")
    assert _kind(program, operand, operand[[0, 2]], np.array([0, 2], np.int32)) == CODES
    assert _kind(program, operand, operand[[0, 1]], np.array([0, 1], np.int32)) != CODES
    tiny = _array("f8E5M2FNUZ", 8 * _UNIT, 14 * _UNIT, 16 * _UNIT, 0.0)
    program = _top("f8E5M2FNUZ")
    assert _kind(program, tiny, tiny[[0, 1]], np.array([0, 1], np.int32)) == ROUNDED
    assert _kind(program, tiny, tiny[[1, 0]], np.array([1, 0], np.int32)) != ROUNDED


def test_top_k_by_codes_has_no_equal_zeros() -> None:
    """28 has the largest code of a positive number, and -0 the next one."""
    operand = _array("f6E3M2FN", -0.0, -1.0, 28.0, -0.25)
    program = parse_module("""
func.func @main(%x: tensor<4xf6E3M2FN>) -> (tensor<2xf6E3M2FN>, tensor<2xi32>) {
  %0:2 = "mhlo.topk"(%x) {k = 2 : i64, largest = false} : (tensor<4xf6E3M2FN>)
    -> (tensor<2xf6E3M2FN>, tensor<2xi32>)
  return %0#0, %0#1 : tensor<2xf6E3M2FN>, tensor<2xi32>
}""")
    assert _kind(program, operand, operand[[2, 0]], np.array([2, 0], np.int32)) == CODES
    assert _kind(program, operand, operand[[0, 2]], np.array([0, 2], np.int32)) != CODES


def test_misordered_elements_are_not_explained_by_partial_flushing() -> None:
    """Flushing gives some elements of that order by chance."""
    program = parse_module("""
func.func @main(%n: tensor<6xf32>, %x: tensor<6xf6E2M3FN>)
    -> (tensor<6xf32>, tensor<6xf6E2M3FN>) {
  %0:2 = "stablehlo.sort"(%n, %x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f6E2M3FN>, %d: tensor<f6E2M3FN>):
    %1 = stablehlo.compare GT, %c, %d, TOTALORDER
      : (tensor<f6E2M3FN>, tensor<f6E2M3FN>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true}
    : (tensor<6xf32>, tensor<6xf6E2M3FN>) -> (tensor<6xf32>, tensor<6xf6E2M3FN>)
  return %0#0, %0#1 : tensor<6xf32>, tensor<6xf6E2M3FN>
}""")
    keys = _array("f6E2M3FN", 2.5, 3.75, 7.5, 0.375, 0.5, -1.0)
    ranks = rank_by_code(keys)
    assert ranks is not None
    order = np.argsort(-to_float64(ranks), kind="stable")
    inputs = (np.arange(6, dtype=np.float32), keys)
    judged = judge_operation(
        program, inputs, evaluate(program, inputs), [one[order] for one in inputs]
    )
    assert {(one.verdict, one.kind) for one in judged.failing} == {(Verdict.DIVERGENT, CODES)}


def test_comparison_in_total_order_of_six_bits_by_codes_has_the_class() -> None:
    of, truth = "f6E2M3FN", np.array([True, False, False, False])
    program = parse_module(f"""
func.func @main(%x: tensor<4x{of}>, %y: tensor<4x{of}>) -> tensor<4xi1> {{
  %0 = stablehlo.compare GE, %x, %y, TOTALORDER : (tensor<4x{of}>, tensor<4x{of}>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}}""")
    operands = _array(of, -2.0, -2.0, 1.0, -1.0), _array(of, -2.75, 1.0, 2.0, -0.5)
    by_code = to_bits(operands[0]) >= to_bits(operands[1])
    assert by_code.tolist() == [False, True, False, True]
    expected = evaluate(program, operands)
    assert expected[0].tolist() == truth.tolist()

    def kinds(actual: Array) -> set[str]:
        judged = judge_operation(program, operands, expected, (actual,))
        return {one.kind for one in judged.failing}

    assert kinds(by_code) == {CODES}
    assert kinds(truth ^ np.array([False, False, True, False])) == {"wrong value"}

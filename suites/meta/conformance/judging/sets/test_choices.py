"""Unspecified values are often one of few values, and an impossible one fails."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.judging.sets.choices import sets_of_update_orders
from conformance.judging.sets.evaluate import evaluate_sets
from conformance.judging.sets.value_set import ValueSet
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import apply
from reference.ir.types import Array

NUMBERS = np.array([1.0, 5.0, 9.0, 11.0], np.float32)
F32, I32 = np.float32, np.int32
EMPTY = ValueSet.of(np.zeros(0, F32))


def fails(text: str, inputs: Sequence[Array], result: Sequence[float]) -> bool:
    """Return whether a result of a program fails."""
    permitted = PermittedResults(parse_module(text), inputs)
    (expected,) = permitted.expected
    got = np.array(result).astype(expected.dtype).reshape(expected.shape)
    return judge_program(permitted, [got]).verdict.fails


def updates(count: int, body: str) -> str:
    """Return a program that scatters so many updates to one element, and adds ten."""
    return f"""func.func @main(%x: tensor<2xi32>, %u: tensor<{count}xi32>) -> tensor<2xi32> {{
      %i = stablehlo.constant dense<0> : tensor<{count}x1xi32>
      %0 = "stablehlo.scatter"(%x, %i, %u) ({{
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        {body}
      }}) {{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}
        : (tensor<2xi32>, tensor<{count}x1xi32>, tensor<{count}xi32>) -> tensor<2xi32>
      %t = stablehlo.constant dense<10> : tensor<2xi32>
      %1 = stablehlo.add %0, %t : tensor<2xi32>
      return %1 : tensor<2xi32>
    }}"""


LAST = "stablehlo.return %b : tensor<i32>"
DIFFERENCE = "%c = stablehlo.subtract %b, %a : tensor<i32>\n stablehlo.return %c : tensor<i32>"


@pytest.mark.parametrize(
    ("body", "possible", "impossible"),
    [
        (LAST, [20, 30, 50], [10, 25, 40, 100]),
        (DIFFERENCE, [10 + 40 - (20 - (10 - 7)), 10 + 10 - (40 - (20 - 7))], [10, 80]),
    ],
)
def test_any_order_of_updates_and_nothing_else(
    body: str, possible: Sequence[int], impossible: Sequence[int]
) -> None:
    given = [np.array([7, 3], I32), np.array([10, 20, 40], I32)]
    for value in possible:
        assert not fails(updates(3, body), given, [value, 13]), value
    for value in impossible:
        assert fails(updates(3, body), given, [value, 13]), value
    assert fails(updates(3, body), given, [possible[0], 14])


def test_orders_of_many_updates_have_no_sets_of_their_own() -> None:
    given = [np.zeros(2, I32), np.arange(1, 21, dtype=I32)]
    program = parse_module(updates(20, LAST))
    (found,) = evaluate_sets(program, given, "cpu") or [EMPTY]
    assert found.holds(np.array([-1000, 10], I32)).all()
    scatter = program.main.body.operations[1]
    indices = np.zeros((20, 1), I32)
    operands = [given[0], indices, given[1]]
    results = apply(scatter, operands)
    assert sets_of_update_orders(scatter, operands, results) is None


SHUFFLE = """func.func @main(%p: tensor<6xi32>) -> tensor<6xi32> {
  %a = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.constant dense<1.0> : tensor<f32>
  %n = stablehlo.constant dense<6> : tensor<1xi64>
  %k = stablehlo.rng %a, %b, %n, distribution = UNIFORM
    : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<6xf32>
  %0:2 = "stablehlo.sort"(%k, %p) ({
  ^bb0(%c: tensor<f32>, %d: tensor<f32>, %e: tensor<i32>, %f: tensor<i32>):
    %g = stablehlo.compare LT, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %g : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<6xf32>, tensor<6xi32>) -> (tensor<6xf32>, tensor<6xi32>)
  return %0#1 : tensor<6xi32>
}"""


def test_a_sort_by_unspecified_keys_is_a_permutation() -> None:
    given = [np.array([3, 3, 4, 5, 6, 7], I32)]
    assert not fails(SHUFFLE, given, [7, 3, 5, 3, 6, 4])
    assert fails(SHUFFLE, given, [7, 3, 5, 5, 6, 4])
    assert fails(SHUFFLE, given, [7, 3, 5, 3, 6, 8])


def test_equal_keys_of_an_unstable_sort_leave_a_permutation() -> None:
    text = """func.func @main(%k: tensor<4xi32>, %p: tensor<4xf32>) -> tensor<4xf32> {
      %0:2 = "stablehlo.sort"(%k, %p) ({
      ^bb0(%c: tensor<i32>, %d: tensor<i32>, %e: tensor<f32>, %f: tensor<f32>):
        %g = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %g : tensor<i1>
      }) {dimension = 0 : i64, is_stable = false}
        : (tensor<4xi32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
      return %0#1 : tensor<4xf32>
    }"""
    given = [np.zeros(4, I32), np.array([1.0, np.nan, 2.0, 3.0], F32)]
    (found,) = evaluate_sets(parse_module(text), given, "cpu") or [EMPTY]
    assert found.permuted is not None
    for right in ([3.0, 1.0, np.nan, 2.0], [1.0, np.nan, 2.0, 3.0]):
        assert found.holds(np.array(right, F32)).all()
        assert not found.permuted.lost(np.array(right, F32)).any()
    assert not found.holds(np.array([4.0, 1.0, np.nan, 2.0], F32)).all()
    for wrong in ([3.0, 1.0, 1.0, 2.0], [3.0, np.nan, np.nan, 2.0]):
        assert found.permuted.lost(np.array(wrong, F32)).all()


def draws(count: int, operations: str, result: str) -> str:
    """Return a program of operations on `count` times a uniform number, %y."""
    return f"""func.func @main(%t: tensor<4xf32>) -> {result} {{
      %a = stablehlo.constant dense<0.0> : tensor<f32>
      %b = stablehlo.constant dense<1.0> : tensor<f32>
      %n = stablehlo.constant dense<1> : tensor<1xi64>
      %c = stablehlo.constant dense<{count}.0> : tensor<1xf32>
      %u = stablehlo.rng %a, %b, %n, distribution = UNIFORM
        : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<1xf32>
      %y = stablehlo.multiply %u, %c : tensor<1xf32>
      {operations}
    }}"""


FLOOR = """%0 = stablehlo.floor %y : tensor<1xf32>
  return %0 : tensor<1xf32>"""
PICK = """%0 = stablehlo.convert %y : (tensor<1xf32>) -> tensor<1xi32>
  %1 = "stablehlo.gather"(%t, %0) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
    start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}
    : (tensor<4xf32>, tensor<1xi32>) -> tensor<1xf32>
  %2 = stablehlo.negate %1 : tensor<1xf32>
  return %2 : tensor<1xf32>"""


@pytest.mark.parametrize(
    ("count", "operations", "possible", "impossible"),
    [
        (10, FLOOR, [0, 4, 9], [2.5, 11, -1]),
        (3, PICK, [-1, -5, -9, -11], [-3, -10, 1]),
    ],
)
def test_random_numbers_lead_to_few_values(
    count: int, operations: str, possible: Sequence[float], impossible: Sequence[float]
) -> None:
    text = draws(count, operations, "tensor<1xf32>")
    assert not any(fails(text, [NUMBERS], [value]) for value in possible)
    assert all(fails(text, [NUMBERS], [value]) for value in impossible)


BITS = """func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xi32> {
  %0 = stablehlo.divide %x, %y : tensor<3xf32>
  %1 = stablehlo.bitcast_convert %0 : (tensor<3xf32>) -> tensor<3xi32>
  return %1 : tensor<3xi32>
}"""


def test_bits_of_nan_are_those_of_some_nan() -> None:
    given = [np.array([0.0, 1.0, -1.0], F32), np.array([0.0, 1.0, 4.0], F32)]
    one, quarter = 0x3F800000, -0x41800000
    for nan in (0x7FC00000, 0x7F800001, 0x7FFFFFFF, -1, -0x400000, -0x7FFFFF):
        assert not fails(BITS, given, [nan, one, quarter]), nan
    for number in (0, 1, 0x7F800000, -0x800000, one):
        assert fails(BITS, given, [number, one, quarter]), number
    assert fails(BITS, given, [-1, one + 5, quarter])
    assert fails(BITS, given, [-1, one, -quarter])


def test_a_product_that_overflows_may_be_contracted() -> None:
    text = """func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.multiply %x, %x : tensor<f32>
      %1 = stablehlo.add %0, %y : tensor<f32>
      return %1 : tensor<f32>
    }"""
    given = [np.array(1e30, F32), np.array(-np.inf, F32)]
    (found,) = evaluate_sets(parse_module(text), given, "cpu") or [EMPTY]
    assert found.holds(np.array(-np.inf, F32))
    assert found.holds(np.array(np.nan, F32))

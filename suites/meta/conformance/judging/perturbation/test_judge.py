"""Judgement of programs of several operations: permitted, wrong and unspecified results."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import is_single, judge_program
from conformance.stablehlo.parse import parse_module
from conformance.transforms.inline import inline
from conformance.transforms.substitute import embed_free_values
from conformance.verdict import Verdict
from reference.ir.types import Array


def parse_inlined(text: str):
    return inline(parse_module(text)).program


def judge_result(text: str, inputs: list[Array], change=None, result: int = 0):
    """Return the judgement on the reference's own results, result `result` changed."""
    program = parse_inlined(text)
    permitted = PermittedResults(program, inputs)
    actual = [np.array(array) for array in permitted.expected]
    if change is not None:
        actual[result] = np.asarray(change(actual[result])).astype(actual[result].dtype)
    return judge_program(permitted, actual)


def ulps(count: int):
    """Return a change of every element by so many units in the last place."""
    return lambda array: array + count * np.spacing(array)


ARITHMETIC = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<4xf32>
  %1 = stablehlo.add %0, %z : tensor<4xf32>
  return %1 : tensor<4xf32>
}"""
ROUNDED = [np.array([0.1, 1.7, -3.3, 1e9], np.float32)] * 2 + [np.full(4, 0.3, np.float32)]
WHOLE = [np.array([1, 2, -3, 8], np.float32)] * 2 + [np.array([4, 5, 6, 7], np.float32)]


@pytest.mark.parametrize("count", [-1, 0, 1])
def test_a_sum_may_be_off_by_the_rounding_of_its_product(count: int) -> None:
    """0.3 is a small part of 3.3 * 3.3, and a large one of 0.1 * 0.1."""

    def change(place: int):
        def one(array: Array) -> Array:
            array[place] += count * np.spacing(array[place])
            return array

        return one

    assert judge_result(ARITHMETIC, ROUNDED, change(2)).verdict is Verdict.PASS
    is_exact = judge_result(ARITHMETIC, ROUNDED, change(0)).verdict is Verdict.PASS
    assert is_exact == (count == 0)


LAST = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  %1 = stablehlo.NAME %0, %y : tensor<4xf32>
  return %1 : tensor<4xf32>
}"""


@pytest.mark.parametrize("name", ["multiply", "divide", "subtract"])
def test_the_result_of_an_op_that_is_rounded_correctly_has_one_value(name: str) -> None:
    text = LAST.replace("NAME", name)
    assert judge_result(text, ROUNDED[:2]).verdict is Verdict.PASS
    assert judge_result(text, ROUNDED[:2], ulps(1)).verdict is Verdict.INACCURATE


def test_a_fused_multiply_add_is_permitted() -> None:
    def multiply_add(_: Array) -> Array:
        x, y, z = (array.astype(np.float64) for array in ROUNDED)
        return x * y + z

    assert judge_result(ARITHMETIC, ROUNDED, multiply_add).verdict is Verdict.PASS


@pytest.mark.parametrize(("count", "verdict"), [(60, "inaccurate"), (100_000, "divergent")])
def test_rounded_result_may_not_be_off_by_more_roundings(count: int, verdict: str) -> None:
    judgement = judge_result(ARITHMETIC, ROUNDED, ulps(count))
    assert judgement.verdict.value == verdict
    assert judgement.wrong == 4
    assert judgement.elements[0].ulp == count


HIDDEN = """
func.func @main(%x: tensor<f32>, %one: tensor<f32>, %half: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.exponential %x : tensor<f32>
  %1 = stablehlo.multiply %half, %0 : tensor<f32>
  %2 = stablehlo.subtract %one, %1 : tensor<f32>
  return %2 : tensor<f32>
}"""
"""An exponential one ulp larger moves the result, if the subtraction does not move it back."""


def test_rare_permitted_result_passes_and_result_beyond_fails() -> None:
    inputs = [np.array(x, np.float32) for x in (-0.9906463, 1.0, 0.5)]
    assert judge_result(HIDDEN, inputs, ulps(-1)).verdict is Verdict.PASS
    for count in (4, -8):
        assert judge_result(HIDDEN, inputs, ulps(count)).verdict.fails


MOVED = ARITHMETIC.replace("multiply", "maximum").replace("add", "minimum")


@pytest.mark.parametrize(
    ("text", "count", "kind"),
    [
        (ARITHMETIC, 1, "accuracy"),
        (ARITHMETIC, -1, "accuracy"),
        (ARITHMETIC, 1000, "wrong value"),
        (MOVED, 1, "wrong value"),  # nothing rounds
    ],
)
def test_results_that_are_exact_for_these_operands_are_judged_bit_by_bit(
    text: str, count: int, kind: str
) -> None:
    assert judge_result(text, WHOLE).verdict is Verdict.PASS
    judgement = judge_result(text, WHOLE, ulps(count))
    assert judgement.verdict is (Verdict.INACCURATE if kind == "accuracy" else Verdict.DIVERGENT)
    assert judgement.kind == kind


THRESHOLD = """
func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>, %z: tensor<3xf32>)
    -> (tensor<3xi1>, tensor<3xi32>) {
  %0 = stablehlo.multiply %x, %y : tensor<3xf32>
  %1 = stablehlo.compare LT, %0, %z : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %2 = stablehlo.floor %0 : tensor<3xf32>
  %3 = stablehlo.convert %2 : (tensor<3xf32>) -> tensor<3xi32>
  return %1, %3 : tensor<3xi1>, tensor<3xi32>
}"""
NEAR = np.float32(0.1) * np.float32(0.1)
SIDES = [
    np.array([0.1, 0.1, 1.3], np.float32),
    np.array([0.1, 0.1, 1 / 1.3], np.float32),
    np.array([NEAR, 5, 9], np.float32),
]


def test_booleans_that_rounding_decides_may_be_either() -> None:
    def flip_last(array: Array) -> Array:
        return array ^ np.array([True, False, False])

    judgement = judge_result(THRESHOLD, SIDES, flip_last)
    assert judgement.verdict is Verdict.UNSPECIFIED
    assert judgement.kind == "depends on rounding"


def test_booleans_that_rounding_does_not_decide_must_be_equal() -> None:
    judgement = judge_result(THRESHOLD, SIDES, lambda array: array ^ np.array([False, True, False]))
    assert judgement.verdict is Verdict.DIVERGENT


def test_only_integers_next_to_a_jump_may_be_either() -> None:
    at_jump = judge_result(THRESHOLD, SIDES, lambda array: array - np.array([0, 0, 1]), result=1)
    assert at_jump.verdict is Verdict.UNSPECIFIED
    beyond = judge_result(THRESHOLD, SIDES, lambda array: array + np.array([0, 0, 1]), result=1)
    assert beyond.verdict is Verdict.DIVERGENT
    elsewhere = judge_result(THRESHOLD, SIDES, lambda array: array + np.array([0, 1, 0]), result=1)
    assert elsewhere.verdict is Verdict.DIVERGENT


SPECIAL = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %1 = stablehlo.abs %0 : tensor<4xf32>
  %2 = stablehlo.multiply %1, %0 : tensor<4xf32>
  return %2 : tensor<4xf32>
}"""
SPECIALS = np.array([0.0, np.inf, np.nan, 2.0], np.float32)


@pytest.mark.parametrize(
    ("position", "value", "verdict", "kind"),
    [
        (0, 0.0, "divergent", "signed zero"),
        (1, np.inf, "divergent", "wrong value"),
        (1, 3e38, "divergent", "infinity"),
        (1, np.nan, "divergent", "NaN"),
        (2, 0.0, "divergent", "NaN"),
        (2, -np.nan, "pass", ""),
    ],
)
def test_special_values(position: int, value: float, verdict: str, kind: str) -> None:
    def change(array: Array) -> Array:
        array[position] = value
        return array

    judgement = judge_result(SPECIAL, [SPECIALS], change)
    assert (judgement.verdict.value, judgement.kind) == (verdict, kind)


def test_zero_from_rounding_may_have_either_sign() -> None:
    text = """
func.func @main(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<1xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<1xf32>
  %1 = stablehlo.subtract %0, %y : tensor<1xf32>
  return %1 : tensor<1xf32>
}"""
    inputs = [np.array([0.1], np.float32), np.array([NEAR], np.float32)]
    assert judge_result(text, inputs, lambda array: -array).verdict is Verdict.PASS


SUBNORMAL = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi1>) {
  %0 = stablehlo.multiply %x, %y : tensor<2xf32>
  %1 = stablehlo.multiply %0, %y : tensor<2xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<2xf32>
  %2 = stablehlo.compare GT, %0, %zero : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return %1, %2 : tensor<2xf32>, tensor<2xi1>
}"""
SMALL = [np.array([1e-20, 1.0], np.float32), np.array([1e-20, 2.0], np.float32)]


def test_subnormal_intermediate_results_as_zero_have_a_class() -> None:
    flipped = judge_result(
        SUBNORMAL, SMALL, lambda array: array ^ np.array([True, False]), result=1
    )
    assert flipped.verdict is Verdict.FLUSHED
    wrong = judge_result(SUBNORMAL, SMALL, lambda array: array ^ np.array([False, True]), result=1)
    assert wrong.verdict is Verdict.DIVERGENT
    scaled = SUBNORMAL.replace("stablehlo.multiply %0, %y", "stablehlo.divide %0, %y")
    lost = judge_result(scaled, SMALL, lambda array: array * np.array([0, 1]))
    assert lost.verdict is Verdict.FLUSHED


def test_unspecified_results_are_propagated() -> None:
    text = """
func.func @main(%x: tensor<2xi32>, %y: tensor<2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.divide %x, %y : tensor<2xi32>
  %1 = stablehlo.add %0, %x : tensor<2xi32>
  return %1 : tensor<2xi32>
}"""
    inputs = [np.array([7, 8], np.int32), np.array([0, 2], np.int32)]
    opened = judge_result(text, inputs, lambda array: array + np.array([5, 0]))
    assert opened.verdict is Verdict.UNSPECIFIED
    assert opened.kind == "integer division by zero"
    assert (
        judge_result(text, inputs, lambda array: array + np.array([5, 1])).verdict
        is Verdict.DIVERGENT
    )


LOOP = """
func.func private @step(%x: tensor<f32>, %w: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.multiply %x, %w : tensor<f32>
  %1 = stablehlo.tanh %0 : tensor<f32>
  return %1 : tensor<f32>
}
func.func @main(%x: tensor<f32>, %w: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<20> : tensor<i32>
  %r:2 = stablehlo.while(%k = %i, %c = %x) : tensor<i32>, tensor<f32>
  cond {
    %0 = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  } do {
    %0 = func.call @step(%c, %w) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %1, %0 : tensor<i32>, tensor<f32>
  }
  return %r#1, %r#0 : tensor<f32>, tensor<i32>
}"""


def test_loops_and_calls_are_moved_within_too() -> None:
    inputs = [np.array(0.7, np.float32), np.array(1.3, np.float32)]
    assert judge_result(LOOP, inputs, ulps(4)).verdict is Verdict.PASS
    assert judge_result(LOOP, inputs, ulps(100_000)).verdict is Verdict.DIVERGENT
    assert judge_result(LOOP, inputs, lambda n: n + 1, result=1).verdict is Verdict.DIVERGENT


def test_complex_numbers_may_be_off_in_either_part() -> None:
    text = """
func.func @main(%x: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  %0 = stablehlo.multiply %x, %x : tensor<2xcomplex<f32>>
  %1 = stablehlo.multiply %0, %x : tensor<2xcomplex<f32>>
  return %1 : tensor<2xcomplex<f32>>
}"""
    inputs = [np.array([0.1 + 3j, 1.3 - 0.7j], np.complex64)]

    def rotation_by(angle: float):
        return lambda array: array * np.exp(1j * angle)

    assert judge_result(text, inputs, rotation_by(1e-7)).verdict is Verdict.PASS
    assert judge_result(text, inputs, rotation_by(1e-2)).verdict is Verdict.DIVERGENT


def test_a_fourier_transform_may_be_off_by_the_error_of_a_transform() -> None:
    size = 128
    text = f"""
func.func @main(%x: tensor<{size}xf32>) -> tensor<{size // 2 + 1}xcomplex<f32>> {{
  %0 = stablehlo.negate %x : tensor<{size}xf32>
  %1 = stablehlo.fft %0, type = RFFT, length = [{size}]
    : (tensor<{size}xf32>) -> tensor<{size // 2 + 1}xcomplex<f32>>
  return %1 : tensor<{size // 2 + 1}xcomplex<f32>>
}}"""
    given = [np.random.default_rng(1).uniform(0, 1, size).astype(np.float32)]
    assert judge_result(text, given, lambda found: found + np.float32(1e-5)).verdict is Verdict.PASS

    def move_the_sum(found: Array) -> Array:
        return found - np.where(np.arange(found.size) == 0, np.float32(3e-4), 0)

    assert judge_result(text, given, move_the_sum).verdict is Verdict.INACCURATE


def test_wrong_results_altogether() -> None:
    permitted = PermittedResults(parse_inlined(ARITHMETIC), ROUNDED)
    assert judge_program(permitted, []).kind == "wrong type"
    assert judge_program(permitted, [np.zeros(3, np.float32)]).kind == "wrong type"
    assert judge_program(permitted, [np.zeros(4)]).kind == "wrong type"


COMPARATOR = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %limit = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.negate %x : tensor<4xf32>
  %1 = "stablehlo.sort"(%0) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.minimum %a, %limit : tensor<f32>
    %3 = stablehlo.minimum %b, %limit : tensor<f32>
    %4 = stablehlo.compare LT, %2, %3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}"""


def test_comparator_using_outer_values_is_judged() -> None:
    inputs = [np.array([3, 1, -2, 5], np.float32)]
    assert judge_result(COMPARATOR, inputs).verdict is Verdict.PASS
    assert judge_result(COMPARATOR, inputs, lambda a: a[::-1]).verdict is Verdict.DIVERGENT
    sort = parse_inlined(COMPARATOR).main.body.operations[2]
    limit = next(v for o in sort.regions[0].operations for v in o.operands if "a" not in v.name)
    inside = (
        embed_free_values(sort, {limit.name: np.array(2.0, np.float32)}).regions[0].operations[0]
    )
    assert inside.name == "constant"
    assert embed_free_values(sort, {}) is sort


def test_one_operation_is_judged_by_its_own_rule() -> None:
    one = "func.func @main(%x: tensor<f32>) -> tensor<f32> {{\n{}\n}}"
    add = "%0 = stablehlo.add %x, %x : tensor<f32>\nreturn %0 : tensor<f32>"
    assert is_single(parse_inlined(one.format(add)))
    assert not is_single(parse_inlined(one.format("return %x : tensor<f32>")))
    assert not is_single(parse_inlined(ARITHMETIC))

"""Hypotheses about any op: reciprocals, roundings, and subnormal numbers read as zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.judging.judgement import Judgement
from conformance.known.in_f32 import is_narrow
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.program import tensor_of as tensor_type_of
from reference.ir.types import ELEMENT_TYPES, Array, from_bits
from suites.meta.support.small_programs import are_same, array, op_program, tensor_of

FIFTH = float(np.float32(5) * (np.float32(1) / np.float32(3)))
"""The product of 5 with the rounded reciprocal of 3, which is not the rounded quotient."""
E8 = "f8E8M0FNU"
"""1 / 2^127 is a number of this type, and subnormal in f32. The type has no zero."""


@pytest.mark.parametrize(
    ("op", "operands", "got", "of", "to", "kind"),
    [
        ("divide", [[5.0], [3.0]], FIFTH, "f32", "f32", "reciprocal"),
        ("divide", [[5.0], [3.0]], 2 * FIFTH, "f32", "f32", "wrong value"),
        ("multiply", [[5.0], [3.0]], FIFTH, "f32", "f32", "wrong value"),
        ("divide", [[2.0], [2.0**127]], np.nan, E8, E8, "reciprocal"),
        ("divide", [[2.0], [2.0**126]], np.nan, E8, E8, "NaN"),
        ("divide", [[2.0], [2.0**127]], 2.0**-125, E8, E8, "accuracy"),
        # 1 + 2^-8 is halfway between two numbers of bf16
        ("add", [[1.0], [2.0**-8]], 1 + 2.0**-7, "bf16", "bf16", "tie rounding"),
        ("add", [[1.0], [2.0**-9]], 1 + 2.0**-7, "bf16", "bf16", "accuracy"),
        # over a tie of f8E4M3FN; rounded to f16 first, it is the tie
        ("convert", [[1 + 2.0**-4 + 2.0**-30]], 1.0, "f64", "f8E4M3FN", "double rounding"),
        ("convert", [[1 + 2.0**-4 + 2.0**-30]], 1.25, "f64", "f8E4M3FN", "accuracy"),
    ],
)
def test_results_of_other_roundings_have_their_class(
    op: str, operands: list[list[float]], got: float, of: str, to: str, kind: str
) -> None:
    program = op_program(op, [tensor_of(1, of=of)] * len(operands), tensor_of(1, of=to))
    inputs = [array(operand, of) for operand in operands]
    actual = array([got], to)
    assert not are_same([actual], evaluate(program, inputs))
    assert judge_operation(program, inputs, evaluate(program, inputs), [actual]).kind == kind


NARROW = E8

NAN, ONE, TWO = 255, 127, 128
"""Bits of numbers: 2^(bits - 127)."""

NARROW_REDUCE = """
func.func @main(%x: tensor<3xf8E8M0FNU>, %i: tensor<f8E8M0FNU>) -> tensor<f8E8M0FNU> {{
  %0 = "stablehlo.reduce"(%x, %i) ({{
  ^bb0(%a: tensor<f8E8M0FNU>, %b: tensor<f8E8M0FNU>):
    %1 = stablehlo.{} %a, %b : tensor<f8E8M0FNU>
    stablehlo.return %1 : tensor<f8E8M0FNU>
  }}) {{dimensions = array<i64: 0>}} : (tensor<3xf8E8M0FNU>, tensor<f8E8M0FNU>) -> tensor<f8E8M0FNU>
  return %0 : tensor<f8E8M0FNU>
}}"""

NARROW_SORT = """
func.func @main(%x: tensor<3xf8E8M0FNU>) -> tensor<3xf8E8M0FNU> {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f8E8M0FNU>, %b: tensor<f8E8M0FNU>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f8E8M0FNU>, tensor<f8E8M0FNU>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<3xf8E8M0FNU>) -> tensor<3xf8E8M0FNU>
  return %0 : tensor<3xf8E8M0FNU>
}"""


def powers(*bits: int) -> Array:
    return from_bits(np.array(bits, np.uint8), ELEMENT_TYPES[NARROW])


def judge_result(
    program: Program, operands: list[Array], actual: Array, platform="cpu"
) -> Judgement:
    expected = evaluate(program, operands)
    return judge_operation(program, operands, expected, [actual], platform)


def elementwise(op: str, operands: list[list[int]], actual: list[int], **given) -> Judgement:
    of, inputs = tensor_of(len(actual), of=NARROW), [powers(*x) for x in operands]
    program = op_program(op, [of] * len(operands), of)
    return judge_result(program, inputs, powers(*actual), **given)


@pytest.mark.parametrize(
    ("op", "operands", "actual"),
    [
        ("rsqrt", [[0, TWO + 1]], [NAN, ONE - 1]),
        ("minimum", [[0, 5], [9, 9]], [NAN, 5]),
        ("multiply", [[1, 5], [ONE - 1, ONE]], [NAN, 5]),  # a result that is subnormal in f32
        ("add", [[0, 9], [9, 9]], [9, 10]),  # as expected
        ("sqrt", [[0, ONE]], [NAN, ONE]),
    ],
)
def test_elements_that_f32_flushes_have_one_class_in_each_op(
    op: str, operands: list[list[int]], actual: list[int]
) -> None:
    found = elementwise(op, operands, actual)
    assert found.kind == ("flushed" if NAN in actual else "")
    # neither the value next to the predicted one, nor a NaN where nothing is flushed
    for wrong in ([3, actual[1]], [actual[0], NAN]):
        if wrong[0] != actual[0] or NAN not in actual:
            assert elementwise(op, operands, wrong).kind not in ("", "flushed")
        else:
            assert (elementwise(op, operands, wrong).wrong, found.wrong) == (2, 1)


def test_wrong_elements_beside_flushed_elements_have_another_class() -> None:
    found = elementwise("rsqrt", [[0, TWO + 1]], [NAN, NAN])
    assert {kind for _, kind in found.findings} == {"flushed", "NaN"}


def test_interpreter_flushes_nothing() -> None:
    assert elementwise("sqrt", [[0]], [NAN], platform=Hardware.INTERPRETER).kind == "NaN"


def test_a_flushed_operand_may_make_a_number() -> None:
    program = op_program("convert", [tensor_of(2, of=NARROW)], tensor_of(2, of="i1"))
    assert judge_result(program, [powers(0, 1)], np.array([False, True])).kind == "flushed"
    assert judge_result(program, [powers(0, 1)], np.array([True, False])).kind == "wrong value"


def test_each_step_of_a_body_may_be_rounded_to_the_narrow_type() -> None:
    """max(2^-127, 2^-127) is NaN then, and so is all that comes after, in some order."""
    reduced = parse_module(NARROW_REDUCE.format("maximum"))
    for bits, got, kind in (
        ([0, 0, ONE], NAN, "flushed"), ([0, 5, ONE], NAN, "NaN"), ([0, 0, ONE], TWO, "wrong value"),
    ):  # fmt: skip
        init = powers(1)[0] if kind == "NaN" else powers(0)[0]
        inputs = [powers(*bits), np.asarray(init)]
        assert judge_result(reduced, inputs, powers(got).reshape(())).kind == kind


def test_elements_of_a_sort_are_flushed() -> None:
    sort = parse_module(NARROW_SORT)
    assert judge_result(sort, [powers(5, 0, 9)], powers(NAN, 5, 9)).kind == "flushed"
    beside = judge_result(sort, [powers(5, 0, 9)], powers(NAN, 5, 8))
    assert {kind for _, kind in beside.findings} == {"flushed", "no possible order"}


T = 2.0**-130
"""A subnormal number of f32."""

REDUCED = """
func.func @main(%x: tensor<2x3xf32>, %i: tensor<f32>) -> tensor<2xf32> {
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.OP across dimensions = [1]
    : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"""
SORTED = """
func.func @main(%x: tensor<3xf32>, %y: tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>) {
  %0:2 = "stablehlo.sort"(%x, %y) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true}
    : (tensor<3xf32>, tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>)
  return %0#0, %0#1 : tensor<3xf32>, tensor<3xi32>
}"""
MAXIMUM = op_program("maximum", [tensor_of(1)] * 2, tensor_of(1))
GREATEST, SUM, SORT = (
    parse_module(one)
    for one in (REDUCED.replace("OP", "maximum"), REDUCED.replace("OP", "add"), SORTED)
)
ROWS = [[-T, T, 2 * T], [1, T, 2]]
SORTED_ALIKE = [[-1.0, T, -T], [1, 0, 2]]


@pytest.mark.parametrize(
    ("program", "operands", "results", "kinds"),
    [
        (MAXIMUM, [[T], [-T]], [[-T]], {"flushed"}),
        (MAXIMUM, [[T], [0.0]], [[0.0]], {"flushed"}),
        (MAXIMUM, [[T], [-T]], [[-0.0]], {"flushed"}),  # the selected number is flushed, too
        (MAXIMUM, [[T], [2 * T]], [[-0.0]], {"wrong value"}),
        (MAXIMUM, [[T], [-T]], [[2 * T]], {"wrong value"}),
        (MAXIMUM, [[2 * T], [1.0]], [[2 * T]], {"wrong value"}),
        (GREATEST, [ROWS, 0.0], [[-T, 2]], {"flushed"}),
        (GREATEST, [ROWS, 0.0], [[T, 1]], {"flushed", "wrong value"}),
        (GREATEST, [ROWS, 0.0], [[0, 2]], {"flushed"}),  # the init value
        (GREATEST, [ROWS, 0.0], [[3 * T, 2]], {"wrong value"}),
        (SUM, [ROWS, 0.0], [[-T, 1 + T + 2]], {"wrong value"}),
        # a stable sort keeps the order of equal elements
        (SORT, [[T, -1.0, -T], [0, 1, 2]], SORTED_ALIKE, {"flushed"}),
        (SORT, [[1.0, -1.0, 0.5], [0, 1, 2]], SORTED_ALIKE, {"no possible order"}),
        (SORT, [[1.0, -1.0, 0.5], [0, 1, 2]], [[-1.0, 1.0, 0.5], [1, 0, 2]], {"wrong value"}),
    ],
)
def test_selections_among_subnormal_numbers_are_flushed(
    program: Program, operands: list[Any], results: list[Any], kinds: set[str]
) -> None:
    types = [tensor_type_of(value) for value in program.main.arguments]
    inputs = [
        np.array(operand).astype(of.storage) for operand, of in zip(operands, types, strict=True)
    ]
    expected = evaluate(program, inputs)
    actual = [np.array(got).astype(one.dtype) for got, one in zip(results, expected, strict=True)]
    found = judge_operation(program, inputs, expected, actual)
    assert ({kind for _, kind in found.findings} or {found.kind}) == kinds


def test_affected_types_have_normal_numbers_subnormal_in_f32() -> None:
    assert [name for name, of in ELEMENT_TYPES.items() if is_narrow(of)] == [NARROW]

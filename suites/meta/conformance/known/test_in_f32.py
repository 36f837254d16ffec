"""Numbers of narrow types that f32 flushes."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.judging.judgement import Judgement
from conformance.known.in_f32 import is_narrow
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import ELEMENT_TYPES, Array, from_bits
from suites.meta.support.small_programs import op_program, tensor_of

OF = "f8E8M0FNU"
NAN, ONE, TWO = 255, 127, 128
"""Bits of numbers: 2^(bits - 127)."""

REDUCE = """
func.func @main(%x: tensor<3xf8E8M0FNU>, %i: tensor<f8E8M0FNU>) -> tensor<f8E8M0FNU> {{
  %0 = "stablehlo.reduce"(%x, %i) ({{
  ^bb0(%a: tensor<f8E8M0FNU>, %b: tensor<f8E8M0FNU>):
    %1 = stablehlo.{} %a, %b : tensor<f8E8M0FNU>
    stablehlo.return %1 : tensor<f8E8M0FNU>
  }}) {{dimensions = array<i64: 0>}} : (tensor<3xf8E8M0FNU>, tensor<f8E8M0FNU>) -> tensor<f8E8M0FNU>
  return %0 : tensor<f8E8M0FNU>
}}"""
SORT = """
func.func @main(%x: tensor<3xf8E8M0FNU>) -> tensor<3xf8E8M0FNU> {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f8E8M0FNU>, %b: tensor<f8E8M0FNU>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f8E8M0FNU>, tensor<f8E8M0FNU>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<3xf8E8M0FNU>) -> tensor<3xf8E8M0FNU>
  return %0 : tensor<3xf8E8M0FNU>
}"""


def powers(*bits: int) -> Array:
    return from_bits(np.array(bits, np.uint8), ELEMENT_TYPES[OF])


def judge_result(
    program: Program, operands: list[Array], actual: Array, platform="cpu"
) -> Judgement:
    expected = evaluate(program, operands)
    return judge_operation(program, operands, expected, [actual], platform)


def elementwise(op: str, operands: list[list[int]], actual: list[int], **given) -> Judgement:
    of, inputs = tensor_of(len(actual), of=OF), [powers(*x) for x in operands]
    program = op_program(op, [of] * len(operands), of)
    return judge_result(program, inputs, powers(*actual), **given)


def test_affected_types_have_normal_numbers_subnormal_in_f32() -> None:
    assert [name for name, of in ELEMENT_TYPES.items() if is_narrow(of)] == [OF]


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
    program = op_program("convert", [tensor_of(2, of=OF)], tensor_of(2, of="i1"))
    assert judge_result(program, [powers(0, 1)], np.array([False, True])).kind == "flushed"
    assert judge_result(program, [powers(0, 1)], np.array([True, False])).kind == "wrong value"


def test_each_step_of_a_body_may_be_rounded_to_the_narrow_type() -> None:
    """max(2^-127, 2^-127) is NaN then, and so is all that comes after, in some order."""
    reduced = parse_module(REDUCE.format("maximum"))
    for bits, got, kind in (
        ([0, 0, ONE], NAN, "flushed"), ([0, 5, ONE], NAN, "NaN"), ([0, 0, ONE], TWO, "wrong value"),
    ):  # fmt: skip
        init = powers(1)[0] if kind == "NaN" else powers(0)[0]
        inputs = [powers(*bits), np.asarray(init)]
        assert judge_result(reduced, inputs, powers(got).reshape(())).kind == kind


def test_elements_of_a_sort_are_flushed() -> None:
    sort = parse_module(SORT)
    assert judge_result(sort, [powers(5, 0, 9)], powers(NAN, 5, 9)).kind == "flushed"
    beside = judge_result(sort, [powers(5, 0, 9)], powers(NAN, 5, 8))
    assert {kind for _, kind in beside.findings} == {"flushed", "no possible order"}

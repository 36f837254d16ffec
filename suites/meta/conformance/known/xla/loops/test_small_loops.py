"""Loops over little memory, in which FNUZ types are rounded otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.loops.small_loops import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.triage.audit import audit
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from suites.meta.support.small_programs import array

ROUNDED_UP = [2.0**-14, -(2.0**-14), 2.0**-14, 2.0**-16]
OF_FIVE_BITS = [1.75 * 2.0**-15, -(2.0**-15), 2.0**-14, 2.0**-16]


LOOP = """
func.func @main(%n: tensor<i32>, %x: OF, %y: OF) -> (tensor<i32>, OF) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = "stablehlo.while"(%zero, %x) ({
  ^bb0(%a: tensor<i32>, %b: OF):
    %1 = stablehlo.compare LT, %a, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: OF):
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %a, %one : tensor<i32>
    %2 = stablehlo.OPERATION : OF
    stablehlo.return %1, %2 : tensor<i32>, OF
  }) : (tensor<i32>, OF) -> (tensor<i32>, OF)
  return %0#0, %0#1 : tensor<i32>, OF
}"""


def loop(of: str, operation: str) -> Program:
    """Return a loop over elements of a type, which iterates as often as its first argument says."""
    return parse_module(LOOP.replace("OPERATION", operation).replace("OF", f"tensor<4x{of}>"))


def kind(program: Program, x: Array, y: Array, actual: list[float]) -> str:
    """Return the class of these results of a loop; nothing where they are right."""
    inputs = (np.array(1, np.int32), x, y)
    results = (inputs[0], np.array(actual).astype(x.dtype))
    judged = judge_operation(program, inputs, evaluate(program, inputs), results)
    return "" if judged.verdict is Verdict.PASS else judged.kind


@pytest.mark.parametrize(
    ("of", "operation", "x", "actual", "expected"),
    [
        ("f8E5M2FNUZ", "negate %b", OF_FIVE_BITS, [-one for one in ROUNDED_UP], LABEL),
        ("f8E5M2FNUZ", "reverse %b, dims = [0]", OF_FIVE_BITS, ROUNDED_UP[::-1], LABEL),
        ("f8E5M2FNUZ", "negate %b", OF_FIVE_BITS, [-one for one in OF_FIVE_BITS], ""),
        # what is under the smallest normal number is right, and so is what is none of it in f16
        ("f8E5M2FNUZ", "negate %b", [2.0**-16] * 4, [-(2.0**-14)] * 4, "wrong value"),
        ("f8E5M2", "negate %b", OF_FIVE_BITS, [-one for one in ROUNDED_UP], "wrong value"),
        # -2^-9 / 2 becomes zero; as f16, so does -2^-10 * 2^-10 before it is rounded
        (
            "f8E4M3FNUZ",
            "multiply %b, %y",
            [-(2.0**-10), 0, 1, 2.0**-10],
            [np.nan, 0, 0.25, 0],
            LABEL,
        ),
        ("f8E4M3FNUZ", "multiply %b, %b", [-(2.0**-10), 0, 1, 2], [0, 0, 1, 4], ""),
        ("f8E4M3FNUZ", "multiply %b, %y", [2.0**-10, 0, 1, 2], [np.nan, 0, 0.25, 0.5], "NaN"),
    ],
)
def test_result_of_small_loop_has_the_class(
    of: str, operation: str, x: list[float], actual: list[float], expected: str
) -> None:
    assert kind(loop(of, operation), array(x, of), array([0.25] * 4, of), actual) == expected


@pytest.mark.parametrize(
    ("of", "actual", "expected"),
    [
        ("f8E4M3FN", [-0.0, -0.0, np.nan, 448], LABEL),
        ("f8E4M3FN", [np.nan, np.nan, -0.0, 448], "NaN"),
        ("f8E4M3FN", [0.0, np.nan, np.nan, 448], "NaN"),
        ("f8E4M3FN", [np.nan, np.nan, np.nan, 448], ""),
        ("f8E5M2", [-0.0, -512, 704, 448], "wrong value"),
    ],
)
def test_the_carry_of_rounding_sets_the_sign_of_zero(
    of: str, actual: list[float], expected: str
) -> None:
    x, y = [256, -256, 448, 208], [240, -240, 240, 240]
    assert kind(loop(of, "add %b, %y"), array(x, of), array(y, of), actual) == expected


def test_values_around_a_loop_are_right() -> None:
    program = loop("f8E5M2FNUZ", "optimization_barrier %b")
    x = array(OF_FIVE_BITS, "f8E5M2FNUZ")
    assert kind(program, x, x, ROUNDED_UP) == "wrong value"


def test_body_using_outer_values_predicts_nothing() -> None:
    body = """"stablehlo.map"(%b) <{dimensions = array<i64: 0>}> ({
      ^bb0(%c: tensor<f8E5M2FNUZ>):
        %3 = stablehlo.convert %n : (tensor<i32>) -> tensor<f8E5M2FNUZ>
        %4 = stablehlo.multiply %c, %3 : tensor<f8E5M2FNUZ>
        stablehlo.return %4 : tensor<f8E5M2FNUZ>
      }) : (tensor<4xf8E5M2FNUZ>) -> tensor<4xf8E5M2FNUZ>"""
    text = LOOP.replace("stablehlo.OPERATION : OF", body).replace("OF", "tensor<4xf8E5M2FNUZ>")
    program = parse_module(text)
    x = array(OF_FIVE_BITS, "f8E5M2FNUZ")
    assert kind(program, x, x, ROUNDED_UP) == "wrong value"


def test_a_loop_in_a_program_of_several_operations_is_of_the_class_as_a_whole() -> None:
    of = "tensor<4xf8E5M2FNUZ>"
    text = LOOP.replace("OPERATION", "negate %b").replace("OF", of)
    text = text.replace("  return", f"  %z = stablehlo.add %0#1, %y : {of}\n  return", 1)
    program = parse_module(text.replace("return %0#0, %0#1", "return %0#0, %z"))
    x = array(OF_FIVE_BITS, "f8E5M2FNUZ")

    def run(subject: Program, sets: Sequence[Sequence[Array]]) -> list[list[Array]]:
        def on_result(operation: Operation, results: tuple[Array, ...]) -> tuple[Array, ...]:
            wrong = np.array([-one for one in ROUNDED_UP]).astype(x.dtype)
            return (results[0], wrong) if operation.name == "while" else results

        return [list(evaluate(subject, one, on_result=on_result)) for one in sets]

    found = audit(run, "cpu", program, (np.array(1, np.int32), x, x), [0, 1])
    assert found is not None
    assert [(one.operation.name, one.judgement.kind) for one in found.wrong] == [("while", LABEL)]


def test_slices_returned_by_scan_are_rounded() -> None:
    of = "f8E5M2FNUZ"
    program = parse_module(f"""
func.func @main(%x: tensor<4x{of}>, %i: tensor<{of}>) -> (tensor<4x{of}>, tensor<{of}>) {{
  %0:2 = "mhlo.scan"(%x, %i) ({{
  ^bb0(%a: tensor<{of}>, %b: tensor<{of}>):
    stablehlo.return %a, %b : tensor<{of}>, tensor<{of}>
  }}) {{dimension = 0 : i64, is_reverse = false, operandSegmentSizes = array<i32: 1, 1>,
    resultSegmentSizes = array<i32: 1, 1>}}
    : (tensor<4x{of}>, tensor<{of}>) -> (tensor<4x{of}>, tensor<{of}>)
  return %0#0, %0#1 : tensor<4x{of}>, tensor<{of}>
}}""")
    inputs = (array(OF_FIVE_BITS, of), array(OF_FIVE_BITS[0], of))
    expected = evaluate(program, inputs)
    for carried, label in ((OF_FIVE_BITS[0], LABEL), (ROUNDED_UP[0], "accuracy")):
        actual = (array(ROUNDED_UP, of), array(carried, of))
        kinds = {one.kind for one in judge_operation(program, inputs, expected, actual).failing}
        assert label in kinds


def test_slices_read_by_scan_are_not_rounded_before_they_are_added() -> None:
    """2^-16 + 2^-15 would be 2^-16 + 2^-14 otherwise; the sum itself is rounded up to 2^-14."""
    of = "f8E5M2FNUZ"
    program = parse_module(f"""
func.func @main(%x: tensor<1x{of}>, %i: tensor<{of}>) -> (tensor<1x{of}>, tensor<{of}>) {{
  %0:2 = "mhlo.scan"(%x, %i) ({{
  ^bb0(%a: tensor<{of}>, %b: tensor<{of}>):
    %1 = stablehlo.add %a, %b : tensor<{of}>
    stablehlo.return %a, %1 : tensor<{of}>, tensor<{of}>
  }}) {{dimension = 0 : i64, is_reverse = false, operandSegmentSizes = array<i32: 1, 1>,
    resultSegmentSizes = array<i32: 1, 1>}}
    : (tensor<1x{of}>, tensor<{of}>) -> (tensor<1x{of}>, tensor<{of}>)
  return %0#0, %0#1 : tensor<1x{of}>, tensor<{of}>
}}""")
    inputs = (array([2.0**-15], of), array(2.0**-16, of))
    expected = evaluate(program, inputs)
    for sum_, kinds in ((2.0**-14, {LABEL}), (2.0**-14 + 2.0**-16, {LABEL, "accuracy"})):
        actual = (array([2.0**-14], of), array(sum_, of))
        found = judge_operation(program, inputs, expected, actual).failing
        assert {one.kind for one in found} == kinds

"""Signs of zeros that a fused multiply-add makes of tiny numbers, which the product rounds to 0."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.backends.session import open_session
from conformance.judging.judgement import Judgement
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.judging.perturbation.tiny_numbers import Tiny, tiny_of
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.interpreter.evaluate import apply
from suites.meta.support.small_programs import array, op_program, tensor_of

PROGRAM = """
func.func @main(%a: tensor<1x{of}>, %b: tensor<1x{of}>, %c: tensor<1x{of}>) -> tensor<1x{of}> {{
  %m = stablehlo.multiply %a, %b : tensor<1x{of}>
  {between}
  %0 = stablehlo.{last} : tensor<1x{of}>
  return %0 : tensor<1x{of}>
}}"""
NEGATE = "%n = stablehlo.negate %m : tensor<1xf32>"
RESHAPE = """%r = stablehlo.reshape %m : (tensor<1xf32>) -> tensor<1x1xf32>
  %n = stablehlo.reshape %r : (tensor<1x1xf32>) -> tensor<1xf32>"""
SELECT = """%p = stablehlo.compare LT, %b, %c : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  %n = stablehlo.select %p, %m, %c : tensor<1xi1>, tensor<1xf32>"""
BARRIER = "%n = stablehlo.optimization_barrier %m : tensor<1xf32>"
TWICE = "%n = stablehlo.multiply %m, %a : tensor<1xf32>"
QUOTIENT = "%n = stablehlo.divide %m, %a : tensor<1xf32>"
SUM = """
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<f32>) -> tensor<f32> {
  %m = stablehlo.multiply %a, %b : tensor<2xf32>
  %0 = stablehlo.reduce(%m init: %c) applies stablehlo.add across dimensions = [0]
    : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}"""


def judge_result(
    text: str, inputs: list[object], expected: float, got: float, of: str
) -> Judgement:
    """Return the judgement on a single result; the reference must compute `expected`."""
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[of]
    permitted = PermittedResults(parse_module(text), [np.array(one, dtype) for one in inputs])
    (result,) = permitted.expected
    assert np.signbit(result).all() == np.signbit(expected)
    assert (result == expected).all()
    return judge_program(permitted, [np.full(result.shape, got, dtype)])


@pytest.mark.parametrize(
    ("a", "b", "c", "between", "last", "of"),
    [
        (1e-30, -1e-30, 0.0, "", "add %m, %c", "f32"),
        (1e-30, -1e-30, 0.0, "", "add %c, %m", "f32"),
        (1e-200, -1e-200, 0.0, "", "add %m, %c", "f64"),
        (1e-5, -1e-5, 0.0, "", "add %m, %c", "f16"),
        (1e-30, 1e-30, 0.0, "", "subtract %c, %m", "f32"),
        (1e-30, 1e-30, 0.0, NEGATE, "add %n, %c", "f32"),
        (1e-30, -1e-30, 0.0, RESHAPE, "add %n, %c", "f32"),
        (1e-30, -1e-30, 0.0, SELECT, "add %n, %c", "f32"),
        (-1e-30, 1e-30, 0.0, TWICE, "subtract %c, %n", "f32"),
        (-1e-30, 1e-30, 0.0, QUOTIENT, "subtract %c, %n", "f32"),
        (1e-30, -1e-30, 0.0, "%n = stablehlo.add %m, %c : tensor<1xf32>", "add %n, %c", "f32"),
    ],
)
def test_a_tiny_negative_number_may_be_rounded_once(
    a: float, b: float, c: float, between: str, last: str, of: str
) -> None:
    text = PROGRAM.format(of=of, between=between, last=last)
    inputs: list[object] = [[a], [b], [c]]
    assert judge_result(text, inputs, 0.0, -0.0, of).verdict is Verdict.PASS
    smallest = float(np.finfo(np.dtype(f"float{of[1:]}")).smallest_subnormal)
    for wrong in (smallest, -smallest):
        assert judge_result(text, inputs, 0.0, wrong, of).verdict.fails


@pytest.mark.parametrize(
    ("a", "b", "c", "between", "last", "expected"),
    [
        (0.0, -1.0, 0.0, "", "add %m, %c", 0.0),  # the product is zero, and has a sign
        (1e-30, 1e-30, 0.0, "", "add %m, %c", 0.0),  # tiny, but positive
        (1e-30, 1e-30, -0.0, "", "add %m, %c", 0.0),
        (1e-30, -1e-30, -0.0, "", "add %m, %c", -0.0),
        (1e-30, -1e-30, 0.0, "", "subtract %c, %m", 0.0),
        (1e-30, -1e-30, 0.0, NEGATE, "add %n, %c", 0.0),
        (1e-30, -1e-30, 0.0, BARRIER, "add %n, %c", 0.0),  # the program keeps what was rounded
        (1e-30, -1e-30, 0.0, "", "maximum %m, %m", -0.0),  # no sum: the sign is the product's
        (1e-30, -1e-30, 1.0, "", "multiply %m, %c", -0.0),
        (2.0, -3.0, 6.0, "", "add %m, %c", 0.0),  # exact
    ],
)
def test_other_zeros_keep_their_signs(
    a: float, b: float, c: float, between: str, last: str, expected: float
) -> None:
    text = PROGRAM.format(of="f32", between=between, last=last)
    found = judge_result(text, [[a], [b], [c]], expected, -expected, "f32")
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "signed zero")


def test_a_sum_of_tiny_products_may_have_their_sign() -> None:
    tiny: list[object] = [[1e-30, 0.0], [-1e-30, 1.0], 0.0]
    assert judge_result(SUM, tiny, 0.0, -0.0, "f32").verdict is Verdict.PASS
    zeros: list[object] = [[0.0, 0.0], [-1e-30, 1.0], 0.0]
    assert judge_result(SUM, zeros, 0.0, -0.0, "f32").verdict.fails


def test_result_of_xla_on_this_cpu_is_permitted() -> None:
    program = parse_module(PROGRAM.format(of="f32", between="", last="add %m, %c"))
    a, b = np.full(1, 1e-30, np.float32), np.full(1, -1e-30, np.float32)
    inputs = [a, b, np.zeros(1, np.float32)]
    actual = open_session("cpu").compile(program).run(inputs)
    assert judge_program(PermittedResults(program, inputs), actual).verdict is Verdict.PASS


def mask(*values: int) -> np.ndarray:
    return np.array(values, np.bool_)


def tiny_after(op: str, *operands: list[float], tiny: tuple[Tiny | None, ...]) -> Tiny | None:
    arrays = tuple(array(one) for one in operands)
    size = len(arrays[0])
    operation = op_program(op, [tensor_of(size)] * len(arrays), tensor_of(size)).subject
    return tiny_of(operation, arrays, tiny, apply(operation, arrays)[0])


def test_product_that_underflows_stands_for_a_number_of_its_sign() -> None:
    found = tiny_after("multiply", [1e-30, -1e-30, 0.0], [1e-30, 1e-30, 1.0], tiny=(None, None))
    assert found is not None
    assert found.positive.tolist() == [True, False, False]
    assert found.negative.tolist() == [False, True, False]


@pytest.mark.parametrize("op", ["multiply", "add"])
def test_exact_zeros_stand_for_nothing(op: str) -> None:
    assert tiny_after(op, [0.0, 1.0], [0.0, 2.0], tiny=(None, None)) is None


def test_negation_turns_the_sign_of_what_a_zero_stands_for() -> None:
    found = tiny_after("negate", [0.0, 0.0], tiny=(Tiny(mask(0, 0), mask(1, 0)),))
    assert found is not None
    assert (found.negative.tolist(), found.positive.tolist()) == ([True, False], [False, False])


def test_sum_with_a_larger_number_is_no_zero() -> None:
    assert tiny_after("add", [0.0], [1.0], tiny=(Tiny(mask(0), mask(1)), None)) is None


def test_zero_may_have_the_sign_of_the_number_that_it_stands_for() -> None:
    zeros = array([0.0, -0.0, 0.0])
    either = Tiny(negative=mask(1, 1, 0), positive=mask(0, 0, 1)).zeros_of_either_sign(zeros)
    assert either.tolist() == [True, False, False]
    assert Tiny(mask(1), mask(0)).mask(-1.0).tolist() == [True]
    assert not Tiny(mask(0), mask(0)).any

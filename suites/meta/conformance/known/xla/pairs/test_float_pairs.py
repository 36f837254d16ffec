"""Numbers of f64 as sums of two numbers of f32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.judging.judgement import Judgement
from conformance.known.hypothesis import Hypothesis
from conformance.known.template import has_constants
from conformance.known.xla.pairs.float_pairs import BROADCAST_NUMBERS, LABEL, PAIRS, SINGLE_ELEMENTS
from conformance.known.xla.pairs.representation import round_to_pairs
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, TokenType, TupleType, Value, single_op
from reference.ir.tokens import TOKEN
from reference.ir.types import Array
from suites.meta.support.small_programs import op_program, tensor_of

HUGE = 1e300


def judge_result(
    op: str, operands: list[complex], actual: complex, platform: str, size: int = 2
) -> Judgement:
    is_complex = any(isinstance(one, complex) for one in operands)
    of = tensor_of(size, of="complex<f64>" if is_complex else "f64")
    program = op_program(op, [of] * len(operands), of)
    inputs = [np.full(size, number) for number in operands]
    expected = evaluate(program, inputs)
    return judge_operation(program, inputs, expected, [np.full(size, actual)], platform)


@pytest.mark.parametrize(
    ("number", "pair"),
    [
        (1.0, 1.0),
        (1 + 2.0**-40, 1 + 2.0**-40),
        (1 + 2.0**-52, 1 + 2.0**-52),  # the second number has an exponent of its own
        (1 + 2.0**-30 + 2.0**-52, 1 + 2.0**-30 + 2.0**-52),
        (1 + 2.0**-25 + 2.0**-52, 1 + 2.0**-25),
        (HUGE, np.inf),
        (-HUGE, -np.inf),
        (1e-300, 0.0),
        (np.inf, np.inf),
    ],
)
def test_pairs_have_two_significands_of_f32_and_its_range(number: float, pair: float) -> None:
    assert round_to_pairs(np.array([number])) == [pair]


def test_parts_of_complex_numbers_are_pairs_and_zeros_keep_their_signs() -> None:
    pairs: Array = round_to_pairs(np.array([complex(-0.0, HUGE)]))
    assert np.isinf(np.imag(pairs))
    assert np.signbit(np.real(pairs))


@pytest.mark.parametrize(
    ("op", "operands", "actual"),
    [
        ("multiply", [HUGE, 2.0], np.inf),
        ("multiply", [1e30, 1e30], np.inf),
        ("multiply", [1e30, 1e30], np.nan),
        ("log", [np.inf], np.nan),
        ("add", [1e-300, 0.0], 0.0),
        ("exponential", [1.0], np.exp(1.0) * (1 + 2.0**-46)),
        ("divide", [1.0, HUGE], 0.0),
        ("log", [1.5e-44], -93.22890389606698),
        ("power", [-2.0, -3.0], 0.125),
        ("power", [0.0, 0.0], np.nan),
        ("remainder", [2.3598447, -9.6388266e-35], 3.6e-15),
        ("rsqrt", [8.3e-40], np.nan),
        ("rsqrt", [1e38], 9.999999953012649e-20),
        ("sine", [2.0**31], np.nan),
        ("tanh", [90.0], np.nan),
        ("tanh", [2.0**-40], 2.0**-40 * (1 - 2.0**-23)),
        ("exponential", [complex(1.0, 2.0**40)], complex(np.nan, np.nan)),
        ("sqrt", [complex(-4.0, -1e-100)], complex(0.0, 2.0)),
        ("atan2", [complex(0.0, 0.0), complex(1.0, 6.0)], complex(2.0**-44, -(2.0**-45))),
        ("log_plus_one", [complex(1e20, 0.0)], complex(np.nan, 0.0)),
        ("sign", [complex(1e20, 1.0)], complex(np.nan, np.nan)),
        ("sine", [complex(0.0, 1e-20)], complex(0.0, 1e-20 * (1 + 2.0**-23))),
        ("power", [complex(-8.0, -7.0), complex(-54.5, 19.5)], complex(0.0, 0.0)),
    ],
)
def test_results_of_pairs_are_of_their_class_on_a_tpu_only(
    op: str, operands: list[complex], actual: complex
) -> None:
    found = judge_result(op, operands, actual, Hardware.TPU)
    assert (found.verdict.fails, found.kind) == (True, LABEL)
    assert judge_result(op, operands, actual, Hardware.GPU).kind != LABEL


@pytest.mark.parametrize(
    ("op", "operands", "actual"),
    [
        ("multiply", [3.0, 5.0], 15 * (1 + 2.0**-30)),
        ("multiply", [3.0, 5.0], np.inf),
        ("add", [1.0, 2.0], 0.0),
        ("exponential", [1.0], np.nan),
        ("power", [-2.0, 3.0], 8.0),
        ("power", [2.0, -3.0], -0.125),
        ("remainder", [2.5, 1.0], 0.5 + 2.0**-40),
        ("rsqrt", [1.0], 1 + 2.0**-30),
        ("sine", [2.0**20], np.nan),
        ("tanh", [80.0], np.nan),
        ("exponential", [complex(1.0, 2.0)], complex(np.nan, np.nan)),
        ("sqrt", [complex(-4.0, -1.0)], complex(0.2, 2.0)),
        ("atan2", [complex(0.0, 0.0), complex(1.0, 6.0)], complex(2.0**-38, 0.0)),
        ("log_plus_one", [complex(1e17, 0.0)], complex(np.nan, 0.0)),
        ("sign", [complex(1e17, 1.0)], complex(np.nan, np.nan)),
        ("sine", [complex(0.0, 1.0)], complex(0.0, 1.1752011936438014 * (1 + 2.0**-23))),
        ("power", [complex(-8.0, -7.0), complex(-30.0, 19.5)], complex(0.0, 0.0)),
        ("exponential", [1.0], np.e * (1 + 2.0**-10)),
        ("tanh", [1.0], np.tanh(1.0) * (1 + 2.0**-30)),
    ],
)
def test_other_results_are_of_no_such_class(
    op: str, operands: list[complex], actual: complex
) -> None:
    found = judge_result(op, operands, actual, Hardware.TPU)
    assert found.verdict in (Verdict.DIVERGENT, Verdict.INACCURATE)
    assert found.kind != LABEL


def test_operation_is_judged_by_its_own_results() -> None:
    """Some programs have more results than their last operation, such as selects of tuples."""
    program = op_program("negate", [tensor_of(1, of="f64")], tensor_of(1, of="f64"))
    (operation,) = program.main.body.operations[:-1]
    results = np.array([1.0]), np.array([2.0])
    assert PAIRS.errors is not None
    found = PAIRS.errors(operation, (np.array([3.0]),), results, results)
    assert [error.tolist() for error in found] == [[np.inf], [np.inf]]


@pytest.mark.parametrize("hypothesis", [PAIRS, SINGLE_ELEMENTS, BROADCAST_NUMBERS])
def test_an_operation_on_tuples_is_not_asked_about(hypothesis: Hypothesis) -> None:
    of = tensor_of(1, of="f64")
    program = single_op("get_tuple_element", (Value("x", TupleType((of,))),), (of,), {"index": 0})
    (operation,) = program.main.body.operations[:-1]
    tuples: tuple[Any, ...] = ((np.array([3.0]),),)
    assert hypothesis.errors is not None
    (error,) = hypothesis.errors(operation, tuples, (np.array([3.0]),), (np.array([2.0]),))
    assert error.tolist() == [np.inf]


@pytest.mark.parametrize("hypothesis", [PAIRS, SINGLE_ELEMENTS, BROADCAST_NUMBERS])
def test_an_operation_on_tokens_is_not_asked_about(hypothesis: Hypothesis) -> None:
    of = tensor_of(2, of="f64")
    program = single_op(
        "optimization_barrier", (Value("x", of), Value("t", TokenType())), (of,), {}
    )
    (operation,) = program.main.body.operations[:-1]
    operands: tuple[Any, ...] = (np.array([3.0, 4.0]), TOKEN)
    assert hypothesis.errors is not None
    (error,) = hypothesis.errors(
        operation, operands, (np.array([3.0, 4.0]),), (np.array([2.0, 4.0]),)
    )
    assert error.tolist() == [np.inf, np.inf]


MINUEND = """
func.func @main(ARGUMENTS) -> tensor<2xf64> {
  CONSTANT
  %r = stablehlo.subtract %c, %a : tensor<2xf64>
  return %r : tensor<2xf64>
}"""


@pytest.mark.parametrize(
    ("is_constant", "wrong", "is_known"),
    [(True, 0.0, True), (False, 0.0, False), (True, 2.0**-26, False)],
)
def test_differences_from_a_constant_lose_the_rounding_error_of_the_subtrahend(
    is_constant: bool, wrong: float, is_known: bool
) -> None:
    constant = "%c = stablehlo.constant dense<[8.0, 5.0]> : tensor<2xf64>" if is_constant else ""
    arguments = ["%a: tensor<2xf64>", *([] if is_constant else ["%c: tensor<2xf64>"])]
    text = MINUEND.replace("ARGUMENTS", ", ".join(arguments)).replace("CONSTANT", constant)
    program, taken, minuend = parse_module(text), np.array([0.1, 0.3]), np.array([8.0, 5.0])
    inputs = [taken, *([] if is_constant else [minuend])]
    high = taken.astype(np.float32)
    total = minuend.astype(np.float32) - high
    error = minuend.astype(np.float32) - (total + high)
    actual = total.astype(np.float64) + (error - (taken - high)) + wrong
    expected = evaluate(program, inputs)
    assert np.abs(actual - expected[0]).max() > 2.0**-28
    found = judge_operation(program, inputs, expected, [actual], Hardware.TPU)
    assert ({one.kind for one in found.failing} == {LABEL}) is is_known


def test_moved_pairs_stay_as_they_are() -> None:
    program = op_program(
        "reverse", [tensor_of(2, of="f64")], tensor_of(2, of="f64"), dimensions=(0,)
    )
    inputs = [np.array([1.0 + 2.0**-52, 0.1])]
    expected, right = evaluate(program, inputs), round_to_pairs(inputs[0][::-1])
    for actual, is_known in ((right, True), (right * (1 + 2.0**-48), False)):
        found = judge_operation(program, inputs, expected, [actual], Hardware.TPU)
        assert ({each.kind for each in found.failing} == {LABEL}) is is_known


@pytest.mark.parametrize(
    ("number", "actual", "is_known"),
    [
        (5.963570334526204e-39, 0.0, True),  # subnormal in f32
        (-1.555371990152508e25, -1.5553719901525054e25, True),
        (1.0 + 2.0**-52, 1.0 + 2.0**-44, False),
        (3e-38, 0.0, False),
    ],
)
def test_pair_made_of_bits_loses_last_bits(number: float, actual: float, is_known: bool) -> None:
    program = op_program("bitcast_convert", [tensor_of(1, of="ui64")], tensor_of(1, of="f64"))
    inputs = [np.array([number]).view(np.uint64)]
    expected = evaluate(program, inputs)
    found = judge_operation(program, inputs, expected, [np.array([actual])], Hardware.TPU)
    assert ({each.kind for each in found.failing} == {LABEL}) is is_known


def test_operands_of_a_call_are_no_constants_that_a_class_names() -> None:
    call = Operation("call", (Value("x", tensor_of(1, of="f64")),), ())
    assert not has_constants(call, ("offset",), (True,))


SPLAT = """
func.func @main(%y: tensor<2xf64>) -> tensor<2xf64> {
  %x = stablehlo.constant dense<NUMBERS> : tensor<2xf64>
  %0 = stablehlo.logistic %x : tensor<2xf64>
  return %0 : tensor<2xf64>
}"""


@pytest.mark.parametrize(("numbers", "is_known"), [("0.7", True), ("[0.7, 0.8]", False)])
def test_functions_of_equal_constants_are_those_of_f32(numbers: str, is_known: bool) -> None:
    program, inputs = parse_module(SPLAT.replace("NUMBERS", numbers)), [np.zeros(2)]
    expected = evaluate(program, inputs)
    actual = [expected[0] * (1 + 2.0**-26)]
    found = judge_operation(program, inputs, expected, actual, Hardware.TPU)
    assert (found.kind == LABEL) == is_known


NORMALIZATION = """
func.func @main(%x: tensor<4x1xf64>, %scale: tensor<1xf64>, %offset: tensor<1xf64>)
    -> (tensor<4x1xf64>, tensor<1xf64>, tensor<1xf64>) {
  CONSTANT
  %0:3 = "stablehlo.batch_norm_training"(%OPERAND, %scale, %offset)
    <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}>
    : (tensor<4x1xf64>, tensor<1xf64>, tensor<1xf64>)
    -> (tensor<4x1xf64>, tensor<1xf64>, tensor<1xf64>)
  return %0#0, %0#1, %0#2 : tensor<4x1xf64>, tensor<1xf64>, tensor<1xf64>
}"""
CONSTANT = "%c = stablehlo.constant dense<[[0.1], [0.2], [0.7], [-0.3]]> : tensor<4x1xf64>"


@pytest.mark.parametrize(
    ("name", "error", "is_known"),
    [("c", 2.0**-26, True), ("c", 2.0**-10, False), ("x", 2.0**-26, False)],
)
def test_normalization_of_constant_data_has_the_errors_of_f32(
    name: str, error: float, is_known: bool
) -> None:
    text = NORMALIZATION.replace("CONSTANT", CONSTANT).replace("OPERAND", name)
    program = parse_module(text)
    inputs = [np.array([[0.1], [0.2], [0.7], [-0.3]]), np.array([1.1]), np.array([0.3])]
    expected = evaluate(program, inputs)
    actual = [expected[0] * (1 + error), *expected[1:]]
    found = judge_operation(program, inputs, expected, actual, Hardware.TPU)
    assert (found.kind == LABEL) == is_known


SUM = """
func.func @main(%x: tensor<4x2xf64>) -> tensor<2xf64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<4x2xf64>, tensor<f64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}
"""


@pytest.mark.parametrize(
    ("numbers", "error", "kind"),
    [
        ([1 + 2.0**-50, 1 + 2.0**-49, -2.0, 2.0**-6], 2.0**-46, LABEL),
        ([1 + 2.0**-50, 1 + 2.0**-49, -2.0, 2.0**-6], 2.0**-38, "wrong value"),
        ([1.0, 3.0, -4.0, 2.0], 2.0**-39, "wrong value"),
    ],
)
def test_sums_that_are_exact_in_f64_may_be_rounded_in_pairs(
    numbers: list[float], error: float, kind: str
) -> None:
    program, given = parse_module(SUM), [np.array([numbers, numbers]).T]
    (expected,) = evaluate(program, given)
    actual = [expected + error]
    assert judge_operation(program, given, [expected], actual, Hardware.TPU).kind == kind


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [([2e38, 2e38, -2e38, -2e38 * (1 - 2.0**-20)], LABEL), ([2e37, 0, 0, 1e37], "NaN")],
)
def test_sums_whose_partial_sums_overflow_may_be_nan(numbers: list[float], kind: str) -> None:
    program, given = parse_module(SUM), [np.array([numbers, numbers]).T]
    (expected,) = evaluate(program, given)
    assert np.abs(expected).max() < 1e38
    judged = judge_operation(program, given, [expected], [np.full(2, np.nan)], Hardware.TPU)
    assert judged.kind == kind


POWER = 1.5 - 0.5j
EXPONENTS = np.array([0.5 + 0.02j, -2.4154 + 0.25j])


@pytest.mark.parametrize(
    ("base", "error", "is_known"),
    [
        ([POWER, POWER], 2.0**-26, True),
        ([POWER, POWER], 2.0**-16, False),
        ([POWER, POWER + 1], 2.0**-26, False),
    ],
)
def test_powers_of_equal_numbers_are_as_accurate_as_f32(
    base: list[complex], error: float, is_known: bool
) -> None:
    of = tensor_of(2, of="complex<f64>")
    program, given = op_program("power", [of, of], of), [np.array(base), EXPONENTS]
    expected = evaluate(program, given)
    actual = [expected[0] * (1 + error)]
    found = judge_operation(program, given, expected, actual, Hardware.TPU)
    assert (found.kind == LABEL) == is_known


def test_sums_with_equal_numbers_are_as_accurate_as_pairs() -> None:
    of = tensor_of(2, of="f64")
    program, given = op_program("add", [of, of], of), [np.full(2, 0.7), np.array([0.1, 0.2])]
    expected = evaluate(program, given)
    actual = [expected[0] * (1 + 2.0**-26)]
    found = judge_operation(program, given, expected, actual, Hardware.TPU)
    assert found.kind != LABEL

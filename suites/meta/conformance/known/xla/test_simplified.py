"""Classes of elementwise operations that simplifiers rewrite."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from conformance.catalog import CATALOG, rule_of
from conformance.judging.compare import judge
from conformance.judging.judgement import Judgement
from conformance.known.hypothesis import Hypothesis
from conformance.known.xla.simplified import LOW_BITS, ZERO_LEFT_OUT
from conformance.stablehlo.parse import parse_module
from conformance.transforms.substitute import substitute_constant
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, Array, from_bits


def judge_result(op: str, name: str, *given: Array, constant_lhs: bool = False) -> Judgement:
    """Return the judgement of a result, given last, of an op on parameters of one type. The first
    operand may be a constant.
    """
    *inputs, actual = given
    kind = TensorType(actual.shape, ELEMENT_TYPES[name])
    operands = tuple(Value(f"x{number}", kind) for number in range(len(inputs)))
    program = single_op(op, operands, (kind,))
    expected = evaluate(program, inputs)
    if constant_lhs:
        program, inputs = substitute_constant(program, operands[0].name, inputs[0]), inputs[1:]
    return judge(program, inputs, expected, (actual,), CATALOG[op].tolerance)


def test_a_zero_that_is_left_out_of_a_sum_is_named() -> None:
    x, zero = np.array([-0.0, 1.5, 0.0], np.float32), np.zeros(3, np.float32)
    for lhs, rhs in ((x, zero), (zero, x)):
        found = judge_result("add", "f32", lhs, rhs, x)
        assert (found.verdict, found.kind, found.wrong) == (Verdict.DIVERGENT, "zero left out", 1)
    parts = np.array([-0.0 - 2j], np.complex64)
    found = judge_result("add", "complex<f32>", parts, np.zeros(1, np.complex64), parts)
    assert found.kind == "zero left out"


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64", "complex<f32>"])
def test_a_zero_that_is_left_out_of_a_difference_keeps_the_sign_of_its_subtrahend(
    name: str,
) -> None:
    of = ELEMENT_TYPES[name].storage
    zero = np.zeros(3, of)
    found = judge_result("subtract", name, zero, zero, -zero)
    assert (found.kind, found.wrong) == ("zero left out", 3)
    x = np.array([1.0, -3.0, 2.5], of)
    for lhs, rhs, wrong in ((zero, x, x), (x, zero, -x), (-zero, x, x)):
        found = judge_result("subtract", name, lhs, rhs, wrong)
        assert found.verdict is Verdict.DIVERGENT
        assert "zero left out" not in {kind for _, kind in found.findings}


def test_other_sign_of_zero_is_not_the_class() -> None:
    lhs, rhs = np.array([1.0, 0.0], np.float32), np.array([-1.0, 0.0], np.float32)
    found = judge_result("add", "f32", lhs, rhs, np.array([-0.0, -0.0], np.float32))
    assert (found.verdict, found.kind, found.wrong) == (Verdict.DIVERGENT, "signed zero", 2)


def test_a_power_by_a_rounded_product_is_named() -> None:
    base, exponent = np.array([2.0**-13] * 2, np.float16), np.array([0.6938, -0.9126], np.float16)
    product = (exponent * np.log(base)).astype(np.float16)
    actual = np.exp(product.astype(np.float64)).astype(np.float16)
    found = judge_result("power", "f16", base, exponent, actual, constant_lhs=True)
    assert (found.verdict, found.kind) == (Verdict.INACCURATE, "rounded product")
    assert judge_result("power", "f16", base, exponent, actual).kind == "accuracy"
    wrong = actual * np.float16(1.02)
    found = judge_result("power", "f16", base, exponent, wrong, constant_lhs=True)
    assert (found.verdict, found.kind) == (Verdict.INACCURATE, "accuracy")


SCAN = """
func.func @main(%x: tensor<2x1xf32>, %z: tensor<1xf32>) -> (tensor<2x1xf32>, tensor<1xf32>) {
  %0:2 = mhlo.scan(%x) inits (%z) dimension=0 {
  ^bb0(%a: tensor<1xf32>, %b: tensor<1xf32>):
    %1 = stablehlo.add %b, %a : tensor<1xf32>
    stablehlo.return %1, %1 : tensor<1xf32>, tensor<1xf32>
  } : (tensor<2x1xf32>, tensor<1xf32>) -> (tensor<2x1xf32>, tensor<1xf32>)
  return %0#0, %0#1 : tensor<2x1xf32>, tensor<1xf32>
}"""


@pytest.mark.parametrize(("got", "known"), [([-0.0, -0.0], True), ([-0.0, 1.0], False)])
def test_zero_left_out_of_the_body_of_a_scan_has_the_class(got: list[float], known: bool) -> None:
    program = parse_module(SCAN)
    inputs = (np.zeros((2, 1), np.float32), np.full(1, -0.0, np.float32))
    expected = evaluate(program, inputs)
    actual = (np.array(got, np.float32).reshape(2, 1), np.array(got[-1:], np.float32))
    rule = rule_of(program.subject)
    assert rule is not None
    found = judge(program, inputs, expected, actual, rule)
    assert found.verdict is Verdict.DIVERGENT
    assert ({one.kind for one in found.failures} == {"zero left out"}) == known


@pytest.mark.parametrize(
    ("start", "element", "got", "label"),
    [
        (-0.0, -0.0, -0.0, "zero left out"),
        (0.0, 0.0, -0.0, "zero left out"),
        (0.0, -0.0, -0.0, "signed zero"),
        (2.0, 2.0, -0.0, "signed zero"),
    ],
)
def test_zero_left_out_of_a_difference_in_the_body_of_a_scan(
    start: float, element: float, got: float, label: str
) -> None:
    program = parse_module(
        SCAN.replace("2x1", "1x1").replace("stablehlo.add", "stablehlo.subtract")
    )
    inputs = np.full((1, 1), element, np.float32), np.full(1, start, np.float32)
    actual = np.full((1, 1), got, np.float32), np.full(1, got, np.float32)
    rule = rule_of(program.subject)
    assert rule is not None
    found = judge(program, inputs, evaluate(program, inputs), actual, rule)
    assert {one.kind for one in found.failures} == {label}


def test_rounded_product_does_not_apply_without_mantissa() -> None:
    of = ELEMENT_TYPES["f8E8M0FNU"]
    base, exponent, actual = (from_bits(np.array([c], np.uint8), of) for c in (0x02, 0x7E, 0x34))
    found = judge_result("power", of.name, base, exponent, actual)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "wrong value")


@pytest.mark.parametrize("actual", [[-2] * 5, [-2, -1, -1, -1, -2]])
def test_power_returning_its_base_has_the_class(actual: list[int]) -> None:
    base, exponent, got = (
        np.array(one, np.int8).astype(ml_dtypes.int2) for one in ([-2] * 5, [0, 1, 0, 1, 1], actual)
    )
    found = judge_result("power", "si2", base, exponent, got, constant_lhs=True)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "base for the power")
    assert judge_result("power", "si2", base, exponent, got).kind == "wrong value"
    got[1] = 0
    assert (
        judge_result("power", "si2", base, exponent, got, constant_lhs=True).kind == "wrong value"
    )
    ones = np.ones(5, np.int8).astype(ml_dtypes.int2)
    found = judge_result("power", "si2", ones, exponent, base, constant_lhs=True)
    assert found.kind == "wrong value"


def test_power_returning_its_base_packed_before_a_broadcast_has_the_class() -> None:
    base, exponent, right, got = (
        np.broadcast_to(np.array(one, np.int8).astype(ml_dtypes.int2), (3, 5))
        for one in (-2, [[1], [0], [1]], [[-2], [1], [-2]], [[-2], [-1], [-1]])
    )
    found = judge_result("power", "si2", base, exponent, got, constant_lhs=True)
    assert found.kind == "base for the power"
    assert found.wrong == (got != right).sum()
    exponent = exponent.copy()
    exponent[0, 1] = 0  # no broadcast
    found = judge_result("power", "si2", base, exponent, got, constant_lhs=True)
    assert found.kind == "wrong value"


@pytest.mark.parametrize(
    ("hypothesis", "op", "of", "operands", "got", "explained"),
    [
        (ZERO_LEFT_OUT, "add", "f32", (0.0, -0.0), -0.0, True),
        (ZERO_LEFT_OUT, "add", "f32", (1.0, -0.0), -0.0, False),
        (ZERO_LEFT_OUT, "subtract", "f32", (0.0, 0.0), -0.0, True),
        (LOW_BITS, "power", "si32", (3, 64), 1, True),
        (LOW_BITS, "power", "si32", (3, 2), 1, False),
    ],
)
def test_simplified_operation_predicts_its_result(
    hypothesis: Hypothesis, op: str, of: str, operands: tuple, got: float, explained: bool
) -> None:
    arrays = tuple(np.array([one]).astype(ELEMENT_TYPES[of].storage) for one in operands)
    types = TensorType((1,), ELEMENT_TYPES[of])
    program = single_op(op, (Value("x", types), Value("y", types)), (types,))
    actual = np.array([got]).astype(ELEMENT_TYPES[of].storage)
    assert hypothesis.errors is not None
    (errors,) = hypothesis.errors(program.subject, arrays, evaluate(program, arrays), (actual,))
    assert bool(errors[0] <= 1) is explained

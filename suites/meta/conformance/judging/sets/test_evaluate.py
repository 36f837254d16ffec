"""Sets of values: every permitted evaluation lies inside, and impossible values do not."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest

from conformance.judging.perturbation import error_model
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.judging.sets.evaluate import evaluate_sets
from conformance.stablehlo.parse import parse_module
from conformance.transforms.inline import inline
from conformance.verdict import Verdict
from generators.chains import strategy
from generators.values.contents import materialise
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.types import Array
from reference.ops.xla.lowering import lower_program
from suites.meta.conformance.judging.sets.legal_executions import LegalExecution

PROGRAMS = 150


@pytest.mark.slow
def test_every_permitted_evaluation_lies_in_the_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples move within the rules of operations; nothing else is left out or done otherwise."""
    followed = 0
    for number in range(PROGRAMS):
        case = strategy.program_at(50, number, frozenset(), None)
        program = lower_program(case.program)
        inputs = materialise(program, case.inputs[0])
        whole = inline(program).program
        try:
            permitted = PermittedResults(whole, inputs)
        except EvaluationError:
            continue
        sets = permitted.sets
        if sets is None:
            continue
        followed += 1
        legal = [
            evaluate(whole, inputs, on_result=LegalExecution(whole, tuple(inputs), seed))
            for seed in range(3)
        ]
        with monkeypatch.context() as patch:
            patch.setattr(error_model, "EXCESS", 0.0)
            samples = permitted.moved_samples()
        for results in (permitted.expected, *samples, *legal):
            held = [one.holds(result).all() for one, result in zip(sets, results, strict=True)]
            assert all(held), (number, held)
    assert followed > PROGRAMS / 2


def program(operations: str, arguments: str, result: str) -> str:
    return f"func.func @main({arguments}) -> {result} {{\n{operations}\n}}"


F32, I32, FLAG = "tensor<1xf32>", "tensor<1xi32>", "tensor<1xi1>"
PRODUCT = f"%p = stablehlo.multiply %a, %b : {F32}"
CHOICE = program(
    f"""{PRODUCT}
    %q = stablehlo.compare GT, %p, %c : ({F32}, {F32}) -> {FLAG}
    %zero = stablehlo.constant dense<0.0> : {F32}
    %hundred = stablehlo.constant dense<100.0> : {F32}
    %r = stablehlo.select %q, %zero, %hundred : {FLAG}, {F32}
    return %r : {F32}""",
    f"%a: {F32}, %b: {F32}, %c: {F32}",
    F32,
)
INDEX = program(
    f"""{PRODUCT}
    %f = stablehlo.floor %p : {F32}
    %i = stablehlo.convert %f : ({F32}) -> {I32}
    %s = stablehlo.reshape %i : ({I32}) -> tensor<i32>
    %r = stablehlo.dynamic_slice %c, %s, sizes = [1] : (tensor<4xf32>, tensor<i32>) -> {F32}
    return %r : {F32}""",
    f"%a: {F32}, %b: {F32}, %c: tensor<4xf32>",
    F32,
)
RANGE = program(
    f"""{PRODUCT}
    %t = stablehlo.tanh %p : {F32}
    return %t : {F32}""",
    f"%a: {F32}, %b: {F32}",
    F32,
)
WHOLE = program(
    f"""{PRODUCT}
    %f = stablehlo.floor %p : {F32}
    return %f : {F32}""",
    f"%a: {F32}, %b: {F32}",
    F32,
)
OPEN = program(
    f"""%n = stablehlo.constant dense<32> : {I32}
    %s = stablehlo.shift_left %a, %n : {I32}
    %one = stablehlo.constant dense<1> : {I32}
    %r = stablehlo.and %s, %one : {I32}
    return %r : {I32}""",
    f"%a: {I32}",
    I32,
)
BRANCH = program(
    f"""{PRODUCT}
    %d = stablehlo.subtract %p, %c : {F32}
    %q = stablehlo.compare GE, %d, %d : ({F32}, {F32}) -> {FLAG}
    %w = stablehlo.compare GT, %p, %c : ({F32}, {F32}) -> {FLAG}
    %k = stablehlo.reshape %w : ({FLAG}) -> tensor<i1>
    %r = "stablehlo.if"(%k) ({{
      %x = stablehlo.constant dense<7.0> : {F32}
      stablehlo.return %x : {F32}
    }}, {{
      %y = stablehlo.constant dense<-9.0> : {F32}
      stablehlo.return %y : {F32}
    }}) : (tensor<i1>) -> {F32}
    return %r : {F32}""",
    f"%a: {F32}, %b: {F32}, %c: {F32}",
    F32,
)
NEAREST = program(
    f"""%c = stablehlo.constant dense<12582912.0> : {F32}
    %s = stablehlo.add %a, %c : {F32}
    %r = stablehlo.subtract %s, %c : {F32}
    return %r : {F32}""",
    f"%a: {F32}",
    F32,
)
ERROR_OF_SUM = program(
    f"""%s = stablehlo.add %a, %b : {F32}
    %t = stablehlo.subtract %s, %a : {F32}
    %r = stablehlo.subtract %b, %t : {F32}
    return %r : {F32}""",
    f"%a: {F32}, %b: {F32}",
    F32,
)
ERROR_OF_PRODUCT = program(
    f"""{PRODUCT}
    %r = stablehlo.subtract %p, %c : {F32}
    return %r : {F32}""",
    f"%a: {F32}, %b: {F32}, %c: {F32}",
    F32,
)
BF16 = "tensor<1xbf16>"
ROUNDED_SQUARE = program(
    f"""%p = stablehlo.multiply %a, %a : {BF16}
    %m = stablehlo.negate %p : {BF16}
    %r = stablehlo.convert %m : ({BF16}) -> {F32}
    return %r : {F32}""",
    f"%a: {BF16}",
    F32,
)

TENTHS = [np.array([one], np.float32) for one in (1.1, 1.3, np.float32(1.1) * np.float32(1.3))]
THIRD = [np.array([1 / 3], np.float32), np.array([3], np.float32)]
TABLE = np.array([10, 1000, -5, 7], np.float32)
LARGE = [np.array([10.0], np.float32)] * 2
ONE, TINY = (np.array([one], np.float32) for one in (1.0, 2.0**-30))
CONTRACTED = np.float32(float(TENTHS[0][0]) * float(TENTHS[1][0]) - float(TENTHS[2][0]))
SHORT = np.array([1.015625], ml_dtypes.bfloat16)
THREE = [np.array([3], np.int32)]


@pytest.mark.parametrize(
    ("text", "inputs", "possible", "impossible"),
    [
        (CHOICE, TENTHS, [0.0, 100.0], [57.0, -1.0]),
        (INDEX, [*THIRD, TABLE], [10.0, 1000.0], [500.0, -5.0]),
        (RANGE, LARGE, [1.0, 1 - 2.0**-24], [1 + 2.0**-23]),
        (WHOLE, THIRD, [1.0, 0.0], [0.5, 2.0]),
        (OPEN, THREE, [0, 1], [7, -1]),
        (BRANCH, TENTHS, [7.0, -9.0], [0.0]),
        (NEAREST, TENTHS[:1], [1.0], [1.1, 0.0, 2.0]),
        (ERROR_OF_SUM, [ONE, TINY], [2.0**-30], [0.0, 2.0**-31]),
        (ERROR_OF_PRODUCT, TENTHS, [0.0, CONTRACTED], [1e-6, 2.0**-22]),
        (ROUNDED_SQUARE, [SHORT], [-1.03125], [-1.03149]),
    ],
)
def test_values_between_the_outcomes_are_wrong(
    text: str, inputs: Sequence[Array], possible: Sequence[float], impossible: Sequence[float]
) -> None:
    def fails(value: float) -> bool:
        permitted = PermittedResults(parse_module(text), inputs)
        got = np.array([value]).astype(permitted.expected[0].dtype)
        return judge_program(permitted, [got]).verdict.fails

    assert not any(map(fails, possible))
    assert all(map(fails, impossible))


@pytest.mark.parametrize(("op", "has_sets"), [("negate", True), ("tan", False)])
def test_a_program_of_unknown_sizes_has_no_sets_if_anything_may_result(
    op: str, has_sets: bool
) -> None:
    text = f"""func.func @main(%n: tensor<1xi64>) -> tensor<?xf32> {{
      %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>
      %1 = stablehlo.exponential %0 : tensor<?xf32>
      %2 = stablehlo.{op} %1 : tensor<?xf32>
      return %2 : tensor<?xf32>
    }}"""
    inputs = [np.array([2], np.int64)]
    permitted = PermittedResults(parse_module(text), inputs)
    assert (permitted.sets is not None) is has_sets
    if permitted.sets is not None:
        assert permitted.sets[0].holds(permitted.expected[0]).all()
    assert judge_program(permitted, permitted.expected).verdict is Verdict.PASS


LOOP = """func.func @main(%x: tensor<f32>, %limit: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.while(%a = %x) : tensor<f32>
  cond {
    %c = stablehlo.compare LT, %a, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %b = stablehlo.exponential %a : tensor<f32>
    stablehlo.return %b : tensor<f32>
  }
  return %0 : tensor<f32>
}"""


@pytest.mark.parametrize(
    ("limit", "followed"), [(2.0, True), (float(np.exp(np.float32(1))), False)]
)
def test_a_loop_is_followed_where_its_condition_is_decided(limit: float, followed: bool) -> None:
    inputs = [np.array(one, np.float32) for one in (1.0, limit)]
    sets = evaluate_sets(parse_module(LOOP), inputs, "cpu")
    assert (sets is not None) is followed
    if sets is not None:
        assert sets[0].holds(np.array(np.e, np.float32))
        assert not sets[0].holds(np.array(1.0, np.float32))

"""Programs settled by the backend's own values: openness, sensitivity, rewritten operations."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from conformance.checking.settings import CheckedFile
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.gate.expectations import Expectation
from conformance.stablehlo.parse import parse_module
from conformance.triage.audit import FAULTY_ITERATIONS, audit
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from suites.meta.support.checking import SEEDED
from suites.meta.support.faults.changed_backend import Change, compose_changes, result_of

# --- What the specification leaves open ----------------------------------------------------------

LOOPED = """
func.func @main(%seed: tensor<ui32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %w = stablehlo.constant dense<32> : tensor<ui32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%k = %i, %c = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %0 = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  } do {
    %1 = stablehlo.add %k, %one : tensor<i32>
    %h = stablehlo.shift_right_logical %seed, %w : tensor<ui32>
    %f = stablehlo.convert %h : (tensor<ui32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %a = stablehlo.add %c, %b : tensor<4xf32>
    %2 = stablehlo.sine %a : tensor<4xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>
  }
  %t = stablehlo.tanh %r#1 : tensor<4xf32>
  return %t : tensor<4xf32>
}"""
SEED = {"seed": np.array(9, np.uint32), "x": np.array([0.5, 1, 2, -3], np.float32)}
FIVE = result_of("shift_right_logical", lambda x: x * 0 + 5)
"""A shift by the width is unspecified, so 5 is permitted."""
NEGATED = result_of("sine", lambda x: -x)


@pytest.mark.parametrize("text", [SEEDED, LOOPED])
def test_unspecified_value_is_adopted_from_the_backend(
    on: Callable[..., CheckedFile], text: str
) -> None:
    found = on(text, SEED, FIVE)
    assert found.verdict.value == "pass"
    if text is SEEDED:
        assert "1 result judged with the backend's own values" in found.message


@pytest.mark.parametrize("text", [SEEDED, LOOPED])
@pytest.mark.parametrize("change", [NEGATED, compose_changes(FIVE, NEGATED)])
def test_fault_after_unspecified_value_is_not_hidden(
    on: Callable[..., CheckedFile], text: str, change: Change
) -> None:
    found = on(text, SEED, change)
    assert (found.verdict.value, found.is_new_failure) == ("divergent", True)
    assert found.operation.startswith("sine %")
    found = on(text, SEED, change, Expectation("s", ("sine",), "sine is wrong"))
    assert (found.known, found.is_new_failure) == (("s",), False)


MAGNITUDES = """
func.func @main(%x: tensor<3xcomplex<f64>>) -> tensor<2x3xf64> {
  %a = stablehlo.abs %x : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
  %b = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<3xf64>) -> tensor<2x3xf64>
  return %b : tensor<2x3xf64>
}"""


@pytest.mark.parametrize(("factor", "verdict"), [(1 + 2**-52, "pass"), (1.01, "divergent")])
def test_operand_is_recomputed_beside_unspecified_elements(
    on: Callable[..., CheckedFile], factor: float, verdict: str
) -> None:
    """The broadcast of a recomputed magnitude has another second element than the magnitude."""
    changes = (
        result_of("abs", lambda x: np.where(np.isinf(x), np.nan, x)),
        result_of("broadcast_in_dim", lambda x: np.where(x == 5, x * factor, x)),
    )
    inputs = {"x": np.array([complex(np.nan, np.inf), 3 + 4j, 1])}
    found = on(MAGNITUDES, inputs, compose_changes(*changes))
    assert found.verdict.value == verdict


UNDONE = """
func.func @main(%x: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
  %c = stablehlo.constant dense<(-1.0, 0.0)> : tensor<3xcomplex<f32>>
  %m = stablehlo.multiply %x, %c : tensor<3xcomplex<f32>>
  %q = stablehlo.divide %m, %c : tensor<3xcomplex<f32>>
  return %q : tensor<3xcomplex<f32>>
}"""


@pytest.mark.parametrize(("last", "is_new"), [(1e-38, False), (1e-30, True)])
def test_unspecified_elements_do_not_hide_that_an_operand_is_recomputed(
    on: Callable[..., CheckedFile], last: float, is_new: bool
) -> None:
    """The product is flushed where it is shown, and the quotient is of the exact product."""
    x = np.array([complex(np.inf, np.nan), 3 + 4j, 1e-38], np.complex64)
    changes = (
        result_of("multiply", lambda m: np.where(np.abs(m) < 1e-37, 0, m).astype(m.dtype)),
        result_of("divide", lambda _: np.array([*x[:2], last], x.dtype)),
    )
    flushed = Expectation("f", ("multiply",), "flushed", verdicts=("flushed",))
    found = on(UNDONE, {"x": x}, compose_changes(*changes), flushed)
    assert found.is_new_failure is is_new


# --- Rounding that decides -----------------------------------------------------------------------

PEAKED = """
func.func @main(%x: tensor<3xf32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0]
    : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  %a = stablehlo.abs %s : tensor<f32>
  %n = stablehlo.negate %a : tensor<f32>
  %e = stablehlo.exponential %n : tensor<f32>
  return %e : tensor<f32>
}"""
CANCELLING = {"x": np.array([1e12, 5704.6, -1e12], np.float32)}


@pytest.mark.parametrize(
    ("change", "verdict", "where"),
    [
        (result_of("reduce", lambda x: x * 0), "pass", ""),  # some order gives 0, and exp(-0) = 1
        (result_of("reduce", lambda x: x * 0 + 1e9), "pass", ""),  # so far off, exp is 0 either way
        (result_of("exponential", lambda x: x * 0 + 1), "divergent", "exponential %"),
    ],
)
def test_an_operation_is_to_blame_for_its_own_operands_only(
    on: Callable[..., CheckedFile], change: Change, verdict: str, where: str
) -> None:
    found = on(PEAKED, CANCELLING, change)
    assert (found.verdict.value, found.operation[: len(where)]) == (verdict, where)
    if verdict == "pass":
        assert found.elements == ()


QUOTIENT = """
func.func @main(%x: tensor<1xf32>, %n: tensor<1xf32>) -> tensor<1xf32> {
  %e = stablehlo.exponential %x : tensor<1xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0]
    : (tensor<1xf32>, tensor<f32>) -> tensor<f32>
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<1xf32>
  %q = stablehlo.divide %e, %b : tensor<1xf32>
  %p = stablehlo.power %q, %n : tensor<1xf32>
  return %p : tensor<1xf32>
}"""
NANS = result_of("power", lambda x: x * np.nan)


def nans_if_hidden(program: Program, operation: Operation, results: Any) -> tuple[Any, ...]:
    """Return powers are NaN in programs that do not return the quotient."""
    body = program.main.body.operations
    shown = any(o.name == "divide" and o.results[0] in body[-1].operands for o in body)
    return results if shown else NANS(program, operation, results)


@pytest.mark.parametrize("change", [NANS, nans_if_hidden])
def test_quotient_of_value_and_its_sum_is_one(
    on: Callable[..., CheckedFile], change: Change
) -> None:
    """The sum is the value, computed again or not, and 1 to the power of NaN is 1."""
    inputs = {"x": np.array([0.7], np.float32), "n": np.array([np.nan], np.float32)}
    assert on(QUOTIENT, inputs, change).verdict.value == "divergent"


DECIDED = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xi32>) {
  %m = stablehlo.multiply %x, %y : tensor<4xf32>
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %c = stablehlo.compare LT, %m, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %f = stablehlo.floor %m : tensor<4xf32>
  %i = stablehlo.convert %f : (tensor<4xf32>) -> tensor<4xi32>
  return %c, %i : tensor<4xi1>, tensor<4xi32>
}"""
NEAR_ONE = {
    "x": np.array([1.3, 1.7, 0.3, 7], np.float32),
    "y": np.array([1 / 1.3, 1 / 1.7, 1 / 0.3, 1 / 7], np.float32),
}


def test_integers_decided_by_rounding_are_judged_on_rounded_values(
    on: Callable[..., CheckedFile],
) -> None:
    up = result_of("multiply", lambda x: np.nextafter(x, np.float32(2)))
    assert on(DECIDED, NEAR_ONE, up).verdict.value == "pass"
    wrong = result_of("compare", lambda x: ~x)
    found = on(DECIDED, NEAR_ONE, compose_changes(up, wrong))
    assert (found.verdict.value, found.operation[:9]) == ("divergent", "compare %")


# --- Operations rewritten together ---------------------------------------------------------------

MASKED = """
func.func @main(%p: tensor<4xi1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xf32>
  %m = stablehlo.multiply %c, %x : tensor<4xf32>
  %n = stablehlo.negate %m : tensor<4xf32>
  return %n : tensor<4xf32>
}"""
MASK = {
    "p": np.array([True, False, False, False]),
    "x": np.array([1, -2, np.nan, np.inf], np.float32),
}


def _select_products(program: Program, operation: Operation, results: Any) -> tuple[Any, ...]:
    """Return products are selections where the program has the conversion too."""
    names = [one.name for one in program.main.body.operations]
    if operation.name != "multiply" or "convert" not in names:
        return results
    return (np.where(MASK["p"], MASK["x"], np.float32(0)),)


def test_worst_class_of_operations_rewritten_together_is_shown(
    on: Callable[..., CheckedFile],
) -> None:
    found = on(MASKED, MASK, _select_products)
    assert (found.verdict.value, found.kind) == ("divergent", "NaN")  # not the milder signed zero
    assert "1 more as signed zero" in found.message
    assert re.search(r"multiply %\w+ \(line 4\), together with convert %", found.message)


# --- What is not the same each time -------------------------------------------------------------

SUM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.add %x, %x : tensor<4xf32>
  %n = stablehlo.negate %a : tensor<4xf32>
  return %n : tensor<4xf32>
}"""
UNSTEADY = Expectation(
    "unsteady", ("add",), "reads what it finds", kinds=(NOT_DETERMINISTIC,), flaky=True
)


def test_changing_result_is_known_if_entry_is_flaky(on: Callable[..., CheckedFile]) -> None:
    times = itertools.count(1)
    given = {"x": np.ones(4, np.float32)}
    varying = result_of("add", lambda array: array + next(times))
    found = on(SUM, given, varying, UNSTEADY)
    assert (found.known, found.is_new_failure) == (("unsteady",), False)
    assert on(SUM, given, varying).is_new_failure
    assert on(SUM, given, varying, msgspec.structs.replace(UNSTEADY, op=("negate",))).is_new_failure


def test_steady_fault_is_not_matched_by_flaky_entry(on: Callable[..., CheckedFile]) -> None:
    steady = result_of("add", lambda array: array + 1)
    assert on(SUM, {"x": np.ones(4, np.float32)}, steady, UNSTEADY).is_new_failure


FUSED = """
func.func @main(%x: tensor<2x4xf32>, %y: tensor<4x2xf32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %zs = stablehlo.constant dense<0.0> : tensor<2x2xf32>
  %w = stablehlo.negate %x : tensor<2x4xf32>
  %d = stablehlo.dot_general %w, %y, contracting_dims = [1] x [0]
    : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  %m = stablehlo.maximum %d, %zs : tensor<2x2xf32>
  %s = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
  %n = stablehlo.sqrt %s : tensor<f32>
  return %n : tensor<f32>
}"""
NAN = {"x": np.array([[np.nan, 1, 2, 3]] * 2, np.float32), "y": np.ones((4, 2), np.float32)}


def _remove_nan(program: Program, operation: Operation, results: Any) -> tuple[Any, ...]:
    """Return a sum loses NaN where a contraction and a maximum before it are not outputs."""
    names = {one.name for one in program.main.body.operations}
    inner = [o for o in program.main.body.operations if o.name in ("dot_general", "maximum")]
    shown = {value.name for value in program.main.body.operations[-1].operands}
    fused = {"dot_general", "maximum", "reduce"} <= names and not any(
        one.results[0].name in shown for one in inner
    )
    if operation.name == "reduce" and fused:
        return (np.float32(0) * np.ones(results[0].shape, np.float32),)
    return results


def test_operations_wrong_only_as_a_group_are_named_as_a_group(
    on: Callable[..., CheckedFile],
) -> None:
    found = on(FUSED, NAN, _remove_nan)
    assert (found.verdict.value, found.kind) == ("divergent", "NaN")
    told = r"first wrong: reduce %\w+ \(line 9\), together with dot_general \S+ .*, maximum %"
    assert re.search(told, found.message)
    assert "negate" not in found.message
    together = Expectation("fused", ("dot_general + maximum + reduce",), "loses NaN")
    found = on(FUSED, NAN, _remove_nan, together)
    assert (found.known, found.is_new_failure) == (("fused",), False)
    less = msgspec.structs.replace(together, op=("maximum + reduce",))
    assert on(FUSED, NAN, _remove_nan, less).is_new_failure


LONG = """
func.func @main(%i: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {
  %r:2 = stablehlo.while(%k = %i, %c = %x) : tensor<i32>, tensor<f32>
  cond {
    %limit = stablehlo.constant dense<400> : tensor<i32>
    %p = stablehlo.compare LT, %k, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %n = stablehlo.add %k, %one : tensor<i32>
    %d = stablehlo.cosine %c : tensor<f32>
    stablehlo.return %n, %d : tensor<i32>, tensor<f32>
  }
  return %r#1 : tensor<f32>
}"""


@pytest.mark.slow
def test_loop_is_judged_until_a_few_iterations_fail() -> None:
    program, inputs = parse_module(LONG), (np.array(0, np.int32), np.array(1, np.float32))

    def run(subject: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        def on_result(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
            wrong = operation.name == "cosine"
            return (np.asarray(results[0] + 1, np.float32),) if wrong else results

        return iter([list(evaluate(subject, one, on_result=on_result)) for one in sets])

    found = audit(run, "cpu", program, inputs, [0])
    assert found is not None
    assert [one.operation.name for one in found.wrong] == ["cosine"] * FAULTY_ITERATIONS

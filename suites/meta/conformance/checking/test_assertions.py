"""Outcomes of the assertions of a test program: equality, tolerance, unspecified values."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.checking.assertions import judge_assertions
from conformance.frontends.assertions import Assertion
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.ir.program import Program, Value
from suites.meta.support.small_programs import array, tensor_of

X = array([1.0, 2.0, 4.0])
PASS_ON = parse_module("""
func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  return %a, %b : tensor<3xf32>, tensor<3xf32>
}""")
EXPONENTIALS = parse_module("""
func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = stablehlo.exponential %a : tensor<3xf32>
  return %0, %b : tensor<3xf32>, tensor<3xf32>
}""")
SHIFTED = parse_module("""
func.func @main(%a: tensor<3xi32>, %b: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>) {
  %0 = stablehlo.shift_left %a, %a : tensor<3xi32>
  return %0, %b : tensor<3xi32>, tensor<3xi32>
}""")


def make_assertion(**given) -> Assertion:
    left, right = (Value(name, tensor_of(3)) for name in "ab")
    return Assertion("expect_close", left, right, **given)


EQUAL, NEAR = make_assertion(), make_assertion(tolerance=0.5)


def outcome(assertion: Assertion, got, want, program: Program = PASS_ON, given=(X, X), **how):
    permitted = PermittedResults(program, given)
    return judge_assertions([assertion], permitted, [got, want], **{"is_reference": True, **how})


def test_assertions_that_hold_pass() -> None:
    assert outcome(EQUAL, X, X).verdict is Verdict.PASS
    assert outcome(NEAR, X, X + np.float32(0.5)).verdict is Verdict.PASS


def test_message_has_the_first_wrong_element() -> None:
    found = outcome(EQUAL, X, array([1.0, 3.0, 5.0]))
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "expectation")
    assert found.message == (
        "check.expect_close does not hold for 2 of 3 elements; at [1] expected 3.0, got 2.0"
    )


def test_the_worst_assertion_decides() -> None:
    permitted = PermittedResults(PASS_ON, (X, X))
    twice = [X, X, X, X]
    assert judge_assertions([EQUAL], permitted, twice[:2], is_reference=True).verdict.fails is False
    both = parse_module("""
func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>)
    -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  return %a, %b, %a, %b : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}""")
    permitted = PermittedResults(both, (X, X))
    found = judge_assertions([EQUAL, EQUAL], permitted, [X, X, X, -X], is_reference=True)
    assert found.verdict is Verdict.DIVERGENT
    assert "3 of 3" in found.message


def test_a_result_of_another_shape_is_malformed() -> None:
    found = outcome(EQUAL, X[:2], X)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "wrong type")


@pytest.mark.parametrize(
    ("ulps_of_backend", "is_reference", "passes"),
    [(0, True, True), (0, False, True), (1, False, True), (4000, True, True), (4000, False, False)],
)
def test_expected_values_that_a_backend_may_give_are_right(
    ulps_of_backend: int, is_reference: bool, passes: bool
) -> None:
    """The tolerance is less than an ulp of exp(4); the expected value is an ulp off."""
    right = np.exp(X.astype(np.float64)).astype(np.float32)
    want = np.nextafter(right, np.float32(np.inf))
    got = (right - ulps_of_backend * np.spacing(right)).astype(np.float32)
    tight = make_assertion(tolerance=1e-9)
    found = outcome(tight, got, want, EXPONENTIALS, is_reference=is_reference)
    assert (found.verdict is Verdict.PASS) is passes


def test_an_assertion_of_equality_has_no_tolerance() -> None:
    right = np.exp(X.astype(np.float64)).astype(np.float32)
    found = outcome(EQUAL, right, np.nextafter(right, np.float32(9)), EXPONENTIALS)
    assert found.verdict is Verdict.DIVERGENT


@pytest.mark.parametrize(
    ("got", "verdict"), [([2, 8, 7], Verdict.UNSPECIFIED), ([2, 9, 7], Verdict.DIVERGENT)]
)
def test_elements_that_no_text_determines_are_unspecified(got, verdict) -> None:
    """1 << 1, 2 << 2, and a shift by 40 of 32 bits, whose result is implementation-defined."""
    a, want = array([1, 2, 40], "si32"), array([2, 8, 0], "si32")
    found = outcome(EQUAL, array(got, "si32"), want, SHIFTED, (a, want))
    assert found.verdict is verdict

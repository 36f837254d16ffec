"""Results that the compiler's own module gives are explained by pass and change."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from conformance.backends.session import open_session
from conformance.judging.compare import judge_operation
from conformance.localize.rewriting import UNEXPLAINED, explain_by_module
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import Array
from suites.meta.support.small_programs import array

LOGARITHMS = parse_module("""
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.exponential %x : tensor<4xf32>
  %1 = stablehlo.log %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
""")
INPUTS = (array([100.0, 200.0, 5.0, -300.0]),)


@cache
def results() -> tuple[Array, ...]:
    return tuple(next(open_session("cpu").run(LOGARITHMS, [INPUTS])))


def found(program: Program, inputs: tuple[Array, ...], actual: tuple[Array, ...]) -> list[str]:
    session = open_session("cpu")
    explained = explain_by_module(session, 5.0, program, [inputs], [actual])
    return [str(one) for one in explained.rewritings]


def test_rewriting_names_pass_and_change() -> None:
    assert np.isfinite(results()[0]).all(), "XLA no longer replaces log(exp(x))"
    assert found(LOGARITHMS, INPUTS, results()) == ["algsimp: log(exponential(a)) => a"]


def test_results_that_the_module_does_not_give_are_not_explained() -> None:
    wrong = results()[0].copy()
    wrong[2] *= 1.01
    assert found(LOGARITHMS, INPUTS, (wrong,)) == []


def test_results_that_are_right_have_no_rewriting() -> None:
    program = parse_module("""
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.negate %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
""")
    x = array([1.0, 2.0])
    assert found(program, (x,), (-x,)) == []


@pytest.mark.parametrize("backend", ["reference", "interpreter"])
def test_a_backend_without_modules_explains_nothing(backend: str) -> None:
    session = open_session(backend)
    explained = explain_by_module(session, 5.0, LOGARITHMS, [INPUTS], [results()])
    assert explained == UNEXPLAINED


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_decomposition_of_an_op_of_chlo_is_a_translation(backend: str) -> None:
    program = parse_module("""
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = chlo.digamma %x : tensor<2xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
""")
    inputs, session = (array([0.0, 1.0]),), open_session(backend)
    (actual,) = session.compile_cached(program).run(inputs)
    assert np.isnan(actual[0]), "digamma is no longer NaN at its pole"
    (made,) = explain_by_module(session, 5.0, program, [inputs], [[actual]]).rewritings
    assert str(made).startswith("translation: chlo.digamma(a) => select")
    wrong = array([np.nan, np.nan])
    assert explain_by_module(session, 5.0, program, [inputs], [[wrong]]) == UNEXPLAINED


def test_steps_of_the_module_that_flush_subnormal_numbers_are_flushed() -> None:
    """1 / 3e38 is subnormal in f32."""
    of = "tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<2x1xf32>"
    types = "tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>"
    program = parse_module(f"""
func.func @main(%x: tensor<2x1xf32>, %s: tensor<1xf32>, %m: tensor<1xf32>, %v: tensor<1xf32>,
    %g: tensor<2x1xf32>) -> ({types}) {{
  %0:3 = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g) {{epsilon = 0.0 : f32,
    feature_index = 1 : i64}} : ({of}) -> ({types})
  return %0#0, %0#1, %0#2 : {types}
}}
""")
    one = array([1.0])
    inputs = (array([[1e19], [-1e19]]), one, 0 * one, 3e38 * one, array([[1.0], [-1.0]]))
    session = open_session("cpu")
    actual = next(session.run(program, [inputs]))
    judgement = judge_operation(program, inputs, evaluate(program, inputs), actual)
    assert judgement.verdict is Verdict.DIVERGENT
    explained = explain_by_module(session, 5.0, program, [inputs], [actual])
    found = explained.apply(judgement)
    assert (found.verdict, found.kind) == (Verdict.FLUSHED, "subnormal intermediate")
    wrong = [one.copy() for one in actual]
    wrong[1][0] = 1.0
    assert explain_by_module(session, 5.0, program, [inputs], [wrong]) == UNEXPLAINED

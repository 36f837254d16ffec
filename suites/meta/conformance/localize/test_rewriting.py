"""Results that the compiler's own module gives are explained by pass and change."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from conformance.backends.session import open_session
from conformance.judging.compare import judge_operation
from conformance.judging.judgement import combine
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.localize.rewriting import UNEXPLAINED, explain_by_module
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import Array
from suites.meta.support.small_programs import array

QUOTIENTS = parse_module("""
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.divide %x, %y : tensor<4xf32>
  %1 = stablehlo.divide %0, %y : tensor<4xf32>
  return %1 : tensor<4xf32>
}
""")
INPUTS = (array([1e30, 1.0, 2.0, 8.0]), array([1e20, 3.0, 3.0, 4.0]))


@cache
def results() -> tuple[Array, ...]:
    return tuple(next(open_session("cpu").run(QUOTIENTS, [INPUTS])))


def found(program: Program, inputs: tuple[Array, ...], actual: tuple[Array, ...]) -> list[str]:
    session = open_session("cpu")
    explained = explain_by_module(session, 5.0, program, [inputs], [actual])
    return [str(one) for one in explained.whole]


def test_rewriting_names_pass_and_change() -> None:
    assert results()[0][0] == 0.0, "XLA no longer replaces (x / y) / y"
    change = "divide(divide(a, b), b) => divide(a, multiply(b, b))"
    assert found(QUOTIENTS, INPUTS, results()) == [f"algsimp: {change}"]


def test_results_that_the_module_does_not_give_are_not_explained() -> None:
    wrong = results()[0].copy()
    wrong[2] *= 1.01
    assert found(QUOTIENTS, INPUTS, (wrong,)) == []


def test_what_the_module_does_not_give_is_a_failure_beside_what_it_gives() -> None:
    wrong = results()[0].copy()
    wrong[2] *= 1.01
    permitted = PermittedResults(QUOTIENTS, INPUTS)
    judgement = judge_program(permitted, [wrong])
    explained = explain_by_module(open_session("cpu"), 5.0, QUOTIENTS, [INPUTS], [(wrong,)])
    cause = "algsimp: divide(divide(a, b), b) => divide(a, multiply(b, b))"
    failing = [(failure.causes, failure.wrong) for failure in explained.apply(judgement).failures]
    assert [causes for causes, _ in failing[:-1]] == [(cause,)] * (len(failing) - 1)
    assert failing[-1] == ((), 1)
    combined = combine([explained.apply(judgement)] * 2)
    assert [(one.causes, one.wrong) for one in combined.failing][-1] == ((), 2)


def test_sets_of_results_are_explained_one_by_one() -> None:
    wrong = results()[0] * 2
    given = [INPUTS] * 2, [(wrong,), results()]
    explained = explain_by_module(open_session("cpu"), 5.0, QUOTIENTS, *given)
    assert {*explained.left} == {0}
    assert explained.exact == (1,)
    assert [rewriting.name for rewriting in explained.rewritings] == ["algsimp"]


@pytest.mark.parametrize("backend", ["reference", "interpreter"])
def test_a_backend_without_modules_explains_nothing(backend: str) -> None:
    session = open_session(backend)
    explained = explain_by_module(session, 5.0, QUOTIENTS, [INPUTS], [results()])
    assert explained == UNEXPLAINED


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_decomposition_of_an_op_of_chlo_is_a_translation(backend: str) -> None:
    program = parse_module("""
func.func @main(%x: tensor<2xf32>, %q: tensor<2xf32>) -> tensor<2xf32> {
  %0 = chlo.zeta %x, %q : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
""")
    inputs, session = (array([2.0, 2.0]), array([np.inf, 2.0])), open_session(backend)
    (actual,) = session.compile_cached(program).run(inputs)
    assert np.isnan(actual[0]), "zeta(2, inf) is no longer NaN"
    (made,) = explain_by_module(session, 5.0, program, [inputs], [[actual]]).rewritings
    assert str(made).startswith("translation: chlo.zeta(a, b) => select")
    wrong = array([np.nan, np.nan])
    assert explain_by_module(session, 5.0, program, [inputs], [[wrong]]).whole == ()


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
    assert (found.verdict, found.kind) == (Verdict.FLUSHED, "flushed")
    wrong = [one.copy() for one in actual]
    wrong[1][0] = 1.0
    assert explain_by_module(session, 5.0, program, [inputs], [wrong]) == UNEXPLAINED


def test_rewriting_that_only_rounds_otherwise_is_found_by_what_it_permits() -> None:
    """The variance of nine ones is 0 - but for the roundings of a product with 1 / 9."""
    of = "tensor<9x1xf32>, tensor<1xf32>, tensor<1xf32>"
    program = parse_module(f"""
func.func @main(%x: tensor<9x1xf32>, %s: tensor<1xf32>, %o: tensor<1xf32>) -> ({of}) {{
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %o) {{epsilon = 1.0 : f32,
    feature_index = 1 : i64}} : ({of}) -> ({of})
  return %0#0, %0#1, %0#2 : {of}
}}
""")
    ones = np.ones((9, 1), np.float32)
    inputs = (ones, array([1.0]), array([0.0]))
    wrong = (0 * ones, array([1.0]), array([2.0**-24]))
    assert "algsimp: divide(a, C) => multiply(a, C)" in found(program, inputs, wrong)
    assert found(program, inputs, (0 * ones, array([1.0]), array([0.5]))) == []


def test_rewriting_whose_steps_flush_is_found_by_what_it_permits() -> None:
    """The quotient is normal, and e^-x is not (jax-ml/jax#38098)."""
    program = parse_module("""
func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
  %a = stablehlo.constant dense<1.442695> : tensor<1xf32>
  %0 = stablehlo.exponential %x : tensor<1xf32>
  %1 = stablehlo.divide %a, %0 : tensor<1xf32>
  return %1 : tensor<1xf32>
}
""")
    inputs = (array([87.33655]),)
    (actual,) = open_session("cpu").run(program, [inputs])
    if actual[0][0]:
        pytest.skip("this release divides")
    change = "divide(C, exponential(a)) => multiply(C, exponential(negate(a)))"
    assert found(program, inputs, tuple(actual)) == [f"algsimp: {change}"]


def test_the_first_of_equal_rewritings_is_named() -> None:
    program = parse_module("""
func.func @main() -> (tensor<1xi1>, tensor<1xi1>) {
  %n = stablehlo.constant dense<0x7FC00000> : tensor<1xf32>
  %z = stablehlo.constant dense<0.0> : tensor<1xf32>
  %0 = stablehlo.compare LT, %n, %z, TOTALORDER : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  %1 = stablehlo.compare GT, %n, %z, TOTALORDER : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  %2 = stablehlo.compare LT, %z, %n, TOTALORDER : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  return %1, %2 : tensor<1xi1>, tensor<1xi1>
}
""")
    session = open_session("cpu")
    (actual,) = session.run(program, [()])
    made = explain_by_module(session, 5.0, program, [()], [actual]).rewritings
    assert [one.operation for one in made] == [program.main.body.operations[3]]

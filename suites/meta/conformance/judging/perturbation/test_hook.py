"""The hook that perturbs the results of a program's operations."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.perturbation.arbitrary_values import Filling
from conformance.judging.perturbation.hook import PerturbationHook, Tolerances
from conformance.judging.perturbation.overrides import Override
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import apply, evaluate
from suites.meta.support.small_programs import array

CHAIN = parse_module("""
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.exponential %x : tensor<2xf32>
  %1 = stablehlo.negate %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}""")
X = array([0.5, 1.5])
EXP, NEG = CHAIN.main.body.operations[:2]
OF_EXP, OF_NEG = EXP.results[0].name, NEG.results[0].name


def run(program=CHAIN, x=X, **given) -> tuple[np.ndarray, PerturbationHook]:
    values = {program.main.arguments[0].name: x}
    hook = PerturbationHook(values, Hardware.CPU, program.main.body.operations, **given)
    (result,) = evaluate(program, (x,), on_result=hook)
    return result, hook


def test_without_perturbations_the_hook_only_records() -> None:
    result, hook = run()
    assert np.array_equal(result, evaluate(CHAIN, (X,))[0])
    assert {OF_EXP, OF_NEG} <= set(hook.found)
    assert np.array_equal(hook.found[OF_NEG], result)
    assert not hook.affected
    assert not hook.opened


def test_an_override_changes_later_results() -> None:
    (want,) = apply(EXP, (X,))
    result, _ = run(shifts=[Override(EXP, (want,), (want + 1,))])
    assert np.array_equal(result, -(want + 1))


def test_a_value_that_is_taken_replaces_the_computed_value() -> None:
    result, hook = run(taken={OF_EXP: array([3.0, 4.0])})
    assert result.tolist() == [-3.0, -4.0]
    assert np.array_equal(hook.found[OF_EXP], apply(EXP, (X,))[0])


def test_unspecified_elements_are_filled_and_their_reason_is_kept() -> None:
    program = parse_module("""
func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.divide %x, %x : tensor<2xi32>
  return %0 : tensor<2xi32>
}""")
    x = array([0, 3], "si32")
    seen = [run(program, x, fill=np.random.default_rng(n)) for n in range(4)]
    assert len({int(result[0]) for result, _ in seen}) > 1
    assert {int(result[1]) for result, _ in seen} == {1}
    assert all(hook.opened for _, hook in seen)


def test_results_of_exact_operations_are_not_moved() -> None:
    result, hook = run(directions=np.ones)
    assert not np.array_equal(result, evaluate(CHAIN, (X,))[0])
    assert np.array_equal(result, -hook.found[OF_EXP])
    assert hook.affected >= {OF_EXP, OF_NEG}


def test_movers_are_reused_for_the_same_arrays_only() -> None:
    kept, results = Tolerances(), apply(EXP, (X,))
    first = kept.mover(EXP, (X,), results, Hardware.CPU)
    assert kept.mover(EXP, (X,), results, Hardware.CPU) is first
    assert kept.mover(EXP, (X.copy(),), results, Hardware.CPU) is not first


@pytest.mark.parametrize("filling", list(Filling))
def test_random_numbers_are_unspecified_and_never_nan(filling: Filling) -> None:
    program = parse_module("""
func.func @main(%x: tensor<f32>) -> tensor<8xf32> {
  %b = stablehlo.constant dense<1.0> : tensor<f32>
  %s = stablehlo.constant dense<[8]> : tensor<1xi64>
  %0 = stablehlo.rng %x, %b, %s, distribution = UNIFORM
    : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}""")
    result, hook = run(program, array(0.0), fill=np.random.default_rng(3), filling=filling)
    assert "random numbers" in hook.opened
    assert not np.isnan(result).all()

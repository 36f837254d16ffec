"""Batch normalization of f64 on TPUs: results of steps on pairs of f32, and others."""

from __future__ import annotations

import re

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.pairs.float_pairs import LABEL
from conformance.known.xla.pairs.pair_normalization import (
    PairArithmetic,
    is_normalization,
    steps_of,
)
from conformance.known.xla.pairs.representation import SMALLEST
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array

VECTOR = "tensor<2xf64>"
INFERENCE = """
func.func @main(%x: tensor<3x2xf64>, %s: VECTOR, OFFSET%m: VECTOR, %v: VECTOR) -> tensor<3x2xf64> {
  CONSTANT%0 = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v)
    <{epsilon = 0.0 : f32, feature_index = 1 : i64}>
    : (tensor<3x2xf64>, VECTOR, VECTOR, VECTOR, VECTOR) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}""".replace("VECTOR", VECTOR)
VARIABLE = INFERENCE.replace("OFFSET", f"%o: {VECTOR}, ").replace("CONSTANT", "")
CONSTANT = INFERENCE.replace("OFFSET", "").replace(
    "CONSTANT", f"%o = stablehlo.constant dense<[8.0, -3.0]> : {VECTOR}\n  "
)
GRAD = """
func.func @main(%x: tensor<3x2xf64>, %s: VECTOR, %m: VECTOR, %v: VECTOR, %g: tensor<3x2xf64>)
    -> (tensor<3x2xf64>, VECTOR, VECTOR) {
  %0:3 = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g)
    <{epsilon = 0.0 : f32, feature_index = 1 : i64}>
    : (tensor<3x2xf64>, VECTOR, VECTOR, VECTOR, tensor<3x2xf64>)
    -> (tensor<3x2xf64>, VECTOR, VECTOR)
  return %0#0, %0#1, %0#2 : tensor<3x2xf64>, VECTOR, VECTOR
}""".replace("VECTOR", VECTOR)
TRAINING = """
func.func @main(%x: tensor<3x2xf64>, %s: VECTOR, %o: VECTOR)
    -> (tensor<3x2xf64>, VECTOR, VECTOR) {
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %o)
    <{epsilon = 0.0 : f32, feature_index = 1 : i64}>
    : (tensor<3x2xf64>, VECTOR, VECTOR) -> (tensor<3x2xf64>, VECTOR, VECTOR)
  return %0#0, %0#1, %0#2 : tensor<3x2xf64>, VECTOR, VECTOR
}""".replace("VECTOR", VECTOR)
X = np.array([[0.25, 1.5], [-2.0, 0.3], [0.7, -0.9]])
SCALE, OFFSET, MEAN, VARIANCE = (
    np.array(one) for one in ([1.5, -2.0], [8.0, -3.0], [0.1, 0.2], [0.7, 1.3])
)
TINY = np.array([1e-300, 1.3])


def kinds(text: str, inputs: list[Array], error: Array) -> set[str]:
    """Return the classes of results whose first is off by relative errors, infinite for NaN."""
    program = parse_module(text)
    expected = evaluate(program, inputs)
    first = np.where(
        np.isinf(error), np.nan, expected[0] * (1 + np.where(np.isinf(error), 0, error))
    )
    found = judge_operation(program, inputs, expected, [first, *expected[1:]], Hardware.TPU)
    return {one.kind for one in found.failing}


def at(number: float) -> Array:
    return np.array([[number, 0], [0, 0], [0, 0]])


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        (VARIABLE, [X, SCALE, OFFSET, MEAN, VARIANCE]),
        (GRAD, [X, SCALE, MEAN, VARIANCE, X[::-1]]),
        (TRAINING, [X, SCALE, OFFSET]),
    ],
)
def test_results_have_the_accuracy_of_pairs(text: str, inputs: list[Array]) -> None:
    assert kinds(text, inputs, at(2.0**-44)) == {LABEL}
    for error in (2.0**-30, np.inf):
        assert LABEL not in kinds(text, inputs, at(error))


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        (VARIABLE, [X, SCALE, OFFSET, MEAN, TINY]),
        (VARIABLE, [X * [1e200, 1.0], SCALE, OFFSET, MEAN, VARIANCE]),
        (GRAD, [X, SCALE, MEAN, TINY, X[::-1]]),
        (TRAINING, [X * [1e30, 1.0], SCALE, OFFSET]),
        (TRAINING, [X * [1e-30, 1.0], SCALE, OFFSET]),
    ],
)
def test_what_overflows_or_vanishes_on_the_way_is_lost_in_its_feature_alone(
    text: str, inputs: list[Array]
) -> None:
    assert kinds(text, inputs, at(np.inf)) == {LABEL}
    assert LABEL not in kinds(text, inputs, at(np.inf)[:, ::-1])


def test_sums_with_a_constant_offset_are_those_of_f32() -> None:
    assert kinds(CONSTANT, [X, SCALE, MEAN, VARIANCE], at(2.0**-26)) == {LABEL}
    assert LABEL not in kinds(CONSTANT, [X, SCALE, MEAN, VARIANCE], at(2.0**-16))
    assert LABEL not in kinds(VARIABLE, [X, SCALE, OFFSET, MEAN, VARIANCE], at(2.0**-26))


@pytest.mark.parametrize("constant", ["x", "v", "g"])
def test_gradients_with_a_constant_are_those_of_f32(constant: str) -> None:
    inputs = {"x": X, "s": SCALE, "m": MEAN, "v": VARIANCE, "g": X[::-1]}
    of = "tensor<3x2xf64>" if inputs[constant].ndim == 2 else VECTOR
    given = str(inputs[constant].tolist())
    text = re.sub(rf", %{constant}: {of}|%{constant}: {of}, ", "", GRAD, count=1)
    text = text.replace("%0:3", f"%{constant} = stablehlo.constant dense<{given}> : {of}\n  %0:3")
    arguments = [array for name, array in inputs.items() if name != constant]
    assert kinds(text, arguments, at(2.0**-26)) == {LABEL}
    assert LABEL not in kinds(text, arguments, at(2.0**-12))
    assert LABEL not in kinds(GRAD, [*inputs.values()], at(2.0**-26))


MATRIX = """
func.func @main(%y: tensor<f64>) -> tensor<2x2xf64> {
  %a = stablehlo.constant dense<[[0.7, 0.2], [0.2, 0.9]]> : tensor<2x2xf64>
  %0 = stablehlo.cholesky %a, lower = true : tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}"""


def test_factors_of_a_constant_matrix_are_those_of_f32() -> None:
    program = parse_module(MATRIX)
    y = np.array(1.0)
    expected = evaluate(program, [y])
    off = [expected[0] * [[1, 1], [1, 1 + 2.0**-26]]]
    found = judge_operation(program, [y], expected, off, Hardware.TPU)
    assert {one.kind for one in found.failing} == {LABEL}


UNIT, COARSE = 2.0**-44, 2.0**-22
X_OF_ONE = np.array([[1.0], [3.0]])
ONE = np.ones(1)


def steps(text: str, inputs: list[Array], unit: float = 0.0) -> list[tuple[list, list, list]]:
    """Return values, errors and lost elements of each result, for a single feature."""
    program = parse_module(text.replace("3x2xf64", "2x1xf64").replace("<2xf64>", "<1xf64>"))
    found = steps_of(program.subject, inputs, unit, COARSE)
    return [
        tuple(part.reshape(-1).tolist() for part in (one.value, one.error, one.lost))
        for one in found
    ]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "inputs", "results", "units"),
    [
        (VARIABLE, [X_OF_ONE, 2 * ONE, 5 * ONE, 7 * ONE, 4 * ONE], [[-1, 1]], [[56, 68]]),
        (
            TRAINING,
            [X_OF_ONE, 2 * ONE, 5 * ONE],
            [[3, 7], [2], [1]],
            [[138, 146], [12], [93]],
        ),
        # the gradients are centred by their mean 4 and by the covariance 1 of x with them
        (
            GRAD,
            [X_OF_ONE, 2 * ONE, 2 * ONE, 4 * ONE, np.array([[2.0], [6.0]])],
            [[-1.5, 1.5], [2], [8]],
            [[52.5, 57.5], [46], [32]],
        ),
    ],
    ids=["inference", "training", "grad"],
)
def test_steps_give_the_results_of_the_formula_with_the_errors_of_each(
    text: str, inputs: list[Array], results: list[list[float]], units: list[list[float]]
) -> None:
    """The units are worked out by hand, step by step: |x| dy + dx |y| + |x y| for a product."""
    for (value, error, lost), result in zip(steps(text, inputs), results, strict=True):
        assert value == result
        assert max(error) < 2.0**-118
        assert not any(lost)
    errors = [error for _, error, _ in steps(text, inputs, UNIT)]
    for found, unit in zip(errors, units, strict=True):
        assert np.array(found) / UNIT == pytest.approx(unit, rel=1e-9)


def test_roots_of_numbers_below_the_normal_range_are_lost() -> None:
    for variance, is_lost in ((2.0**-127, True), (2.0**-120, False)):
        ((_, _, lost),) = steps(VARIABLE, [X_OF_ONE, ONE, ONE, ONE, variance * ONE])
        assert lost == [is_lost] * 2


@pytest.mark.parametrize(
    ("number", "error", "is_lost"),
    [
        (3.0, 3 * UNIT, False),
        (2.0**110, 2.0**110 * COARSE, False),
        (2.0**-110, 2.0**-110 * COARSE, False),
        (2.0**126, 2.0**126 * COARSE, True),
        (1e300, 0.0, True),
    ],
)
def test_steps_of_pairs_are_coarse_out_of_the_range_of_their_second_numbers(
    number: float, error: float, is_lost: bool
) -> None:
    found = PairArithmetic(UNIT, COARSE).exactly(np.array([number]))
    assert found.error.tolist() == [error + SMALLEST]
    assert found.lost.tolist() == [is_lost]
    assert found.value.tolist() == [number if number < 1e40 else np.inf]


def test_other_operations_are_no_normalizations() -> None:
    assert is_normalization(parse_module(GRAD).subject)
    assert not is_normalization(parse_module(MATRIX).subject)

"""Batch normalization: against the specification's formulas in rational arithmetic; the rule."""

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from reference.interpreter.evaluate import evaluate
from reference.ir.program import TensorType
from reference.ir.types import ELEMENT_TYPES
from reference.numerics.rounding import to_float64
from reference.ops import normalization as ops
from reference.unspecified.table import unspecified_elements
from suites.meta.support.ops.normalization import (
    OPS_HERE,
    operands_of,
    program,
    root,
)
from suites.meta.support.ops.violations import violated_by


def broadcast_per_feature(numbers, rank, index):
    """Return for each feature its elements, or its only number, as fractions."""
    if numbers.ndim < rank:
        return [Fraction(float(number)) for number in numbers]
    rows = np.moveaxis(numbers, index, 0).reshape(numbers.shape[index], -1)
    return [[Fraction(float(one)) for one in row] for row in rows]


def definition(op, operands, epsilon, index):
    """Return the specification's formulas, one feature at a time, in rational numbers and roots."""
    shape = operands[0].shape
    split = [broadcast_per_feature(to_float64(a), len(shape), index) for a in operands]
    large = np.empty((shape[index], operands[0].size // shape[index]), object)
    vectors = [np.empty(shape[index], object) for _ in range(2)]
    for k in range(shape[index]):
        rows = [one[k] for one in split]
        if op == "batch_norm_grad":
            x, scale, mean, variance, grad = rows
            n, std = len(x), root(variance + Fraction(epsilon))
            total = sum(g * (v - mean) for g, v in zip(grad, x, strict=True))
            for i, (g, v) in enumerate(zip(grad, x, strict=True)):
                inner = g * n - sum(grad) - total * (v - mean) / (variance + Fraction(epsilon))
                large[k, i] = to_mpf(scale) / std / n * to_mpf(inner)
            vectors[0][k], vectors[1][k] = to_mpf(total) / std, to_mpf(sum(grad))
            continue
        x, scale, offset = rows[:3]
        mean = sum(x) / len(x)
        variance = sum((v - mean) ** 2 for v in x) / len(x)
        vectors[0][k], vectors[1][k] = to_mpf(mean), to_mpf(variance)
        if op == "batch_norm_inference":
            mean, variance = rows[3:]
        for i, v in enumerate(x):
            std = root(variance + Fraction(epsilon))
            large[k, i] = to_mpf(scale) * (to_mpf(v - mean) / std) + to_mpf(offset)
    rest = tuple(shape[axis] for axis in range(len(shape)) if axis != index)
    first = np.moveaxis(large.reshape(shape[index], *rest), 0, index)
    return (first,) if op == "batch_norm_inference" else (first, *vectors)


def to_mpf(x):
    return mpmath.mpf(x.numerator) / x.denominator


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize("name", ["bf16", "f32", "f64"])
@pytest.mark.parametrize("op", OPS_HERE)
def test_results_are_correctly_rounded(op, name, index) -> None:
    operands = operands_of(op, name, (3, 4, 2), index)
    results = evaluate(program(op, operands, 0.5, index), operands)
    element_type = ELEMENT_TYPES[name]
    with mpmath.workprec(200):
        for result, want in zip(results, definition(op, operands, 0.5, index), strict=True):
            assert result.shape == want.shape
            got = result.astype(np.longdouble) if name == "f64" else to_float64(result)
            for one, exact in zip(got.reshape(-1), want.reshape(-1), strict=True):
                off = abs(mpmath.mpf(float(one)) - exact)
                # what cancels in a difference of numbers near 1 keeps an absolute error
                slack = 2.0 ** (-60 if name == "f64" else -48)
                assert (
                    off
                    <= 0.5001 * 2.0 ** (1 - element_type.float_format.precision) * abs(exact)
                    + slack
                )


def test_epsilon_and_the_count_are_constants_of_the_type() -> None:
    operand = np.zeros((2, 1), ELEMENT_TYPES["f8E5M2"].storage)
    ones = np.ones(1, operand.dtype)
    args = (operand + ones, ones, 0 * ones, 0 * ones, 0 * ones)
    # 0.3 is 0.3125 in f8E5M2, of which the square root's reciprocal rounds to 1.75
    (result,) = evaluate(program("batch_norm_inference", args, 0.3, 1), args)
    assert to_float64(result).tolist() == [[1.75], [1.75]]


@pytest.mark.parametrize("op", OPS_HERE)
def test_empty_dimensions(op) -> None:
    for shape, index in (((0, 3), 1), ((3, 0), 1), ((2, 0, 3), 2), ((0,), 0), ((3,), 0)):
        operands = operands_of(op, "f32", shape, index)
        results = evaluate(program(op, operands, 0.5, index), operands)
        assert results[0].shape == shape
        if op == "batch_norm_training" and shape[index] and 0 in shape:
            assert np.isnan(results[1]).all()  # 0 / 0
        if op == "batch_norm_grad" and 0 in shape:
            assert (results[1] == 0).all()


def test_special_values_propagate_by_the_formulas() -> None:
    x = np.array([[1, np.nan, np.inf], [3, 2, 2]], np.float32)
    ones = np.ones(3, np.float32)
    output, mean, variance = evaluate(
        program("batch_norm_training", (x, ones, ones), 0.0, 1), (x, ones, ones)
    )
    np.testing.assert_array_equal(mean, np.array([2, np.nan, np.inf], np.float32))
    np.testing.assert_array_equal(variance, np.array([1, np.nan, np.nan], np.float32))
    np.testing.assert_array_equal(output[:, 0], np.array([0, 2], np.float32))
    assert np.isnan(output[:, 1:]).all()


@pytest.mark.parametrize("op", OPS_HERE)
def test_sums_from_a_zero_that_the_type_lacks_are_unspecified(op) -> None:
    operands = operands_of(op, "f8E8M0FNU", (2, 2), 1)
    made = program(op, operands, 0.5, 1)
    right = evaluate(made, operands)
    for index, result in enumerate(right):
        found = unspecified_elements(made.main.body.operations[0], operands, result, index)
        labels = [label for label, _ in found]
        assert labels == ([] if op == "batch_norm_inference" else ["sum of a type without zero"])
        assert all(mask.all() for _, mask in found)


# --- Type functions and parts of the formulas ----------------------------------------------------

F32, F64 = ELEMENT_TYPES["f32"], ELEMENT_TYPES["f64"]
LARGE, SMALL = TensorType((4, 3), F32), TensorType((3,), F32)
OTHER, WIDE = TensorType((4,), F32), TensorType((3,), F64)


@pytest.mark.parametrize(
    ("changed", "ids"),
    [
        ({}, []),
        ({"offset": TensorType((1, 3), F32)}, ["I3"]),
        ({"feature_index": 2}, ["C1"]),
        ({"scale": WIDE}, ["C2"]),
        ({"scale": OTHER}, ["C3"]),
        ({"offset": OTHER}, ["C4"]),
        ({"mean": OTHER}, ["C5"]),
        ({"variance": OTHER}, ["C6"]),
        ({"result": TensorType((3, 3), F32)}, ["C7"]),
        ({"operand": TensorType((4, None), F32)}, []),
    ],
)
def test_constraints_of_inference(changed: dict[str, Any], ids: list[str]) -> None:
    given = {
        "operand": LARGE, "scale": SMALL, "offset": SMALL, "mean": SMALL, "variance": SMALL,
        "epsilon": 0.0, "feature_index": 1,
    }  # fmt: skip
    assert violated_by(ops.batch_norm_inference_type, **given | changed) == ids


@pytest.mark.parametrize(
    ("changed", "ids"),
    [
        ({}, []),
        ({"results": (LARGE,)}, ["result"]),
        ({"feature_index": -1}, ["C1"]),
        ({"offset": WIDE}, ["C2"]),
        ({"scale": OTHER}, ["C3"]),
        ({"offset": OTHER}, ["C4"]),
        ({"results": (LARGE, OTHER, SMALL)}, ["C5"]),
        ({"results": (LARGE, SMALL, OTHER)}, ["C6"]),
        ({"results": (TensorType((3, 3), F32), SMALL, SMALL)}, ["C7"]),
    ],
)
def test_constraints_of_training(changed: dict[str, Any], ids: list[str]) -> None:
    given = {"operand": LARGE, "scale": SMALL, "offset": SMALL, "epsilon": 0.0, "feature_index": 1}
    if "scale" in changed:  # results repeat its type
        changed = changed | {"results": (LARGE, SMALL, SMALL)}
    assert violated_by(ops.batch_norm_training_type, **given | changed) == ids


@pytest.mark.parametrize(
    ("changed", "ids"),
    [
        ({}, []),
        ({"results": (LARGE, SMALL)}, ["result"]),
        ({"feature_index": 2}, ["C1"]),
        ({"mean": WIDE}, ["C2"]),
        ({"grad_output": TensorType((3, 3), F32)}, ["C3"]),
        ({"variance": OTHER}, ["C4"]),
        ({"scale": OTHER, "mean": OTHER, "variance": OTHER}, ["C5"]),
    ],
)
def test_constraints_of_the_gradient(changed: dict[str, Any], ids: list[str]) -> None:
    given = {
        "operand": LARGE, "scale": SMALL, "mean": SMALL, "variance": SMALL, "grad_output": LARGE,
        "epsilon": 0.0, "feature_index": 1,
    }  # fmt: skip
    assert violated_by(ops.batch_norm_grad_type, **given | changed) == ids


def test_all_dimensions_but_the_features_are_summed() -> None:
    operand = np.zeros((2, 3, 4), np.float32)
    assert ops.reduced_axes(operand, 1) == (0, 2)
    assert ops.shape_per_feature(np.arange(3), operand, 1).shape == (1, 3, 1)


def test_constants_are_rounded_to_the_element_type() -> None:
    """1000 elements per feature are 1000 in f16, but 1024 in f8E5M2."""
    operand = np.zeros((1000, 1))
    for name, rounded in (("f16", 1000), ("f8E5M2", 1024)):
        _, count = ops.constants(operand.astype(ELEMENT_TYPES[name].storage), 1, 0.1)
        assert count == rounded
    epsilon, _ = ops.constants(operand.astype(np.float32), 1, 0.1)
    assert epsilon == np.float32(0.1)


def test_moments_are_the_mean_and_the_mean_square_of_the_distance() -> None:
    mean, variance = ops.moments(np.array([[1.0, 2], [3, 6]]), 2, (0,))
    assert (mean.tolist(), variance.tolist()) == ([[2, 4]], [[1, 4]])


def test_a_sum_that_overflows_on_the_way_stays_infinite() -> None:
    """The mean of 60000 and 60000 is a number of f16, but their sum is not."""
    x = np.full((2, 1), 60000, np.float16)
    one = np.ones(1, np.float16)
    _, mean, _ = ops.batch_norm_training(x, one, one, epsilon=0.0, feature_index=1)
    assert mean.tolist() == [np.inf]

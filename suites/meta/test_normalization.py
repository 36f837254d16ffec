"""Batch normalization: against the specification's formulas in rational arithmetic; the rule."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from conformance.bounds.balls import Ball
from conformance.compare import judge
from conformance.tolerance import RULES
from conformance.verdict import Verdict
from generators.shaped_values import fill_shaped
from generators.values import fill
from reference.evaluate import evaluate
from reference.ops import OPS
from reference.program import TensorType, Value, single_op
from reference.rounding import round_to, to_float64
from reference.types import ELEMENT_TYPES, FLOATS, element_type_of
from reference.unspecified import unspecified

NORMALIZED = RULES["batch normalization"]
OPS_HERE = ("batch_norm_grad", "batch_norm_inference", "batch_norm_training")
RESULTS = {"batch_norm_grad": "lss", "batch_norm_inference": "l", "batch_norm_training": "lss"}


def filled(name, shape, profile, seed=1):
    of = TensorType(shape, ELEMENT_TYPES[name])
    if ":" in profile:
        return fill_shaped(of.element, shape, profile, seed)
    return fill(of, profile, seed)


def operands_of(op, name, shape, index, seed=1, profile="unit"):
    """Operands whose variances are 1 to 4."""
    vector = (shape[index],)
    made = {
        one: filled(name, shape if one in ("operand", "grad_output") else vector, profile, seed + n)
        for n, one in enumerate(OPS[op].operands)
    }
    if "variance" in made:
        made["variance"] = filled(name, vector, "within:1:4", seed)
    return tuple(made.values())


def program(op, operands, epsilon, index):
    kinds = [TensorType(a.shape, element_type_of(a)) for a in operands]
    values = tuple(Value(name, kind) for name, kind in zip(OPS[op].operands, kinds, strict=True))
    results = tuple(kinds[0] if size == "l" else kinds[1] for size in RESULTS[op])
    return single_op(op, values, results, {"epsilon": epsilon, "feature_index": index})


def root(x):
    return mpmath.sqrt(mpmath.mpf(x.numerator) / x.denominator)


def per_feature(numbers, rank, index):
    """For each feature its elements, or its only number, as fractions."""
    if numbers.ndim < rank:
        return [Fraction(float(one)) for one in numbers]
    rows = np.moveaxis(numbers, index, 0).reshape(numbers.shape[index], -1)
    return [[Fraction(float(one)) for one in row] for row in rows]


def definition(op, operands, epsilon, index):
    """The specification's formulas, one feature at a time, in rational numbers and roots."""
    shape = operands[0].shape
    split = [per_feature(to_float64(a), len(shape), index) for a in operands]
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
                large[k, i] = real(scale) / std / n * real(inner)
            vectors[0][k], vectors[1][k] = real(total) / std, real(sum(grad))
            continue
        x, scale, offset = rows[:3]
        mean = sum(x) / len(x)
        variance = sum((v - mean) ** 2 for v in x) / len(x)
        vectors[0][k], vectors[1][k] = real(mean), real(variance)
        if op == "batch_norm_inference":
            mean, variance = rows[3:]
        for i, v in enumerate(x):
            std = root(variance + Fraction(epsilon))
            large[k, i] = real(scale) * (real(v - mean) / std) + real(offset)
    rest = tuple(shape[axis] for axis in range(len(shape)) if axis != index)
    first = np.moveaxis(large.reshape(shape[index], *rest), 0, index)
    return (first,) if op == "batch_norm_inference" else (first, *vectors)


def real(x):
    return mpmath.mpf(x.numerator) / x.denominator


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize("name", ["bf16", "f32", "f64"])
@pytest.mark.parametrize("op", OPS_HERE)
def test_results_are_correctly_rounded(op, name, index) -> None:
    operands = operands_of(op, name, (3, 4, 2), index)
    results = evaluate(program(op, operands, 0.5, index), operands)
    of = ELEMENT_TYPES[name]
    with mpmath.workprec(200):
        for result, want in zip(results, definition(op, operands, 0.5, index), strict=True):
            assert result.shape == want.shape
            got = result.astype(np.longdouble) if name == "f64" else to_float64(result)
            for one, exact in zip(got.reshape(-1), want.reshape(-1), strict=True):
                off = abs(mpmath.mpf(float(one)) - exact)
                # what cancels in a difference of numbers near 1 keeps an absolute error
                slack = 2.0 ** (-60 if name == "f64" else -48)
                assert off <= 0.5001 * 2.0 ** (1 - of.float_format.precision) * abs(exact) + slack


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


def test_special_numbers_go_where_the_formulas_put_them() -> None:
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
def test_sums_from_a_zero_that_the_type_does_not_have_are_open(op) -> None:
    operands = operands_of(op, "f8E8M0FNU", (2, 2), 1)
    made = program(op, operands, 0.5, 1)
    right = evaluate(made, operands)
    for number, result in enumerate(right):
        found = unspecified(made.main.body.operations[0], operands, result, number)
        labels = [label for label, _ in found]
        assert labels == ([] if op == "batch_norm_inference" else ["sum of a type without zero"])
        assert all(mask.all() for _, mask in found)


# --- The rule ------------------------------------------------------------------------------------


def literally(op, operands, epsilon, index, *, folded=False):
    """The formulas in the operands' own arithmetic, as a backend computes them."""
    of = operands[0].dtype.type
    axes = tuple(axis for axis in range(operands[0].ndim) if axis != index)
    shape = [1] * operands[0].ndim
    shape[index] = -1
    spread = [a if a.ndim == len(shape) and a.ndim > 1 else a.reshape(shape) for a in operands]
    count = of(operands[0].size // operands[0].shape[index])
    epsilon = of(epsilon)
    if op == "batch_norm_grad":
        x, scale, mean, variance, grad = spread
        std, centered = np.sqrt(variance + epsilon), x - mean
        total, offset = (np.sum(v, axis=axes, keepdims=True) for v in (grad * centered, grad))
        inner = grad * count - offset - total * centered / (variance + epsilon)
        first = np.sum(grad * (centered / std), axis=axes)
        return scale / std / count * inner, first, offset.reshape(-1)
    x, scale, offset = spread[:3]
    if op == "batch_norm_inference":
        mean, variance = spread[3:]
    else:
        mean = np.sum(x, axis=axes, keepdims=True) / count
        variance = np.sum((x - mean) ** 2, axis=axes, keepdims=True) / count
        if folded:
            variance = np.sum(x * x, axis=axes, keepdims=True) * (of(1) / count) - mean * mean
    factor = scale * (of(1) / np.sqrt(variance + epsilon))
    output = scale * ((x - mean) / np.sqrt(variance + epsilon)) + offset
    if folded:
        output = x * factor + (offset - mean * factor)
    if op == "batch_norm_inference":
        return (output,)
    return output, mean.reshape(-1), variance.reshape(-1)


def judged(op, operands, actual, epsilon=0.5, index=1):
    made = program(op, operands, epsilon, index)
    return judge(made, operands, evaluate(made, operands), actual, NORMALIZED)


@pytest.mark.parametrize("profile", ["unit", "moderate", "small_integers", "near_one", "wide"])
@pytest.mark.parametrize("name", ["f16", "f32", "f64"])
@pytest.mark.parametrize("op", OPS_HERE)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_formulas_in_the_type_itself_are_within_the_rule(op, name, profile) -> None:
    for seed, shape in enumerate(((3, 4), (40, 3), (5, 2, 7))):
        operands = operands_of(op, name, shape, 1, seed, profile)
        for folded in (False, True):
            actual = literally(op, operands, 0.5, 1, folded=folded)
            found = judged(op, operands, actual)
            assert found.verdict in (Verdict.PASS, Verdict.FLUSHED), found.message


@pytest.mark.parametrize("op", OPS_HERE)
def test_what_is_wrong_is_found(op) -> None:
    operands = operands_of(op, "f32", (6, 3, 5), 1)
    right = evaluate(program(op, operands, 0.5, 1), operands)
    for number, result in enumerate(right):
        slight = 2.0 ** (-15 if op == "batch_norm_grad" else -17)
        for factor, want in ((1 + slight, Verdict.INACCURATE), (1.01, Verdict.DIVERGENT)):
            actual = [one.copy() for one in right]
            at = np.unravel_index(np.abs(result).argmax(), result.shape)
            actual[number][at] *= np.float32(factor)
            assert judged(op, operands, tuple(actual)).verdict is want
    # another dimension's features, another epsilon
    square = operands_of(op, "f32", (4, 4), 1)
    for epsilon, index in ((0.5, 0), (0.4, 1)):
        other = evaluate(program(op, square, epsilon, index), square)
        assert judged(op, square, other).verdict is Verdict.DIVERGENT


def test_exact_sums_are_judged_exactly() -> None:
    """Small integers whose mean is one: no rounding is needed before the square root."""
    x = np.array([[1, 2], [3, 2], [5, 6], [7, 6]], np.float32)
    ones = np.ones(2, np.float32)
    right = evaluate(program("batch_norm_training", (x, ones, ones), 1.0, 1), (x, ones, ones))
    assert [right[1].tolist(), right[2].tolist()] == [[4, 4], [5, 4]]
    for number in (1, 2):
        actual = [one.copy() for one in right]
        actual[number][0] = np.nextafter(actual[number][0], np.float32(0))
        assert judged("batch_norm_training", (x, ones, ones), tuple(actual), 1.0).verdict.fails
    zero = 0 * ones  # a scale of 0 gives the offset, whatever the operand
    right = evaluate(program("batch_norm_training", (x, zero, ones), 1.0, 1), (x, zero, ones))
    actual = (np.nextafter(right[0], np.float32(0)), *right[1:])
    assert judged("batch_norm_training", (x, zero, ones), actual, 1.0).verdict.fails


def test_anything_goes_where_there_is_no_bound_but_to_lose_a_nan() -> None:
    x = np.array([[1, 1, np.nan], [1, 2, 3]], np.float32)
    ones = np.ones(3, np.float32)
    args = (x, ones, ones, ones, np.array([0, 1, 1], np.float32))
    right = evaluate(program("batch_norm_inference", args, 0.0, 1), args)[0]
    assert np.isnan(right[:, 0]).all()  # 0 / 0, and a rounded 0 may be anything
    for at, want in (
        ((0, 0), Verdict.PASS),
        ((1, 1), Verdict.DIVERGENT),
        ((0, 2), Verdict.DIVERGENT),
    ):
        actual = right.copy()
        actual[at] = 42
        assert judged("batch_norm_inference", args, (actual,), 0.0).verdict is want


# --- Numbers with errors -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["f8E4M3", "f16", "f32"])
def test_balls_hold_what_rounded_arithmetic_gives(name) -> None:
    of = ELEMENT_TYPES[name]
    x, y = (to_float64(filled(name, (300,), "unit", seed)) for seed in (1, 2))

    def rounded(numbers):
        return to_float64(round_to(np.asarray(numbers, np.float64), of))

    one, two = Ball(x, 0.0, of), Ball(y, 0.0, of)
    total = float(0)
    for number in x:
        total = float(rounded(total + number))
    pairs = (
        (one + two, rounded(x + y)),
        (one - two * two, rounded(x - rounded(y * y))),
        (one * two + one, rounded(rounded(x * y) + x)),
        (one / (two + 3), rounded(x / rounded(y + 3))),
        (one / (two + 3), rounded(x * rounded(1 / rounded(y + 3)))),
        (np.sqrt(one * one), rounded(np.sqrt(rounded(x * x)))),
        (np.add.reduce(one, axis=(0,), keepdims=True), np.array([total])),
    )
    for ball, numbers in pairs:
        assert isinstance(ball, Ball)
        assert (np.abs(numbers - ball.exact) <= ball.radius).all()
        assert np.isfinite(ball.radius).all()


def test_balls_know_exact_results_and_overflow() -> None:
    of = ELEMENT_TYPES["f16"]
    integers = Ball(np.array([1.0, 2.0, 3.0]), 0.0, of)
    assert (integers + integers).radius.tolist() == [0, 0, 0]
    assert np.add.reduce(integers, axis=(0,), keepdims=True).radius.tolist() == [0]
    assert (integers / 3).radius.tolist() != [0, 0, 0]
    assert (integers * 40000).radius.tolist() == [0, np.inf, np.inf]
    assert (1 / (integers - 2)).radius[1] == np.inf
    positive = Ball(np.array([2.0]), 0.0, ELEMENT_TYPES["f8E8M0FNU"])
    assert (positive - 4).radius.tolist() == [np.inf]  # that type has no negative numbers


def test_every_floating_point_type_is_judged_without_error() -> None:
    for of in FLOATS:
        for op in OPS_HERE:
            operands = operands_of(op, of.name, (2, 3), 1, profile="special")
            made = program(op, operands, 0.5, 1)
            right = evaluate(made, operands)
            other = tuple(np.flip(one, axis=0).copy() for one in right)
            assert judge(made, operands, right, other, NORMALIZED).total == sum(
                one.size for one in right
            )

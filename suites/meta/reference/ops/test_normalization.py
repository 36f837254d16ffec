"""Batch normalization: against the specification's formulas in rational arithmetic; the rule."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.tolerance.bounds.balls import Arithmetic, Ball, exactly
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.rules import RULES
from conformance.verdict import Verdict
from generators.values.contents import fill
from generators.values.shaped_values import fill_shaped
from reference.interpreter.evaluate import evaluate
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, FLOATS, element_type_of
from reference.numerics.rounding import round_to, to_float64
from reference.ops.table import OPS
from reference.unspecified.table import unspecified

NORMALIZED = RULES["batch normalization"]
HABITS = {habit.label for habit in NORMALIZED.habits}
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
        found = judged(op, operands, literally(op, operands, 0.5, 1))
        assert found.verdict is Verdict.PASS, found.message
        if op == "batch_norm_grad":
            continue
        found = judged(op, operands, literally(op, operands, 0.5, 1, folded=True))
        assert found.kind in ("", *HABITS), found.message


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


def one_feature(*columns, name="f32"):
    """Operands of one feature, each given as a list of its elements."""
    made = [np.array(column, ELEMENT_TYPES[name].storage) for column in columns]
    return tuple(one.reshape(-1, 1) if number == 0 else one for number, one in enumerate(made))


def test_a_variance_in_one_pass_is_a_class_of_its_own() -> None:
    operands = one_feature([10000, 10001], [1], [0])
    right = evaluate(program("batch_norm_training", operands, 1.0, 1), operands)
    assert right[2].tolist() == [0.25]  # every step is exact
    wrong = (*right[:2], np.zeros(1, np.float32))
    found = judged("batch_norm_training", operands, wrong, 1.0)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "one-pass variance")
    wrong = (*right[:2], np.full(1, 40, np.float32))  # beyond what one pass loses
    assert judged("batch_norm_training", operands, wrong, 1.0).kind == "wrong value"
    # a little less than exact is of the right size, but not right
    operands = one_feature([5 + n / 7 for n in range(7)], [1], [0])
    folded = literally("batch_norm_training", operands, 0.5, 1, folded=True)
    right = evaluate(program("batch_norm_training", operands, 0.5, 1), operands)
    found = judged("batch_norm_training", operands, (right[0], right[1], folded[2]))
    assert (found.verdict, found.kind) == (Verdict.INACCURATE, "one-pass variance")


def test_folding_is_a_class_of_its_own() -> None:
    operands = one_feature([1e15], [1], [0], [1e15], [0])
    assert evaluate(program("batch_norm_inference", operands, 1e-5, 1), operands)[0] == 0
    wrong = np.full((1, 1), -1.1e10, np.float32)  # contracted: the error of a rounded product
    found = judged("batch_norm_inference", operands, (wrong,), 1e-5)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "folded normalization")


def test_quotients_are_not_products_with_reciprocals() -> None:
    """All steps but the quotient are exact, and that is the correctly rounded one."""
    operands = one_feature([float(n) for n in range(1, 60)], [1], [0], [0], [9])
    right = evaluate(program("batch_norm_inference", operands, 0.0, 1), operands)
    product = (operands[0] * (np.float32(1) / np.float32(3)),)
    assert (product[0] != right[0]).any()
    found = judged("batch_norm_inference", operands, product, 0.0)
    assert found.verdict is Verdict.PASS  # within u of the exact quotient
    far = (np.nextafter(product[0], np.float32(100)),)
    found = judged("batch_norm_inference", operands, far, 0.0)
    assert (found.verdict, found.kind) == (Verdict.INACCURATE, "reciprocal")
    made = program("batch_norm_inference", operands, 0.0, 1)
    on_gpu = judge(made, operands, right, far, NORMALIZED, platform=Hardware.GPU)
    assert on_gpu.verdict is Verdict.PASS  # 2 ulp, as the rule of division has it


def test_other_orders_of_the_factors_are_a_class_of_their_own() -> None:
    """1e19 * (1e20 / 1e19) is finite; the sum of the products, which comes first elsewhere, not."""
    operands = (*one_feature([1e20], [1], [0], [1e38]), np.array([[1e19]], np.float32))
    right = evaluate(program("batch_norm_grad", operands, 0.0, 1), operands)
    assert right[1].tolist() == [np.float32(1e20)]
    wrong = (right[0], np.array([np.inf], np.float32), right[2])
    found = judged("batch_norm_grad", operands, wrong, 0.0)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "order of the factors")


def test_products_contracted_into_a_sum_are_a_class_of_their_own() -> None:
    """1e39 and -1e39 are an infinity each, and their sum NaN; unrounded they are added to 1e38."""
    x, grad_output = np.array([[1e20], [-1e20]], np.float32), np.full((2, 1), 1e19, np.float32)
    ones = np.ones(1, np.float32)
    operands = (x, ones, 0 * ones, ones, grad_output)
    right = evaluate(program("batch_norm_grad", operands, 0.0, 1), operands)
    assert np.isnan(right[1]).all()
    wrong = (right[0], np.array([np.inf], np.float32), right[2])
    found = judged("batch_norm_grad", operands, wrong, 0.0)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "contracted product")


def test_constants_are_of_the_operands_type() -> None:
    """An epsilon of 1e-5 is 0 in f8E4M3FN, and 0 / 0 NaN."""
    operands = one_feature([3], [1], [2], [3], [0], name="f8E4M3FN")
    (right,) = evaluate(program("batch_norm_inference", operands, 1e-5, 1), operands)
    assert np.isnan(to_float64(right)).all()
    wrong = (operands[2].reshape(1, 1),)
    found = judged("batch_norm_inference", operands, wrong, 1e-5)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "wider arithmetic")


def test_what_a_step_gives_for_sure_must_be_met() -> None:
    """Division by the root of a variance of 0, without an epsilon: infinities and NaN."""
    operands = one_feature([1, -1, 0], [1], [0], [0], [0])
    (right,) = evaluate(program("batch_norm_inference", operands, 0.0, 1), operands)
    np.testing.assert_array_equal(right[:, 0], np.array([np.inf, -np.inf, np.nan], np.float32))
    for at, wrong, kind in (
        (0, np.nan, "folded normalization"),
        (0, 42.0, "infinity"),
        (1, np.inf, "sign"),
        (2, 42.0, "NaN"),
        (2, np.inf, "NaN"),
    ):
        actual = right.copy()
        actual[at, 0] = wrong
        found = judged("batch_norm_inference", operands, (actual,), 0.0)
        assert (found.verdict, found.kind) == (Verdict.DIVERGENT, kind), (at, wrong)
    # nothing is lost of a NaN that was given, however large another operand is
    operands = one_feature([np.nan, 3e38], [3e38], [0], [0], [1])
    (right,) = evaluate(program("batch_norm_inference", operands, 0.0, 1), operands)
    actual = np.where(np.isnan(right), np.float32(42), right)
    assert judged("batch_norm_inference", operands, (actual,), 0.0).kind == "NaN"


def test_steps_that_overflow_for_sure_give_what_ieee_754_makes_of_them() -> None:
    operands = one_feature([600, -600], [1], [3], name="f16")
    output, mean, variance = evaluate(program("batch_norm_training", operands, 0.5, 1), operands)
    assert [mean.tolist(), variance.tolist()] == [[0], [np.inf]]  # 360000 is beyond f16
    assert output.tolist() == [[3], [3]]  # and +-600 / inf is 0
    wide = np.array([[4], [2]], np.float16), mean, variance
    found = judged("batch_norm_training", operands, wide)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "wider arithmetic")
    # a type without an infinity leaves open what then happens
    operands = one_feature([400, -400], [1], [3], name="f8E4M3FN")
    right = evaluate(program("batch_norm_training", operands, 0.5, 1), operands)
    other = (right[0] + np.ones((2, 1), right[0].dtype), *right[1:])
    assert judged("batch_norm_training", operands, other).verdict is Verdict.PASS


def test_whatever_may_follow_is_permitted_where_errors_leave_it_open() -> None:
    """A variance that rounding makes 0 or not, and no epsilon: the quotient may be anything."""
    operands = one_feature([0.1] * 10, [1], [0])
    right = evaluate(program("batch_norm_training", operands, 0.0, 1), operands)
    for output in (0, 1, -1e30, np.inf, np.nan):
        actual = (np.full((10, 1), output, np.float32), *right[1:])
        found = judged("batch_norm_training", operands, actual, 0.0)
        assert found.verdict is Verdict.PASS, output
    actual = (right[0], right[1], np.full(1, -1e-9, np.float32))  # but no square is negative
    assert judged("batch_norm_training", operands, actual, 0.0).verdict is not Verdict.PASS


def test_subnormal_steps_that_are_lost_are_flushed() -> None:
    operands = one_feature([1e-30, -1e-30], [1e30], [0], [0], [1e10])
    (right,) = evaluate(program("batch_norm_inference", operands, 0.0, 1), operands)
    assert right[0] > 0
    found = judged("batch_norm_inference", operands, (right,), 0.0)
    tiny = one_feature([1e-36, -1e-36], [1e30], [0], [0], [1e10])
    (right,) = evaluate(program("batch_norm_inference", tiny, 0.0, 1), tiny)
    assert right[0, 0] > 0  # 1e-41 times 1e30
    found = judged("batch_norm_inference", tiny, (0 * right,), 0.0)
    assert (found.verdict, found.kind) == (Verdict.FLUSHED, "subnormal intermediate")


# --- Numbers with errors -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["f8E4M3", "f16", "f32"])
def test_balls_hold_what_rounded_arithmetic_gives(name) -> None:
    of = ELEMENT_TYPES[name]
    x, y = (to_float64(filled(name, (300,), "unit", seed)) for seed in (1, 2))

    def rounded(numbers):
        return to_float64(round_to(np.asarray(numbers, np.float64), of))

    loose = Arithmetic(of, quotient=3.0)
    one, two = exactly(x, loose), exactly(y, loose)
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
    for number, (ball, numbers) in enumerate(pairs):
        assert isinstance(ball, Ball)
        assert ((ball.low <= numbers) & (numbers <= ball.high)).all()
        if number < len(pairs) - 1:  # so many f8 may overflow
            assert np.isfinite([ball.low, ball.high]).all()
            assert not ball.nan.any()


def ends(ball):
    return ball.low.tolist(), ball.high.tolist()


def test_balls_know_exact_results_and_overflow() -> None:
    of = ELEMENT_TYPES["f16"]
    integers = exactly(np.array([1.0, 2.0, 3.0]), Arithmetic(of))
    assert ends(integers + integers) == ([2, 4, 6], [2, 4, 6])
    assert ends(np.add.reduce(integers, axis=(0,), keepdims=True)) == ([6], [6])
    third = integers / 3
    assert (third.low < third.high).tolist() == [True, True, False]
    assert ends(integers * 40000) == ([40000, np.inf, np.inf], [40000, np.inf, np.inf])
    inverse = 1 / (integers - 2)
    assert [ends(inverse), inverse.nan.tolist()] == [([-1, np.inf, 1],) * 2, [False] * 3]
    assert (0 / (integers - 2)).nan.tolist() == [False, True, False]
    assert np.isnan((0 / (integers - 2)).low).tolist() == [False, True, False]
    few = ELEMENT_TYPES["f8E8M0FNU"]
    negative = exactly(np.array([2.0]), Arithmetic(few)) - 4  # which that type does not have
    assert [ends(negative), negative.nan.tolist()] == [([-np.inf], [np.inf]), [True]]


def test_balls_leave_open_what_errors_leave_open() -> None:
    arithmetic = Arithmetic(ELEMENT_TYPES["f16"])
    around = Ball(np.array([-1.0, 0.0, 1.0]), np.array([1.0, 1.0, 2.0]), False, arithmetic)
    quotient = 1 / around
    assert ends(quotient)[0][:2] == [-np.inf, 1 - 2.0**-11]
    assert ends(quotient)[1][:2] == [np.inf, np.inf]
    assert quotient.nan.tolist() == [False, False, False]
    assert (around / around).nan.tolist() == [True, True, False]
    assert np.sqrt(around).nan.tolist() == [True, False, False]
    large = exactly(np.array([40000.0, 40000.0, -40000.0]), arithmetic)
    total = np.add.reduce(large, axis=(0,), keepdims=True)
    assert ends(total) == ([40000], [np.inf])  # in one order or another
    assert not total.nan.any()
    total = np.add.reduce(large * 2, axis=(0,), keepdims=True)
    assert [np.isnan(total.low).tolist(), total.nan.tolist()] == [[True], [True]]  # inf - inf
    squares = around * around
    assert squares.low.tolist()[:2] == [0, 0]


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


def test_balls_keep_the_sign_of_an_exact_zero() -> None:
    """1 / sqrt(-0) is -inf: what is left of a variance of -0 where an epsilon of 0 is left out."""
    ball = exactly(np.array([-0.0, 0.0]), Arithmetic(ELEMENT_TYPES["f32"]))
    root = 1 / np.sqrt(ball)
    assert root.low.tolist() == root.high.tolist() == [-np.inf, np.inf]


def test_an_epsilon_kept_in_wider_arithmetic_is_no_excuse_for_anything() -> None:
    """1e-5 is 0 in f8E4M3B11FNUZ; folded in f16, where it is none, x s and mean s cancel to 0."""
    of = ELEMENT_TYPES["f8E4M3B11FNUZ"]
    row, whole = TensorType((1,), of), TensorType((1, 1), of)
    names = ("scale", "offset", "mean", "variance")
    program = single_op(
        "batch_norm_inference",
        (Value("operand", whole), *(Value(name, row) for name in names)),
        (whole,),
        {"epsilon": float(np.float32(1e-5)), "feature_index": 1},
    )
    numbers = ([[8.0]], [-0.6875], [-0.28125], [8.0], [0.0])
    operands = tuple(np.array(one).astype(of.storage) for one in numbers)
    (expected,) = evaluate(program, operands)
    assert np.isnan(expected.astype(np.float64)).all()  # 0 / 0
    for got, kind in ((0.0, "folded normalization"), (-0.28125, "wider arithmetic"), (28.0, "NaN")):
        actual = np.full((1, 1), got).astype(of.storage)
        found = judge(program, operands, (expected,), (actual,), RULES["batch normalization"])
        assert (found.verdict, found.kind) == (Verdict.DIVERGENT, kind)

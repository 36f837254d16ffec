"""The rule of batch normalization: formulas in the type itself, and intervals of numbers."""

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.tolerance.bounds.intervals import Arithmetic, Interval, exact_interval
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.table import RULES
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, FLOATS
from reference.numerics.rounding import round_to, to_float64
from suites.meta.support.ops.normalization import (
    NORMALIZED,
    OPS_HERE,
    fill_values,
    operands_of,
    program,
)


def evaluate_formulas(op, operands, epsilon, index):
    """Return the formulas in the operands' own arithmetic, as a backend computes them."""
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
    output = scale * ((x - mean) / np.sqrt(variance + epsilon)) + offset
    if op == "batch_norm_inference":
        return (output,)
    return output, mean.reshape(-1), variance.reshape(-1)


def judge_result(op, operands, actual, epsilon=0.5, index=1):
    made = program(op, operands, epsilon, index)
    return judge(made, operands, evaluate(made, operands), actual, NORMALIZED)


@pytest.mark.parametrize("profile", ["unit", "moderate", "small_integers", "near_one", "wide"])
@pytest.mark.parametrize("name", ["f16", "f32", "f64"])
@pytest.mark.parametrize("op", OPS_HERE)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_formulas_in_the_type_itself_are_within_the_rule(op, name, profile) -> None:
    for seed, shape in enumerate(((3, 4), (40, 3), (5, 2, 7))):
        operands = operands_of(op, name, shape, 1, seed, profile)
        found = judge_result(op, operands, evaluate_formulas(op, operands, 0.5, 1))
        assert found.verdict is Verdict.PASS, found.message


@pytest.mark.slow
@pytest.mark.parametrize("op", OPS_HERE)
def test_wrong_normalization_fails(op) -> None:
    operands = operands_of(op, "f32", (6, 3, 5), 1)
    right = evaluate(program(op, operands, 0.5, 1), operands)
    for number, result in enumerate(right):
        slight = 2.0 ** (-15 if op == "batch_norm_grad" else -17)
        for factor, want in ((1 + slight, Verdict.INACCURATE), (1.01, Verdict.DIVERGENT)):
            actual = [one.copy() for one in right]
            at = np.unravel_index(np.abs(result).argmax(), result.shape)
            actual[number][at] *= np.float32(factor)
            assert judge_result(op, operands, tuple(actual)).verdict is want
    # another dimension's features, another epsilon
    square = operands_of(op, "f32", (4, 4), 1)
    for epsilon, index in ((0.5, 0), (0.4, 1)):
        other = evaluate(program(op, square, epsilon, index), square)
        assert judge_result(op, square, other).verdict is Verdict.DIVERGENT


def test_exact_sums_are_judged_exactly() -> None:
    """Small integers whose mean is one: no rounding is needed before the square root."""
    x = np.array([[1, 2], [3, 2], [5, 6], [7, 6]], np.float32)
    ones = np.ones(2, np.float32)
    right = evaluate(program("batch_norm_training", (x, ones, ones), 1.0, 1), (x, ones, ones))
    assert [right[1].tolist(), right[2].tolist()] == [[4, 4], [5, 4]]
    for number in (1, 2):
        actual = [one.copy() for one in right]
        actual[number][0] = np.nextafter(actual[number][0], np.float32(0))
        assert judge_result(
            "batch_norm_training", (x, ones, ones), tuple(actual), 1.0
        ).verdict.fails
    zero = 0 * ones  # a scale of 0 gives the offset, whatever the operand
    right = evaluate(program("batch_norm_training", (x, zero, ones), 1.0, 1), (x, zero, ones))
    actual = (np.nextafter(right[0], np.float32(0)), *right[1:])
    assert judge_result("batch_norm_training", (x, zero, ones), actual, 1.0).verdict.fails


def one_feature(*columns, name="f32"):
    """Return operands of one feature, each given as a list of its elements."""
    made = [np.array(column, ELEMENT_TYPES[name].storage) for column in columns]
    return tuple(one.reshape(-1, 1) if index == 0 else one for index, one in enumerate(made))


@pytest.mark.parametrize(
    ("got", "kind"),
    [
        (-11396235264.0, "wrong value"),  # the error of a rounded product, contracted
        (11396235264.0, "wrong value"),
        (np.nan, "NaN"),
    ],
)
def test_formula_with_the_mean_multiplied_first_is_wrong(got, kind) -> None:
    operands = one_feature([1e15], [1], [0], [1e15], [0])
    assert evaluate(program("batch_norm_inference", operands, 1e-5, 1), operands)[0] == 0
    wrong = np.full((1, 1), got, np.float32)
    found = judge_result("batch_norm_inference", operands, (wrong,), 1e-5)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, kind)


def test_quotients_are_not_products_with_reciprocals() -> None:
    """All steps but the quotient are exact, and the quotient is correctly rounded."""
    operands = one_feature([float(n) for n in range(1, 60)], [1], [0], [0], [9])
    right = evaluate(program("batch_norm_inference", operands, 0.0, 1), operands)
    product = (operands[0] * (np.float32(1) / np.float32(3)),)
    assert (product[0] != right[0]).any()
    found = judge_result("batch_norm_inference", operands, product, 0.0)
    assert found.verdict is Verdict.PASS  # within u of the exact quotient
    root = np.nextafter(np.float32(1) / np.float32(3), np.float32(1))
    far = (operands[0] * root,)  # as of an approximate 1 / sqrt(9)
    found = judge_result("batch_norm_inference", operands, far, 0.0)
    assert (found.verdict, found.kind) == (Verdict.INACCURATE, "accuracy")
    made = program("batch_norm_inference", operands, 0.0, 1)
    on_gpu = judge(made, operands, right, far, NORMALIZED, platform=Hardware.GPU)
    assert on_gpu.verdict is Verdict.PASS  # 2 ulp, as the rule of division has it


def test_constants_are_of_the_operands_type() -> None:
    """An epsilon of 1e-5 is 0 in f8E4M3FN, and 0 / 0 NaN."""
    operands = one_feature([3], [1], [2], [3], [0], name="f8E4M3FN")
    (right,) = evaluate(program("batch_norm_inference", operands, 1e-5, 1), operands)
    assert np.isnan(to_float64(right)).all()
    wrong = (operands[2].reshape(1, 1),)
    found = judge_result("batch_norm_inference", operands, wrong, 1e-5)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "NaN")


def test_certain_results_of_a_step_are_required() -> None:
    """Division by the root of a variance of 0, without an epsilon: infinities and NaN."""
    operands = one_feature([1, -1, 0], [1], [0], [0], [0])
    (right,) = evaluate(program("batch_norm_inference", operands, 0.0, 1), operands)
    np.testing.assert_array_equal(right[:, 0], np.array([np.inf, -np.inf, np.nan], np.float32))
    for at, wrong, kind in (
        (0, np.nan, "NaN"),
        (0, 42.0, "infinity"),
        (1, np.inf, "sign"),
        (2, 42.0, "NaN"),
        (2, np.inf, "NaN"),
    ):
        actual = right.copy()
        actual[at, 0] = wrong
        found = judge_result("batch_norm_inference", operands, (actual,), 0.0)
        assert (found.verdict, found.kind) == (Verdict.DIVERGENT, kind), (at, wrong)
    # nothing is lost of a NaN that was given, however large another operand is
    operands = one_feature([np.nan, 3e38], [3e38], [0], [0], [1])
    (right,) = evaluate(program("batch_norm_inference", operands, 0.0, 1), operands)
    actual = np.where(np.isnan(right), np.float32(42), right)
    assert judge_result("batch_norm_inference", operands, (actual,), 0.0).kind == "NaN"


def test_steps_with_certain_overflow_follow_ieee_754() -> None:
    operands = one_feature([600, -600], [1], [3], name="f16")
    output, mean, variance = evaluate(program("batch_norm_training", operands, 0.5, 1), operands)
    assert [mean.tolist(), variance.tolist()] == [[0], [np.inf]]  # 360000 is beyond f16
    assert output.tolist() == [[3], [3]]  # and +-600 / inf is 0
    wide = np.array([[4], [2]], np.float16), mean, variance
    found = judge_result("batch_norm_training", operands, wide)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "wrong value")
    # a type without an infinity leaves open what then happens
    operands = one_feature([400, -400], [1], [3], name="f8E4M3FN")
    right = evaluate(program("batch_norm_training", operands, 0.5, 1), operands)
    other = (right[0] + np.ones((2, 1), right[0].dtype), *right[1:])
    assert judge_result("batch_norm_training", operands, other).verdict is Verdict.PASS


def test_every_outcome_is_permitted_if_rounding_errors_decide() -> None:
    """A variance that rounding makes 0 or not, and no epsilon: the quotient may be anything."""
    operands = one_feature([0.1] * 10, [1], [0])
    right = evaluate(program("batch_norm_training", operands, 0.0, 1), operands)
    for output in (0, 1, -1e30, np.inf, np.nan):
        actual = (np.full((10, 1), output, np.float32), *right[1:])
        found = judge_result("batch_norm_training", operands, actual, 0.0)
        assert found.verdict is Verdict.PASS, output
    actual = (right[0], right[1], np.full(1, -1e-9, np.float32))  # but no square is negative
    assert judge_result("batch_norm_training", operands, actual, 0.0).verdict is not Verdict.PASS


U = 2.0**-24


def numbers(*lists):
    return tuple(np.array(one, np.float32) for one in lists)


def bounds_of(op, operands, hardware=Hardware.CPU):
    """Return the results, and the bound of each; epsilon is 0."""
    made = program(op, operands, 0.0, 1)
    expected = evaluate(made, operands)
    return expected, NORMALIZED.hardware_rule(hardware).bound(made.subject, operands, expected)


@pytest.mark.parametrize(("hardware", "roundings"), [(Hardware.CPU, 4), (Hardware.GPU, 8)])
def test_steps_with_rounded_operands_round_once_each_and_exact_steps_never(
    hardware, roundings
) -> None:
    """3 - 0 and 3 + 0 are exact; a root, a quotient, a product and a sum follow. A quotient on a
    GPU may be 5 u off.
    """
    operands = numbers([[3.0]], [1.0], [0.0], [0.0], [3.0])
    (result,), (bound,) = bounds_of("batch_norm_inference", operands, hardware)
    off = abs(float(result.item()) - 3.0**0.5)
    assert float(bound.item()) == pytest.approx(roundings * U * 3.0**0.5 + off, rel=1e-5)


@pytest.mark.parametrize("name", ["f8E4M3", "f16", "f32"])
def test_intervals_contain_rounded_results(name) -> None:
    element_type = ELEMENT_TYPES[name]
    x, y = (to_float64(fill_values(name, (300,), "unit", seed)) for seed in (1, 2))

    def round_numbers(numbers):
        return to_float64(round_to(np.asarray(numbers, np.float64), element_type))

    loose = Arithmetic(element_type, quotient=3.0)
    one, two = exact_interval(x, loose), exact_interval(y, loose)
    total = float(0)
    for number in x:
        total = float(round_numbers(total + number))
    pairs = (
        (one + two, round_numbers(x + y)),
        (one - two * two, round_numbers(x - round_numbers(y * y))),
        (one * two + one, round_numbers(round_numbers(x * y) + x)),
        (one / (two + 3), round_numbers(x / round_numbers(y + 3))),
        (one / (two + 3), round_numbers(x * round_numbers(1 / round_numbers(y + 3)))),
        (np.sqrt(one * one), round_numbers(np.sqrt(round_numbers(x * x)))),
        (np.add.reduce(one, axis=(0,), keepdims=True), np.array([total])),
    )
    for index, (interval, numbers) in enumerate(pairs):
        assert isinstance(interval, Interval)
        assert ((interval.low <= numbers) & (numbers <= interval.high)).all()
        if index < len(pairs) - 1:  # so many f8 may overflow
            assert np.isfinite([interval.low, interval.high]).all()
            assert not interval.nan.any()


@pytest.mark.slow
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


def test_intervals_keep_the_sign_of_an_exact_zero() -> None:
    """1 / sqrt(-0) is -inf, for a variance of -0 if an epsilon of 0 is omitted."""
    interval = exact_interval(np.array([-0.0, 0.0]), Arithmetic(ELEMENT_TYPES["f32"]))
    root = 1 / np.sqrt(interval)
    assert root.low.tolist() == root.high.tolist() == [-np.inf, np.inf]


def test_an_epsilon_in_wider_arithmetic_does_not_permit_wrong_results() -> None:
    """1e-5 is 0 in f8E4M3B11FNUZ. Folded in f16, where it is not 0, x s and mean s cancel to 0."""
    element_type = ELEMENT_TYPES["f8E4M3B11FNUZ"]
    row, whole = TensorType((1,), element_type), TensorType((1, 1), element_type)
    names = ("scale", "offset", "mean", "variance")
    program = single_op(
        "batch_norm_inference",
        (Value("operand", whole), *(Value(name, row) for name in names)),
        (whole,),
        {"epsilon": float(np.float32(1e-5)), "feature_index": 1},
    )
    numbers = ([[8.0]], [-0.6875], [-0.28125], [8.0], [0.0])
    operands = tuple(np.array(number).astype(element_type.storage) for number in numbers)
    (expected,) = evaluate(program, operands)
    assert np.isnan(expected.astype(np.float64)).all()  # 0 / 0
    for got in (0.0, -0.28125, 28.0):
        actual = np.full((1, 1), got).astype(element_type.storage)
        found = judge(program, operands, (expected,), (actual,), RULES["batch normalization"])
        assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "NaN")


def test_value_rounded_to_largest_number_does_not_overflow() -> None:
    """-450.6 in f32 is -448 in f8E4M3FN; with an epsilon of its own type it is -320."""
    element_type = ELEMENT_TYPES["f8E4M3FN"]
    row = TensorType((1,), element_type)
    names = ("operand", "scale", "mean", "variance", "grad_output")
    program = single_op(
        "batch_norm_grad",
        tuple(Value(name, row) for name in names),
        (row,) * 3,
        {"epsilon": float(np.float32(1e-3)), "feature_index": 0},
    )
    operands = tuple(np.array([one]).astype(element_type.storage) for one in (-5, -1, -0.25, 0, 3))
    expected = evaluate(program, operands)
    assert float(expected[1][0]) == -320
    for got in (-448, -208):
        actual = (expected[0], np.array([got]).astype(element_type.storage), expected[2])
        found = judge(program, operands, expected, actual, RULES["batch normalization"])
        assert found.verdict.fails


def ends(interval):
    return interval.low.tolist(), interval.high.tolist()


def test_exact_results_and_overflow_are_certain() -> None:
    element_type = ELEMENT_TYPES["f16"]
    integers = exact_interval(np.array([1.0, 2.0, 3.0]), Arithmetic(element_type))
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
    negative = exact_interval(np.array([2.0]), Arithmetic(few)) - 4  # which that type does not have
    assert [ends(negative), negative.nan.tolist()] == [([-np.inf], [np.inf]), [True]]

"""Batch normalization with steps rounded to the operands' type, as compilers store them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.normalization import INFERENCE as INFERENCE_OP
from conformance.known.xla.normalization import NORMALIZED_BY_XLA, TRAINING
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array

TEXT = """
func.func @main(%x: tensor<COUNTx1xT>, %s: tensor<1xT>, %o: tensor<1xT>)
    -> (tensor<COUNTx1xT>, tensor<1xT>, tensor<1xT>) {
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %o)
    <{epsilon = 1.0 : f32, feature_index = 1 : i64}>
    : (tensor<COUNTx1xT>, tensor<1xT>, tensor<1xT>) -> (tensor<COUNTx1xT>, tensor<1xT>, tensor<1xT>)
  return %0#0, %0#1, %0#2 : tensor<COUNTx1xT>, tensor<1xT>, tensor<1xT>
}"""
F32 = np.float32


def normalize(operand: Array, narrow: type, *, is_stored: bool) -> list[Array]:
    """Return the results, with 1 / count rounded, and all that a TPU stores if `is_stored`."""

    def store(numbers: Array) -> Array:
        return numbers.astype(narrow).astype(F32) if is_stored else numbers

    x = operand.astype(F32)[:, 0]
    inverse = np.array([1 / len(x)], F32).astype(narrow).astype(F32)
    mean = store(x.sum(keepdims=True)) * inverse
    squares = store(store(x * x).sum(keepdims=True)) * inverse
    variance = np.maximum(squares - mean * mean, F32(0))
    if not is_stored:
        variance = variance.astype(narrow).astype(F32)
    root = store(F32(1) / np.sqrt(variance + F32(1)))
    result = (x - store(mean)) * root
    return [one.astype(narrow) for one in (result[:, None], mean, variance)]


@pytest.mark.parametrize(
    ("name", "narrow", "count", "number", "is_stored"),
    [
        ("bf16", ml_dtypes.bfloat16, 65, 1.0, False),
        ("f8E4M3B11FNUZ", ml_dtypes.float8_e4m3b11fnuz, 3, 0.375, True),
    ],
)
def test_stored_steps_of_a_narrow_type_are_predicted(
    name: str, narrow: type, count: int, number: float, is_stored: bool
) -> None:
    program = parse_module(TEXT.replace("xT>", f"x{name}>").replace("COUNT", str(count)))
    inputs = [np.full((count, 1), number, narrow), np.ones(1, narrow), np.zeros(1, narrow)]
    expected = evaluate(program, inputs)
    actual = normalize(inputs[0], narrow, is_stored=is_stored)
    found = judge_operation(program, inputs, expected, actual, Hardware.GPU)
    assert {one.kind for one in found.failing} == {"one-pass variance"}
    actual[0][0] = 1.5
    found = judge_operation(program, inputs, expected, actual, Hardware.GPU)
    assert "wrong value" in {one.kind for one in found.failing}


def test_the_reciprocal_of_the_count_is_folded_in_the_narrow_type_alone() -> None:
    """1 / 5 is 0.203125, and all else is computed in f16."""
    narrow = ml_dtypes.float8_e4m3
    program = parse_module(TEXT.replace("xT>", "xf8E4M3>").replace("COUNT", "5"))
    x = [-11.0, 24.0, -48.0, 128.0, -208.0]
    operands = np.array(x).reshape(5, 1), np.array([3.0]), np.array([1.0])
    inputs = [one.astype(narrow) for one in operands]
    expected = evaluate(program, inputs)
    results = np.array([1.375, 2.25, 0.34375, 5.0, -4.0]).reshape(5, 1), [-24.0], [np.inf]
    actual = [np.array(one).astype(narrow) for one in results]
    found = judge_operation(program, inputs, expected, actual, Hardware.GPU)
    assert {one.kind for one in found.failing} == {"one-pass variance"}
    actual[0][2] = 0.375
    found = judge_operation(program, inputs, expected, actual, Hardware.GPU)
    assert {one.kind for one in found.failing} == {"one-pass variance", "accuracy"}


def test_sums_of_equal_numbers_may_be_products() -> None:
    """The squares of 7 and of the rounded 1 / 7 have the product 1 + 2^-23, and 7 has 1."""
    program = parse_module(TEXT.replace("xT>", "xf32>").replace("COUNT", "7"))
    inputs = [np.full((7, 1), 3, F32), np.ones(1, F32), np.zeros(1, F32)]
    expected = evaluate(program, inputs)
    variance = F32(9) - F32(9) * F32(1 + 2**-23)
    actual = [np.zeros((7, 1), F32), np.full(1, 3, F32), np.full(1, variance)]
    found = judge_operation(program, inputs, expected, actual)
    assert {one.kind for one in found.failing} == {"one-pass variance"}
    actual[2] = -actual[2]
    found = judge_operation(program, inputs, expected, actual)
    assert {one.kind for one in found.failing} == {"wrong value"}


def test_a_mean_may_be_subtracted_unrounded() -> None:
    """Three times 0.33333334 exceeds 1, which is the rounded mean of three ones, by 2^-25."""
    program = parse_module(
        TEXT.replace("xT>", "xf32>").replace("COUNT", "3").replace("epsilon = 1.0", "epsilon = 0.0")
    )
    inputs = [np.ones((3, 1), F32), np.ones(1, F32), np.zeros(1, F32)]
    expected = evaluate(program, inputs)
    variance = F32(2**-25)
    result = -variance * (F32(1) / np.sqrt(variance))
    actual = [np.full((3, 1), result), np.ones(1, F32), np.full(1, variance)]
    found = judge_operation(program, inputs, expected, actual)
    assert {one.kind for one in found.failing} == {"one-pass variance"}
    actual[0][1] *= 1.01
    found = judge_operation(program, inputs, expected, actual)
    assert {one.kind for one in found.failing} == {"one-pass variance", "NaN"}


FOLDED = """
func.func @main(%s: tensor<1xf16>, %o: tensor<1xf16>)
    -> (tensor<3x1xf16>, tensor<1xf16>, tensor<1xf16>) {
  %x = stablehlo.constant dense<[[9.965820e-01], [1.0], [1.0]]> : tensor<3x1xf16>
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %o)
    <{epsilon = 0.0 : f32, feature_index = 1 : i64}>
    : (tensor<3x1xf16>, tensor<1xf16>, tensor<1xf16>)
    -> (tensor<3x1xf16>, tensor<1xf16>, tensor<1xf16>)
  return %0#0, %0#1, %0#2 : tensor<3x1xf16>, tensor<1xf16>, tensor<1xf16>
}"""


@pytest.mark.parametrize(
    ("variance", "is_constant", "is_explained"),
    [
        (2**-11, True, True),  # 2.9921875 / 3 less 2.99609375 / 3 squared, in f16
        (2**-10, True, False),
        (2**-11, False, False),
    ],
)
def test_constants_are_normalized_in_their_own_type(
    variance: float, is_constant: bool, is_explained: bool
) -> None:
    program = parse_module(FOLDED)
    inputs = [np.ones(1, np.float16), np.zeros(1, np.float16)]
    if not is_constant:
        text = FOLDED.replace("main(", "main(%x: tensor<3x1xf16>, ")
        program = parse_module("\n".join(one for one in text.split("\n") if "dense" not in one))
        inputs = [np.array([[0.996582], [1], [1]], np.float16), *inputs]
    expected = evaluate(program, inputs)
    actual = [*expected[:2], np.array([variance], np.float16)]
    found = judge_operation(program, inputs, expected, actual, Hardware.CPU)
    assert ({one.kind for one in found.failing} == {"one-pass variance"}) == is_explained


INFERENCE = """
func.func @main(%x: tensor<1x1xbf16>, %s: tensor<1xbf16>, %o: tensor<1xbf16>, %v: tensor<1xbf16>)
    -> tensor<1x1xbf16> {
  %m = stablehlo.constant dense<9.453120e-01> : tensor<1xbf16>
  %0 = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v)
    <{epsilon = 1.0e-10 : f32, feature_index = 1 : i64}>
    : (tensor<1x1xbf16>, tensor<1xbf16>, tensor<1xbf16>, tensor<1xbf16>, tensor<1xbf16>)
    -> tensor<1x1xbf16>
  return %0 : tensor<1x1xbf16>
}"""


@pytest.mark.parametrize(
    ("actual", "is_explained"),
    [
        (-84480, True),  # 1.0546875 * -798720 + 757760: both are rounded to bf16
        (-88576, False),  # 1.0546875 * -798720 + 753664: the mean is multiplied by -798720, too
    ],
)
def test_factors_of_features_are_rounded_after_the_mean_is_multiplied(
    actual: float, is_explained: bool
) -> None:
    program = parse_module(INFERENCE)
    inputs = [np.array(one, ml_dtypes.bfloat16) for one in ([[1.0546875]], [-8], [-2], [0])]
    got = [np.array([[actual]], ml_dtypes.bfloat16)]
    found = judge_operation(program, inputs, evaluate(program, inputs), got, Hardware.GPU)
    assert ({one.kind for one in found.failing} == {"folded normalization"}) == is_explained


FOLDED_FACTORS = """
func.func @main(%x: tensor<1x1xf8E5M2FNUZ>, %o: tensor<1xf8E5M2FNUZ>) -> tensor<1x1xf8E5M2FNUZ> {
  %s = stablehlo.constant dense<-0.5> : tensor<1xf8E5M2FNUZ>
  %m = stablehlo.constant dense<-6.0> : tensor<1xf8E5M2FNUZ>
  %v = stablehlo.constant dense<3.906250e-02> : tensor<1xf8E5M2FNUZ>
  %0 = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v)
    <{epsilon = 1.0e-30 : f32, feature_index = 1 : i64}>
    : (tensor<1x1xf8E5M2FNUZ>, tensor<1xf8E5M2FNUZ>, tensor<1xf8E5M2FNUZ>, tensor<1xf8E5M2FNUZ>,
       tensor<1xf8E5M2FNUZ>) -> tensor<1x1xf8E5M2FNUZ>
  return %0 : tensor<1x1xf8E5M2FNUZ>
}"""

OF_ARGUMENTS = FOLDED_FACTORS.replace("main(", "main(%a: tensor<1xf8E5M2FNUZ>, ").replace(
    "%s, %o, %m", "%s, %o, %a"
)


@pytest.mark.parametrize(
    ("text", "is_explained"),
    [
        (FOLDED_FACTORS, True),
        (OF_ARGUMENTS, False),
    ],
    ids=["constant mean", "mean of an argument"],
)
def test_constant_factors_are_folded_in_their_own_type(text: str, is_explained: bool) -> None:
    """The shift -6 * -2.5 is rounded to 16: the result is -7 * -2.5 - 3 - 16."""
    program = parse_module(text)
    storage = ml_dtypes.float8_e5m2fnuz
    numbers = ([-6],) * (len(program.main.arguments) - 2)
    inputs = [np.array(one, storage) for one in (*numbers, [[-7]], [-3])]
    got = [np.array([[-1.5]], storage)]
    found = judge_operation(program, inputs, evaluate(program, inputs), got, Hardware.GPU)
    assert ({one.kind for one in found.failing} == {"folded normalization"}) == is_explained


CONSTANTS = """
func.func @main(%x: tensor<1x1xf32>, %o: tensor<1xf32>, %s: tensor<1xf32>, %m: tensor<1xf32>,
    %v: tensor<1xf32>) -> tensor<1x1xf32> {
  %scale = stablehlo.constant dense<93.0> : tensor<1xf32>
  %mean = stablehlo.constant dense<3.0> : tensor<1xf32>
  %variance = stablehlo.constant dense<2.0> : tensor<1xf32>
  %0 = "stablehlo.batch_norm_inference"(%x, %scale, %o, %mean, %variance)
    <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<1x1xf32>, tensor<1xf32>,
       tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}"""
SCALE_GIVEN, MEAN_GIVEN, VARIANCE_GIVEN = (
    CONSTANTS.replace("(%x, %scale, %o, %mean, %variance)", f"({names})")
    for names in (
        "%x, %s, %o, %mean, %variance",
        "%x, %scale, %o, %m, %variance",
        "%x, %scale, %o, %mean, %v",
    )
)
ROOT = F32(1 / np.sqrt(2.0))
PRODUCT = F32(3) * (F32(93) * ROOT)
TIMES_SCALE = PRODUCT - F32(3 * 93) * ROOT
TIMES_ROOT = PRODUCT - F32(93) * (F32(3) * ROOT)


@pytest.mark.parametrize(
    ("text", "actual", "is_explained"),
    [
        (CONSTANTS, TIMES_SCALE, True),
        (VARIANCE_GIVEN, TIMES_SCALE, True),
        (SCALE_GIVEN, TIMES_ROOT, True),
        (VARIANCE_GIVEN, TIMES_ROOT, False),
        (SCALE_GIVEN, TIMES_SCALE, False),
        (MEAN_GIVEN, TIMES_SCALE, False),
        (CONSTANTS, 3 * TIMES_SCALE, False),
    ],
)
def test_constant_mean_is_multiplied_by_another_constant_first(
    text: str, actual: np.float32, is_explained: bool
) -> None:
    program = parse_module(text)
    inputs = [np.array(one, F32) for one in ([[3]], [0], [93], [3], [2])]
    got = [np.array([[actual]], F32)]
    found = judge_operation(program, inputs, evaluate(program, inputs), got, Hardware.CPU)
    kinds = {one.kind for one in found.failing}
    assert (kinds == {"constant mean multiplied first"}) == is_explained
    assert kinds


OPERAND = "  %number = stablehlo.constant dense<3.0> : tensor<1x1xf32>\n  %scale"


@pytest.mark.parametrize(
    ("names", "actual", "is_explained"),
    [
        ("%number, %scale, %o, %m, %v", -TIMES_SCALE, True),
        ("%number, %scale, %o, %m, %v", -TIMES_ROOT, False),
        ("%number, %s, %o, %m, %variance", -TIMES_ROOT, True),
        ("%number, %s, %o, %m, %variance", -TIMES_SCALE, False),
        ("%x, %scale, %o, %m, %v", -TIMES_SCALE, False),
        ("%number, %s, %o, %m, %v", -TIMES_SCALE, False),
    ],
)
def test_constant_operand_is_multiplied_by_another_constant_first(
    names: str, actual: np.float32, is_explained: bool
) -> None:
    text = CONSTANTS.replace("(%x, %scale, %o, %mean, %variance)", f"({names})")
    program = parse_module(text.replace("  %scale", OPERAND, 1))
    inputs = [np.array(one, F32) for one in ([[3]], [0], [93], [3], [2])]
    got = [np.array([[actual]], F32)]
    found = judge_operation(program, inputs, evaluate(program, inputs), got, Hardware.CPU)
    kinds = {one.kind for one in found.failing}
    assert (kinds == {"constant operand multiplied first"}) == is_explained
    assert kinds


ZERO_OFFSET = """
func.func @main(%x: tensor<2xf8E4M3FN>, %s: tensor<2xf8E4M3FN>, %o: tensor<2xf8E4M3FN>)
    -> (tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>) {
  %offset = stablehlo.constant dense<0.0> : tensor<2xf8E4M3FN>
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %offset)
    <{epsilon = 1.0e-5 : f32, feature_index = 0 : i64}>
    : (tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>)
    -> (tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>)
  return %0#0, %0#1, %0#2 : tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>
}"""


@pytest.mark.parametrize(
    ("offset", "actual", "is_explained"),
    [("%offset", -0.0, True), ("%offset", 0.0, True), ("%o", 0.0, True), ("%o", -0.0, False)],
)
def test_constant_zeros_are_not_added_as_offset(
    offset: str, actual: float, is_explained: bool
) -> None:
    """The product of 0 and a negative scale is -0; with epsilon rounded to f8 it would be NaN."""
    program = parse_module(ZERO_OFFSET.replace("%s, %offset)", f"%s, {offset})"))
    storage = ml_dtypes.float8_e4m3fn
    inputs = [np.array(one, storage) for one in ([0.5, 0.5], [-1, -1], [0, 0])]
    expected = evaluate(program, inputs)
    got = [np.full(2, actual, storage), *expected[1:]]
    found = judge_operation(program, inputs, expected, got, Hardware.CPU)
    assert ({one.kind for one in found.failing} == {"one-pass variance"}) == is_explained


GRADIENT = """
func.func @main(%s: tensor<1xf8E3M4>, %g: tensor<1x5xf8E3M4>)
    -> (tensor<1x5xf8E3M4>, tensor<1xf8E3M4>, tensor<1xf8E3M4>) {
  %x = stablehlo.constant dense<-0.203125> : tensor<1x5xf8E3M4>
  %m = stablehlo.constant dense<-0.09375> : tensor<1xf8E3M4>
  %v = stablehlo.constant dense<4.0> : tensor<1xf8E3M4>
  %0:3 = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g)
    <{epsilon = 0.0 : f32, feature_index = 0 : i64}>
    : (tensor<1x5xf8E3M4>, tensor<1xf8E3M4>, tensor<1xf8E3M4>, tensor<1xf8E3M4>,
       tensor<1x5xf8E3M4>) -> (tensor<1x5xf8E3M4>, tensor<1xf8E3M4>, tensor<1xf8E3M4>)
  return %0#0, %0#1, %0#2 : tensor<1x5xf8E3M4>, tensor<1xf8E3M4>, tensor<1xf8E3M4>
}"""


@pytest.mark.parametrize(("actual", "kind"), [(7.0, "order of the factors"), (6.0, "accuracy")])
def test_products_of_constants_are_taken_first(actual: float, kind: str) -> None:
    """(x - mean) / variance is -0.03125, and 1 / (2 * 5) is 0.09375."""
    narrow = ml_dtypes.float8_e3m4
    program = parse_module(GRADIENT)
    given = [-5.0], [[-4.0, -6.0, 6.0, 7.0, -3.0]]
    inputs = [np.array(one).astype(narrow) for one in given]
    expected = evaluate(program, inputs)
    results = [one.copy() for one in expected]
    results[0][0, 4] = actual
    found = judge_operation(program, inputs, expected, results, Hardware.TPU)
    assert kind in {one.kind for one in found.failing}


@pytest.mark.parametrize(("actual", "kind"), [(-15.0, "order of the factors"), (-12.0, "infinity")])
def test_products_of_constants_are_stored_in_the_narrow_type(actual: float, kind: str) -> None:
    """XLA of jaxlib 0.10.2 for GPUs adds in f16, and rounds only products with constants."""
    narrow = ml_dtypes.float8_e3m4
    program = parse_module(GRADIENT)
    inputs = [np.array(one).astype(narrow) for one in ([7.0], [[-7.0, -4.0, 6.0, -6.0, 4.0]])]
    expected = evaluate(program, inputs)
    results = [one.copy() for one in expected]
    results[0][0, 3] = actual
    found = judge_operation(program, inputs, expected, results, Hardware.GPU)
    assert {one.kind for one in found.failing} == {kind}


PLAIN_INFERENCE = """
func.func @main(%x: tensor<2x1xf32>, %s: tensor<1xf32>, %o: tensor<1xf32>, %m: tensor<1xf32>,
    %v: tensor<1xf32>) -> tensor<2x1xf32> {
  %0 = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v)
    <{epsilon = 0.0 : f32, feature_index = 1 : i64}>
    : (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>)
    -> tensor<2x1xf32>
  return %0 : tensor<2x1xf32>
}"""


def explained(number: int, operands: list[object], got: list[float]) -> list[bool]:
    """Return which elements of an inference in f32 a hypothesis of the table explains."""
    operation = parse_module(PLAIN_INFERENCE).subject
    taken = tuple(np.array(one, F32) for one in operands)
    expected = tuple(evaluate(parse_module(PLAIN_INFERENCE), taken))
    hypothesis = NORMALIZED_BY_XLA[INFERENCE_OP][number]
    assert hypothesis.errors is not None
    (errors,) = hypothesis.errors(operation, taken, expected, (np.array(got, F32)[:, None],))
    return (errors.reshape(-1) == 0).tolist()


def test_mean_is_subtracted_from_the_offset_first() -> None:
    """The offset 0.5 is lost next to the mean 2^24, so 2^24 + 2 becomes 2; 2^24 + 4 becomes 4."""
    x, mean = [[2**24 + 2], [2**24 + 4]], [2**24]
    for got, found in (([2, 4], True), ([2.5, 4.5], False)):
        assert explained(1, [x, [1], [0.5], mean, [1]], got) == [found] * 2


def test_subnormal_results_may_be_flushed_by_a_class_of_their_own() -> None:
    tiny, operands = 2.0**-130, [[1], [0], [0], [1]]
    assert explained(0, [[[tiny], [1]], *operands], [0, 0]) == [True, False]
    assert explained(0, [[[tiny], [1]], *operands], [tiny, 1]) == [False, False]
    assert NORMALIZED_BY_XLA[INFERENCE_OP][0].flushes


def test_folded_steps_need_constants() -> None:
    for op, constants in ((INFERENCE_OP, ("scale", "mean", "variance")), (TRAINING, ("operand",))):
        assert NORMALIZED_BY_XLA[op][-1].constants == constants

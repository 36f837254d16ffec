"""Random numbers: bits of each width and type, distributions, what is judged of both."""

import math
from fractions import Fraction

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.tolerance.bounds.random import (
    BERNOULLI,
    PROBABILITY,
    UPPER_LIMIT_REACHED,
    is_refuted,
    refutes_mean,
)
from conformance.tolerance.table import RULES
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Dense, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, FLOATS, INTEGERS, element_type_of, to_bits
from reference.numerics.rounding import to_float64
from reference.ops.random import rng_bit_generator
from reference.ops.xla.shapes import shape_of

DISTRIBUTED, GENERATED = RULES["distribution"], RULES["random bits"]


@pytest.mark.parametrize("algorithm", ["DEFAULT", "THREE_FRY", "PHILOX"])
def test_narrow_types_take_the_low_bits(algorithm) -> None:
    state = np.array([11, 12], np.uint64)
    of_state = TensorType((2,), ELEMENT_TYPES["ui64"])

    def generate_bits(of):
        results = (of_state, TensorType((3, 4), of))
        return rng_bit_generator(state, rng_algorithm=algorithm, results=results)

    after, whole = generate_bits(ELEMENT_TYPES["ui32"])
    for of in (*INTEGERS, *FLOATS):
        again, numbers = generate_bits(of)
        assert element_type_of(numbers) is of
        if of.bits < 64:
            np.testing.assert_array_equal(again, after)
            np.testing.assert_array_equal(to_bits(numbers), whole & ((1 << of.bits) - 1))


def test_default_takes_a_state_of_any_size() -> None:
    for size in (0, 1, 4):
        state = np.arange(size, dtype=np.uint64)
        kind = TensorType((size,), ELEMENT_TYPES["ui64"])
        results = (kind, TensorType((4,), ELEMENT_TYPES["ui32"]))
        after, numbers = rng_bit_generator(state, rng_algorithm="DEFAULT", results=results)
        assert after.shape == (size,)
        assert numbers.shape == (4,)


# --- rng -----------------------------------------------------------------------------------------


def drawing_program(name, kind, shape):
    element_type = ELEMENT_TYPES[name]
    sizes = TensorType((len(shape),), ELEMENT_TYPES["si64"])
    operands = (
        Value("a", TensorType((), element_type)), Value("b", TensorType((), element_type)),
        Dense.of(np.array(shape, np.int64), sizes),
    )  # fmt: skip
    return single_op(
        "rng", operands, (TensorType(shape, element_type),), {"rng_distribution": kind}
    )


def scalars(name, *numbers):
    return tuple(np.asarray(number).astype(ELEMENT_TYPES[name].storage) for number in numbers)


@pytest.mark.parametrize("name", ["i1", "si2", "si4", "si8", "ui16", "si32", "ui64", "si64"])
def test_uniform_integers_are_in_range(name) -> None:
    element_type = ELEMENT_TYPES[name]
    for a, b in ((0, 1), (element_type.min_integer, element_type.max_integer)):
        made = drawing_program(name, "UNIFORM", (2000,))
        (result,) = evaluate(made, scalars(name, a, b))
        values = result.astype(object)
        assert element_type_of(result) is element_type
        assert a <= values.min()
        assert values.max() < b
        assert len(set(values.tolist())) >= 0.9 * min(b - a, 1000)


@pytest.mark.parametrize("name", ["f4E2M1FN", "f8E5M2", "f16", "bf16", "f32", "f64"])
def test_uniform_floats_are_in_range(name) -> None:
    for a, b in ((0.0, 1.0), (-1.0, 0.5), (1.0, 1.5)):
        made = drawing_program(name, "UNIFORM", (3000,))
        result = to_float64(evaluate(made, scalars(name, a, b))[0])
        assert a <= result.min()
        assert result.max() < b


def test_the_same_operands_give_the_same_numbers() -> None:
    made = drawing_program("f32", "NORMAL", (5,))
    first, again = (evaluate(made, scalars("f32", 0, 1))[0] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, evaluate(made, scalars("f32", 0, 2))[0] / 2)


def test_a_shape_that_is_not_the_results_is_refused() -> None:
    made = drawing_program("f32", "UNIFORM", (2, 3))
    sizes = Dense.of(np.array([3, 2]), TensorType((2,), ELEMENT_TYPES["si64"]))
    values = (Value("a", TensorType((), ELEMENT_TYPES["f32"])),) * 2
    bad = single_op(
        "rng", (*values, sizes), made.main.result_types, {"rng_distribution": "UNIFORM"}
    )
    with pytest.raises(EvaluationError, match=r"shape \(3, 2\)"):
        evaluate(bad, scalars("f32", 0)[:1])


def verdict(name, kind, parameters, numbers):
    made = drawing_program(name, kind, numbers.shape)
    given = scalars(name, *parameters)
    actual = (numbers.astype(ELEMENT_TYPES[name].storage),)
    return judge(made, given, evaluate(made, given), actual, DISTRIBUTED)


def test_numbers_out_of_range_are_wrong() -> None:
    numbers = np.linspace(0, 0.99, 10)
    assert verdict("f32", "UNIFORM", (0, 1), numbers).verdict is Verdict.PASS
    found = verdict("f32", "UNIFORM", (0, 1), np.append(numbers, 1.0))
    assert (found.verdict, found.kind, found.wrong) == (Verdict.DIVERGENT, UPPER_LIMIT_REACHED, 1)
    for bad in (1.5, -1e-9, np.nan, np.inf):
        found = verdict("f32", "UNIFORM", (0, 1), np.append(numbers, bad))
        assert (found.verdict, found.kind, found.wrong) == (Verdict.DIVERGENT, "out of range", 1)
    assert verdict("si8", "UNIFORM", (-3, 4), np.arange(-3, 4)).verdict is Verdict.PASS
    assert verdict("si8", "UNIFORM", (-3, 4), np.arange(-3, 5)).kind == "out of range"
    assert verdict("f32", "UNIFORM", (-3e38, 3e38), np.array([np.inf])).kind == UPPER_LIMIT_REACHED
    for bad in (3e38, -np.inf, np.nan):
        assert verdict("f32", "UNIFORM", (-3e38, 3e38), np.array([bad])).kind == "out of range"
    assert verdict("f32", "NORMAL", (0, 1), np.array([1.0, np.nan])).kind == "out of range"
    assert verdict("f32", "NORMAL", (3, 0), np.array([3.0, 3.0])).verdict is Verdict.PASS
    assert verdict("f32", "NORMAL", (3, 0), np.array([3.0, 4.0])).kind == "out of range"


def test_undefined_distributions_are_unspecified() -> None:
    numbers = np.full(4, 17.0)
    for kind, parameters in (
        ("UNIFORM", (2, 2)), ("UNIFORM", (3, 2)), ("UNIFORM", (np.nan, 2)), ("NORMAL", (0, -1)),
        ("UNIFORM", (0, np.inf)),
    ):  # fmt: skip
        assert verdict("f32", kind, parameters, numbers).verdict is Verdict.UNSPECIFIED


@pytest.mark.parametrize("name", ["si8", "si32", "f16", "bf16", "f32", "f64"])
def test_distributions_are_distinguished(name) -> None:
    """Right numbers never fail; plausible wrong numbers are found among 2000."""
    generator = np.random.default_rng(5)
    exact = generator.random(2000)
    if name.startswith("si"):
        good, bad = np.floor(exact * 100), np.floor(exact**2 * 100)
        assert verdict(name, "UNIFORM", (0, 100), good).verdict is Verdict.PASS
        assert verdict(name, "UNIFORM", (0, 100), bad).kind == "distribution"
        assert verdict(name, "UNIFORM", (0, 100), np.full(2000, 50)).kind == "distribution"
        return
    steps = 2.0 ** min(ELEMENT_TYPES[name].float_format.mantissa_bits, 23)
    grid = np.floor(exact * steps) / steps  # as coarse as generators make them
    assert verdict(name, "UNIFORM", (0, 1), grid).verdict is Verdict.PASS
    assert verdict(name, "UNIFORM", (0, 1), grid**2).kind == "distribution"
    assert verdict(name, "UNIFORM", (0, 1), grid / 2).kind == "distribution"
    normal = generator.standard_normal(2000)
    assert verdict(name, "NORMAL", (1, 2), 1 + 2 * normal).verdict is Verdict.PASS
    for wrong in (normal, 1 + normal, 3 + 2 * normal, np.sign(normal), 4 * exact):
        assert verdict(name, "NORMAL", (1, 2), wrong).kind == "distribution"


def test_the_test_never_fails_on_a_few_numbers() -> None:
    assert not is_refuted(np.zeros(10), np.zeros(10))
    assert is_refuted(np.zeros(12), np.zeros(12))
    assert not is_refuted(np.zeros(0), np.zeros(0))


# --- RngBernoulli --------------------------------------------------------------------------------


def judge_mean(mean, numbers):
    """Return the judgement of zeros and ones for a mean."""
    numbers = np.asarray(numbers).astype(np.uint32)
    of, given = TensorType(numbers.shape, ELEMENT_TYPES["ui32"]), scalars("f32", mean)
    values = (Value("mean", TensorType((), ELEMENT_TYPES["f32"])),)
    made = single_op("RngBernoulli", values, (of,), {"shape": shape_of(of)})
    return judge(made, given, evaluate(made, given), (numbers,), BERNOULLI)


def test_the_mean_is_that_of_the_numbers() -> None:
    """Right numbers never fail; constants, complements and other means are found."""
    uniform = np.random.default_rng(4).random((40, 50))
    for mean in (0.0, 0.125, 0.25, 0.4375, 0.875, 1.0):
        right = uniform < mean
        assert judge_mean(mean, right).verdict is Verdict.PASS
        for wrong in (~right, np.zeros_like(right), np.ones_like(right), uniform < mean + 0.1):
            if wrong.sum() != right.sum():
                found = judge_mean(mean, wrong)
                assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "distribution")
    found = judge_mean(0.5, np.where(uniform < 0.5, 2, 0))
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "out of range")
    assert found.wrong == (uniform < 0.5).sum()


def test_of_a_mean_at_an_end_there_is_no_exception() -> None:
    lone = np.arange(9) == 4
    for mean, right in ((0.0, lone & False), (-0.0, lone & False), (1.0, lone | True)):
        assert judge_mean(mean, right).verdict is Verdict.PASS
        assert judge_mean(mean, right ^ lone).kind == "distribution"


def test_a_mean_is_as_fine_as_uniform_numbers_are() -> None:
    """A mean of 2^-30 may be met by a number in 2^23; a mean of 2^-20 gives none or one of 2000
    numbers.
    """
    lone = np.arange(2000) == 7
    for mean in (2.0**-30, 2.0**-20, 2.0**-40):
        assert judge_mean(mean, lone).verdict is Verdict.PASS
        assert judge_mean(mean, lone | (np.arange(2000) < 30)).kind == "distribution"
    below = float(np.nextafter(np.float32(1), np.float32(0)))
    assert judge_mean(below, np.ones(2000)).verdict is Verdict.PASS


def test_results_for_an_invalid_mean_are_unspecified() -> None:
    for mean in (np.nan, -0.25, 1.5, np.inf):
        for numbers in (np.arange(50) % 2, np.full(50, 9)):
            assert judge_mean(mean, numbers).verdict is Verdict.UNSPECIFIED


@pytest.mark.parametrize(("count", "mean"), [(40, 0.25), (100, 0.5), (60, 0.9375)])
def test_count_of_ones_is_tested_exactly(count: int, mean: float) -> None:
    """By the binomial distribution in rational numbers: neither end has more than half of 1e-9."""
    share = Fraction(mean)
    each = [math.comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(count + 1)]
    least = Fraction(PROBABILITY) / 2
    for ones in range(count + 1):
        rare = min(sum(each[ones:]), sum(each[: ones + 1])) < least
        assert refutes_mean(ones, count, mean) == rare, ones


# --- rng_bit_generator, judged -------------------------------------------------------------------


def judge_result(algorithm, actual, after=None):
    state = TensorType((2,), ELEMENT_TYPES["ui64"])
    output = TensorType(actual.shape, element_type_of(actual))
    made = single_op(
        "rng_bit_generator", (Value("initial_state", state),), (state, output),
        {"rng_algorithm": algorithm},
    )  # fmt: skip
    given = (np.array([1, 2], np.uint64),)
    expected = evaluate(made, given)
    results = (expected[0] if after is None else after, actual)
    return judge(made, given, expected, results, GENERATED), expected


@pytest.mark.parametrize("algorithm", ["DEFAULT", "THREE_FRY", "PHILOX"])
def test_other_bits_are_unspecified_if_they_are_random(algorithm) -> None:
    generator = np.random.default_rng(3)
    random = generator.integers(0, 2**32, 500, dtype=np.uint32)
    found, expected = judge_result(algorithm, random)
    assert found.verdict is Verdict.UNSPECIFIED
    assert judge_result(algorithm, expected[1])[0].verdict is Verdict.PASS
    other = np.array([9, 9], np.uint64)
    assert judge_result(algorithm, expected[1], other)[0].verdict is Verdict.UNSPECIFIED
    for bad in (np.zeros_like(random), random >> 1, random & ~np.uint32(1), random | 4):
        found, _ = judge_result(algorithm, bad)
        assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "distribution")

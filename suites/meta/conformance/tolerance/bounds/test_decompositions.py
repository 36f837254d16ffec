"""Errors of decompositions, transforms, quantized codes and random numbers."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge_operation
from conformance.tolerance.bounds.fft import FACTOR, fft_errors
from conformance.tolerance.bounds.linear_algebra import cholesky_errors, triangular_solve_errors
from conformance.tolerance.bounds.quantization import (
    QUANTIZED,
    permitted_results,
    quantized_rule,
)
from conformance.tolerance.bounds.random import is_not_random, refutes_mean
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, QuantizedType, TensorType, Value, single_op
from reference.ir.types import Array
from suites.meta.support.ops.quantized_types import quant
from suites.meta.support.small_programs import array, op_program, tensor_of


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("complex_", [False, True])
def test_cholesky_of_a_matrix_far_from_positive_definite_may_fail(
    size: int, complex_: bool
) -> None:
    """The scaled form has elements of 10^631."""
    a = np.full((size, size), 1e308).astype(np.complex128 if complex_ else np.float64)
    np.fill_diagonal(a, 5e-324)
    of = "complex<f64>" if complex_ else "f64"
    square = tensor_of(size, size, of=of)
    program = op_program("cholesky", [square], square, lower=True)
    expected = evaluate(program, (a,))
    got = (np.full_like(a, np.nan),)
    assert judge_operation(program, (a,), expected, got).verdict in (
        Verdict.PASS,
        Verdict.UNSPECIFIED,
    )


LOWER = np.array([[2.0, 0.0], [1.0, 3.0]], np.float32)
ULP = np.float32(2.0**-23)


@pytest.mark.parametrize(
    ("changed", "within"), [(0.0, True), (1.0, True), (40.0, False), (np.nan, False)]
)
def test_factor_is_measured_by_its_own_product(changed: float, within: bool) -> None:
    of = tensor_of(2, 2)
    operation = op_program("cholesky", [of], of, lower=True).subject
    factor = LOWER.copy()
    factor[1, 1] += np.float32(changed) * ULP
    (errors,) = cholesky_errors(operation, (LOWER @ LOWER.T,), (LOWER,), (factor,))
    assert bool(errors[1, 1] <= 1) is within
    assert errors[0, 0] == 0
    assert errors[0, 1] == np.inf  # implementation-defined: no equation measures it


@pytest.mark.parametrize(
    ("turn", "is_complex", "within"),
    [(-1, False, False), (-1, True, False), (1j, True, False), (1, True, True)],
)
def test_diagonal_of_a_factor_is_positive(turn: complex, is_complex: bool, within: bool) -> None:
    """A column times a number of modulus 1 gives the same product."""
    of = tensor_of(2, 2, of="complex<f32>" if is_complex else "f32")
    operation = op_program("cholesky", [of], of, lower=True).subject
    factor = LOWER.astype(np.complex64) if is_complex else LOWER.copy()
    factor[:, 1] *= turn if is_complex else turn.real
    (errors,) = cholesky_errors(operation, (LOWER @ LOWER.T,), (LOWER,), (factor,))
    assert bool(errors[1, 1] <= 1) is within
    assert errors[0, 0] == 0


def test_solution_is_measured_by_its_equation() -> None:
    right = np.array([[2.0], [4.0]], np.float32)
    given = {
        "left_side": True,
        "lower": True,
        "unit_diagonal": False,
        "transpose_a": "NO_TRANSPOSE",
    }
    sides = tensor_of(2, 2), tensor_of(2, 1)
    operation = op_program("triangular_solve", sides, tensor_of(2, 1), **given).subject
    exact = np.ones((2, 1), np.float32)
    for got, found in (([1.0, 1.0], [True, True]), ([1.0, 2.0], [True, False]),
                       ([0.0, 0.0], [False, False]), ([np.inf, 1.0], [False, True])):  # fmt: skip
        actual = np.array(got, np.float32).reshape(2, 1)
        (errors,) = triangular_solve_errors(operation, (LOWER, right), (exact,), (actual,))
        assert (errors[:, 0] <= 1).tolist() == found


SIGNAL = np.arange(8, dtype=np.complex64).reshape(2, 4)
WANT = np.fft.fft(SIGNAL).astype(np.complex64)
U = 2.0**-24


def transform_errors(actual: np.ndarray) -> np.ndarray:
    of = tensor_of(2, 4, of="complex<f32>")
    operation = op_program("fft", [of], of, fft_type="FFT", fft_length=(4,)).subject
    (found,) = fft_errors(operation, (SIGNAL,), (WANT,), (actual.astype(np.complex64),))
    return found


def test_errors_within_the_bound_are_quotients_of_norms() -> None:
    """The bound is c u log2(4) times the norm of the transform."""
    moved = WANT.copy()
    moved[0, 0] += np.float32(2.0**-21)
    bound = FACTOR * U * 2 * np.linalg.norm(WANT[0])
    assert transform_errors(moved)[0, 0] == pytest.approx(2.0**-21 / bound, rel=1e-6)
    assert not transform_errors(moved)[1].any()


def test_each_element_of_a_wrong_transform_has_its_own_error() -> None:
    moved = WANT.copy()
    moved[0, 0] += 1
    moved[0, 1] *= 1 + 2.0**-22
    found = transform_errors(moved)
    assert found[0, 0] > 1
    assert found[0, 1] < 1
    assert not found[1].any()


HALF, TWO, TENTH = quant("si8", (0.5, 0)), quant("si8", (2.0, 0)), quant("si8", (0.1, 0))


@pytest.mark.parametrize(
    ("number", "codes"),
    [(0.3, (3, 3)), (0.25, (2, 3)), (0.26, (3, 3)), (100.0, (127, 127)), (float("nan"), (0, 0))],
)
def test_quantize_permits_two_codes_only_at_a_tie(number: float, codes: tuple[int, int]) -> None:
    result = TensorType((1,), TENTH)
    program = single_op("uniform_quantize", (Value("a", tensor_of(1)),), (result,))
    operands = (array([number]),)
    expected = tuple(evaluate(program, operands))
    (reach,) = permitted_results(QUANTIZED, program.subject, operands, expected)
    assert isinstance(reach, tuple)
    assert tuple(int(one.item()) for one in reach) == codes


def test_comparison_of_equal_rounded_numbers_may_have_either_result() -> None:
    """3 * 0.1 rounds in f32, and so does 1 * 0.3; 4 * 0.1 is far from it."""
    line, third = TensorType((2,), TENTH), TensorType((2,), quant("si8", (0.3, 0)))
    program = single_op(
        "compare", (Value("a", line), Value("b", third)), (tensor_of(2, of="i1"),),
        {"comparison_direction": "LT"},
    )  # fmt: skip
    operands = array([3, 4], "si8"), array([1, 1], "si8")
    expected = tuple(evaluate(program, operands))
    rule = quantized_rule(CATALOG["compare"].tolerance)
    assert rule.permits is not None
    (free,) = rule.permits(program.subject, operands, expected, expected)
    assert free is not None
    assert free.tolist() == [True, False]


def test_dequantized_numbers_are_off_by_a_rounding_at_most() -> None:
    line = TensorType((2,), TENTH)
    program = single_op("uniform_dequantize", (Value("a", line),), (tensor_of(2),))
    operands = (array([3, 0], "si8"),)
    expected = tuple(evaluate(program, operands))
    (error,) = permitted_results(QUANTIZED, program.subject, operands, expected)
    assert isinstance(error, np.ndarray)
    assert error[1] == 0
    assert error[0] <= 2 * np.spacing(np.float32(0.3))


@pytest.mark.parametrize(
    ("ones", "count", "mean", "refuted"),
    [
        (500, 1000, 0.5, False),
        (600, 1000, 0.5, True),
        (400, 1000, 0.5, True),
        (580, 1000, 0.5, False),
        (5, 5, 0.5, False),
        (0, 1000, 0.0, False),
        (1000, 1000, 1.0, False),
    ],
)
def test_count_of_ones_refutes_a_mean_that_is_many_deviations_away(
    ones: int, count: int, mean: float, refuted: bool
) -> None:
    """1000 numbers of mean 1/2 have a deviation of 15.8; at p < 1e-9 six of these refute."""
    assert refutes_mean(ones, count, mean) is refuted


RANDOM = np.random.default_rng(0)
F32_STEP = 2.0**-23


@pytest.mark.parametrize(
    "values",
    [
        np.full(16, 0.3),
        np.tile(RANDOM.random(8), 2),
        np.sort(RANDOM.random(16)),
        np.sort(RANDOM.random(16))[::-1],
        np.concatenate([RANDOM.random(50), np.sort(RANDOM.random(16))]),
        np.sort(RANDOM.random((64, 2)), axis=1).reshape(-1),
    ],
    ids=["equal", "repeated", "rising", "falling", "rising at the end", "rising in pairs"],
)
def test_repeated_and_ordered_numbers_are_not_random(values: Array) -> None:
    assert is_not_random(values, F32_STEP)


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 1, 2, 10, 1000, 50_000])
def test_independent_numbers_are_random(count: int) -> None:
    for seed in range(20):
        random = np.random.default_rng(seed)
        assert not is_not_random(random.random(count, np.float32), F32_STEP)
        assert not is_not_random(random.integers(0, 256, count), 1 / 256)
        assert not is_not_random(random.integers(0, 3, count), 1 / 3)


ADD = CATALOG["add"].tolerance


def quantized_sum(
    codes: tuple[list[int], list[int]], to: QuantizedType, of: QuantizedType = HALF
) -> tuple[Operation, tuple[Array, ...], tuple[Array, ...]]:
    """Return a sum of quantized numbers, its operands, and its results."""
    line = TensorType((len(codes[0]),), of)
    result = TensorType(line.shape, to)
    program = single_op("add", (Value("a", line), Value("b", line)), (result,))
    operands = tuple(array(code, "si8") for code in codes)
    return program.subject, operands, tuple(evaluate(program, operands))


def test_operands_that_are_no_codes_of_the_result_may_be_rounded_first() -> None:
    """1 + 1 is the code 1 of 2, but 1 is no code: each operand may become 0 or 2."""
    operation, operands, expected = quantized_sum(([2], [2]), TWO)
    assert expected[0].tolist() == [1]
    (reach,) = permitted_results(ADD, operation, operands, expected)
    assert isinstance(reach, tuple)
    assert [one.tolist() for one in reach] == [[0], [2]]


def test_bound_is_the_further_end_and_the_nearer_side_is_excluded() -> None:
    """0.75 rounds to 1; 0 is permitted, 2 is as near to 1 and is not."""
    operation, operands, expected = quantized_sum(([3], [0]), TWO)
    rule = quantized_rule(ADD)
    assert rule.bound is not None
    assert rule.excludes is not None
    (bound,) = rule.bound(operation, operands, expected)
    assert bound is not None
    assert (expected[0].tolist(), bound.tolist()) == ([1], [1])
    for code, wrong in ((0, False), (1, False), (2, True)):
        ((marked,),) = rule.excludes(operation, operands, expected, (array([code], "si8"),))
        assert marked[0] == "wrong value"
        assert marked[1].tolist() == [wrong]

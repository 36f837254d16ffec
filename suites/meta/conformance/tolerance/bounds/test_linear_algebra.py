"""Bounds of decompositions: matrices whose scaled form is beyond the range of doubles."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.tolerance.bounds.linear_algebra import cholesky_errors, triangular_solve_errors
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from suites.meta.support.small_programs import op_program, tensor_of


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

"""Bounds of decompositions: matrices whose scaled form is beyond the range of doubles."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
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

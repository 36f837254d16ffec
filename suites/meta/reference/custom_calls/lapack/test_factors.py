"""LAPACK's triangular factors and systems, on matrices of small whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference.custom_calls.lapack.calls import RoutineCall
from reference.custom_calls.lapack.factors import (
    getrf,
    gtsv,
    lu_decomposition,
    permutation,
    pivot_sizes,
    potrf,
    trsm,
    trsm_attributes,
)
from reference.ir.types import Array


def call(*inputs: Any, **options: Any) -> RoutineCall:
    arrays = [np.asarray(one, np.float32) for one in inputs]
    return RoutineCall(tuple(arrays), options, ())


def as_lists(*arrays: Array) -> list[Any]:
    return [array.tolist() for array in arrays]


def test_cholesky_writes_one_triangle_and_keeps_the_other() -> None:
    a = [[4, 7], [2, 10]]
    assert as_lists(*potrf(call(a, uplo="L"))) == [[[2, 7], [1, 3]], 0]
    b = [[4, 2], [7, 10]]
    assert as_lists(*potrf(call(b, uplo=ord("U")))) == [[[2, 1], [7, 3]], 0]


def test_cholesky_reports_the_first_minor_that_is_not_positive() -> None:
    batch = [np.diag([1, 0, -1]), np.diag([-1, 1, 1]), np.eye(3)]
    assert potrf(call(batch))[1].tolist() == [2, 1, 0]


def test_lu_exchanges_rows_for_the_largest_pivot() -> None:
    packed, pivots, info = getrf(call([[1, 2], [2, 8]]))
    assert as_lists(packed, pivots, info) == [[[2, 8], [0.5, -2]], [2, 2], 0]


def test_lu_reports_the_first_pivot_of_zero() -> None:
    assert getrf(call([[1, 2], [2, 4]]))[2] == 2
    assert getrf(call([[0, 1], [0, 2]]))[2] == 1


def test_complex_pivots_compare_sums_of_parts() -> None:
    assert pivot_sizes(np.array([3 - 4j, 0 + 6j])).tolist() == [7, 6]


def test_the_permutation_applies_exchanges_in_order() -> None:
    """Rows 0 and 2 are exchanged, then rows 1 and 2."""
    assert permutation(np.array([2, 2], np.int32), 3).tolist() == [2, 0, 1]
    a = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 10]], np.float32)
    packed, pivots, order = lu_decomposition(call(a))
    lower, upper = np.tril(packed, -1) + np.eye(3), np.triu(packed)
    np.testing.assert_allclose(lower @ upper, a[order], rtol=1e-6)
    assert pivots.tolist() == [2, 2, 2]
    assert getrf(call(a))[1].tolist() == [3, 3, 3]


def test_options_of_trsm_are_attributes_of_triangular_solve() -> None:
    assert trsm_attributes(call()) == {
        "left_side": True, "lower": True, "unit_diagonal": False, "transpose_a": "NO_TRANSPOSE"
    }  # fmt: skip
    options = {"side": "R", "uplo": ord("U"), "diag": "U", "trans_x": "C"}
    assert trsm_attributes(call(**options)) == {
        "left_side": False, "lower": False, "unit_diagonal": True, "transpose_a": "ADJOINT"
    }  # fmt: skip


def test_trsm_solves_a_triangular_system() -> None:
    (x,) = trsm(call([[2, 0], [1, 4]], [[2], [9]]))
    assert x.tolist() == [[1], [2]]


@pytest.mark.parametrize(
    "matrix",
    [
        [[4, 1, 0], [1, 4, 1], [0, 1, 4]],
        [[1, 2, 0], [4, 1, 8], [0, 2, 1]],  # rows are exchanged at both steps
        [[2]],
    ],
)
def test_gtsv_solves_tridiagonal_systems(matrix: list[list[float]]) -> None:
    a = np.array(matrix, np.float32)
    size = len(a)
    lower, upper = np.zeros(size), np.zeros(size)
    lower[1:], upper[:-1] = np.diag(a, -1), np.diag(a, 1)
    x = np.arange(1, size + 1)[:, None]
    *_, solution, info = gtsv(call(lower, np.diag(a), upper, a @ x))
    np.testing.assert_allclose(solution, x, rtol=1e-6)
    assert info == 0


def test_gtsv_reports_a_zero_on_the_diagonal_of_u() -> None:
    *_, info = gtsv(call([0, 1], [1, 1], [1, 0], [[1], [1]]))
    assert info == 2

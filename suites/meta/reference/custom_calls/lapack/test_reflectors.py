"""LAPACK's elementary reflectors: what they eliminate, and the products that they make up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference.custom_calls.lapack.calls import RoutineCall
from reference.custom_calls.lapack.reflectors import (
    EXTENDED_PRECISION_LIMIT,
    gehrd,
    geqp3,
    geqrf,
    orgqr,
    ormqr,
    reflect_columns,
    reflect_rows,
    reflector,
    sytrd,
    to_working_type,
    unit_columns,
)
from reference.ir.errors import EvaluationError
from reference.ir.types import Array
from reference.numerics.rounding import HAS_EXTENDED

A = np.array([[3, 1, 2], [4, -1, 0.5], [0, 2, -3]], np.float64)
SYMMETRIC = A + A.T
COMPLEX = (A + 1j * A.T).astype(np.complex128)


def call(*inputs: Array, **options: Any) -> RoutineCall:
    return RoutineCall(inputs, options, ())


def close(actual: Array, desired: Array) -> None:
    np.testing.assert_allclose(actual, desired, atol=1e-12)


def test_a_reflector_leaves_the_first_element_with_the_opposite_sign() -> None:
    for column, norm in ((np.array([3.0, 4.0]), -5), (np.array([-3.0, 4.0]), 5)):
        beta, tau, v = reflector(column)
        assert beta == norm
        assert v[0] == 1
        close(reflect_rows(tau, v, column[:, None])[:, 0], np.array([norm, 0]))


def test_a_reflector_makes_the_first_element_real() -> None:
    column = np.array([3j, 4.0])
    beta, tau, v = reflector(column)
    assert np.isreal(beta)
    close(reflect_rows(np.conj(tau), v, column[:, None])[:, 0], np.array([beta, 0]))


@pytest.mark.parametrize(("column", "idle"), [([2.0, 0], True), ([2j, 0], False), ([-2], True)])
def test_nothing_to_eliminate_is_the_identity(column: list[complex], idle: bool) -> None:
    beta, tau, _ = reflector(np.array(column))
    assert (tau == 0) == idle
    assert not idle or beta == column[0]


def test_columns_are_reflected_by_the_adjoint_of_rows() -> None:
    tau, v = np.array(1 + 0.5j), np.array([1, 2j])
    block = np.array([[1, 2j], [3, 4]])
    turned = np.conj(reflect_rows(np.conj(tau), v, np.conj(block.T)).T)
    close(reflect_columns(tau, v, block), turned)


@pytest.mark.skipif(not HAS_EXTENDED, reason="long doubles are doubles here")
def test_large_batches_are_computed_in_double_precision() -> None:
    small, large = np.zeros(1), np.zeros(EXTENDED_PRECISION_LIMIT)
    assert to_working_type(small).dtype == np.longdouble
    assert to_working_type(large[1:]).dtype == np.longdouble
    assert to_working_type(large).dtype == np.float64
    assert to_working_type(small, large).dtype == np.float64
    assert to_working_type(large.astype(np.complex64)).dtype == np.complex128


def test_unit_columns_are_repeated_in_the_batch() -> None:
    assert unit_columns((2, 3, 1), np.float64).tolist() == [[[1], [0], [0]]] * 2


@pytest.mark.parametrize("a", [A, COMPLEX, A[:, :2], COMPLEX[:2]])
def test_q_times_r_is_the_matrix(a: Array) -> None:
    packed, taus = geqrf(call(a))
    rows, count = len(a), taus.size
    (q,) = orgqr(call(packed[:, :count], taus))
    close(q @ np.triu(packed)[:count], a)
    close(np.conj(q.T) @ q, np.eye(count))
    (product,) = ormqr(call(packed[:, :count], taus, np.triu(packed)))
    assert product.shape == (rows, a.shape[1])
    close(product, a)


def test_q_is_applied_on_either_side_and_transposed() -> None:
    packed, taus = geqrf(call(COMPLEX))
    (q,) = orgqr(call(packed, taus))
    c = COMPLEX.T
    for left in (True, False):
        for transpose in (True, False):
            (found,) = ormqr(call(packed, taus, c, left=left, transpose=transpose))
            factor = np.conj(q.T) if transpose else q
            close(found, factor @ c if left else c @ factor)


def test_pivoting_takes_the_longest_column_first() -> None:
    fixed = np.zeros(3, np.int32)
    a = A * [1, 100, 10]
    packed, order, taus = geqp3(call(a, fixed))
    assert order.tolist()[0] == 2
    (q,) = orgqr(call(packed, taus))
    close(q @ np.triu(packed), a[:, order - 1])
    sizes = np.abs(np.diagonal(packed))
    assert (sizes[:-1] >= sizes[1:]).all()


def test_pivoting_with_fixed_columns_is_refused() -> None:
    with pytest.raises(EvaluationError, match="fixed columns"):
        geqp3(call(A, np.array([0, 1, 0], np.int32)))


def test_hessenberg_form_has_the_same_eigenvalues() -> None:
    found, taus, info = gehrd(call(A))
    assert (taus.shape, int(info)) == ((2,), 0)
    close(np.sort(np.linalg.eigvals(np.triu(found, -1))), np.sort(np.linalg.eigvals(A)))
    limited, taus, _ = gehrd(call(A, low=2, high=3))
    assert taus[0] == 0
    close(limited[:, 0], A[:, 0])


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_tridiagonal_form_has_the_same_eigenvalues(uplo: str) -> None:
    lower = uplo == "L"
    given = np.tril(SYMMETRIC) if lower else np.triu(SYMMETRIC)
    packed, diagonal, beside, _, _ = sytrd(call(given, uplo=uplo))
    tridiagonal = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    close(np.linalg.eigvalsh(tridiagonal), np.linalg.eigvalsh(SYMMETRIC))
    close(np.diagonal(packed, -1 if lower else 1), beside)
    assert (np.triu(packed, 1) if lower else np.tril(packed, -1)).any() == np.False_

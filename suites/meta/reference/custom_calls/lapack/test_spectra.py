"""LAPACK's eigenvalues, singular values and Schur forms: what is asked for, and failure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference.custom_calls.lapack.calls import RoutineCall
from reference.custom_calls.lapack.spectra import (
    NOT_FINITE_INFO,
    eigh,
    gees,
    geev,
    gesdd,
    syevd,
    unpack_eigenvectors,
)
from reference.ir.types import Array

SYMMETRIC = np.array([[2, 9], [1, 2]], np.float32)
"""The lower triangle has the eigenvalues 1 and 3, the upper -7 and 11."""

TURN = np.array([[0, -2], [2, 0]], np.float32)
"""A matrix with the eigenvalues 2i and -2i."""


def call(*inputs: Array, **options: Any) -> RoutineCall:
    return RoutineCall(inputs, options, ())


def close(actual: Array, desired: Any) -> None:
    np.testing.assert_allclose(actual, desired, atol=1e-6)


def test_eigenvalues_of_one_triangle() -> None:
    vectors, values, info = syevd(call(SYMMETRIC, uplo="L"))
    close(values, [1, 3])
    close(np.abs(vectors), np.full((2, 2), np.sqrt(0.5)))
    assert info == 0
    close(syevd(call(SYMMETRIC, uplo="U"))[1], [-7, 11])


def test_eigenvectors_only_if_asked_for() -> None:
    assert not syevd(call(SYMMETRIC, mode="N"))[0].any()
    close(syevd(call(SYMMETRIC, mode="N"))[1], [1, 3])


def test_eigh_reads_its_triangle_from_the_configuration() -> None:
    close(eigh(call(SYMMETRIC))[1], [1, 3])
    close(eigh(call(SYMMETRIC, text="0,1"))[1], [-7, 11])
    assert len(eigh(call(SYMMETRIC))) == 2


@pytest.mark.parametrize("routine", [syevd, gesdd, geev, gees])
def test_a_matrix_that_is_not_finite_fails_and_the_others_do_not(routine: Any) -> None:
    batch = np.stack([SYMMETRIC, SYMMETRIC])
    batch[0, 0, 0] = np.inf
    *results, info = routine(call(batch))
    assert info.tolist() == [NOT_FINITE_INFO, 0]
    floats = [result for result in results if result.dtype.kind in "fc"]
    assert all(np.isnan(one[0]).all() and np.isfinite(one[1]).all() for one in floats)


@pytest.mark.parametrize(
    ("routine", "shapes"),
    [
        (syevd, [(0, 2, 2), (0, 2), (0,)]),
        (geev, [(0, 2), (0, 2), (0, 2, 2), (0, 2, 2), (0,)]),
        (gees, [(0, 2, 2), (0, 2, 2), (0, 2), (0, 2), (0,), (0,)]),
        (gesdd, [(0, 2, 2), (0, 2), (0, 2, 2), (0, 2, 2), (0,)]),
    ],
)
def test_results_for_no_matrices(routine: Any, shapes: list[tuple[int, ...]]) -> None:
    assert [one.shape for one in routine(call(np.zeros((0, 2, 2), np.float32)))] == shapes


def test_singular_vectors_of_a_matrix_without_elements_are_unit_vectors() -> None:
    _, _, left, right, _ = gesdd(call(np.zeros((2, 0), np.float32)))
    assert left.tolist() == [[1, 0], [0, 1]]
    assert right.shape == (0, 0)


@pytest.mark.parametrize(
    ("mode", "left", "right"),
    [("A", (3, 3), (2, 2)), ("S", (3, 2), (2, 2)), ("N", (3, 2), (2, 2))],
)
def test_singular_vectors_of_a_mode(
    mode: str, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    a = np.array([[3, 0], [0, 4], [0, 0]], np.float32)
    _, values, u, v, _ = gesdd(call(a, mode=mode))
    close(values, [4, 3])
    assert (u.shape, v.shape) == (left, right)
    assert u.any() == (mode != "N")
    if mode != "N":
        close(u[:, :2] * values @ v, a)


def test_real_eigenvalues_come_in_two_parts() -> None:
    real, imaginary, left, right, _ = geev(call(TURN, compute_right="V"))
    close(real, [0, 0])
    close(np.sort(imaginary), [-2, 2])
    close(TURN @ right, right * (real + 1j * imaginary))
    assert not left.any()
    left = geev(call(TURN, compute_left="V"))[2]
    close(np.conj(left.T) @ TURN, (real + 1j * imaginary)[:, None] * np.conj(left.T))


def test_eigenvalues_of_very_large_matrices_are_finite() -> None:
    values, *_ = geev(call(np.diag([1e308, 1e300]).astype(np.complex128)))
    np.testing.assert_allclose(np.sort(np.real(values)), [1e300, 1e308], rtol=1e-12)


def test_two_columns_hold_a_conjugate_pair() -> None:
    packed = np.array([[1.0, 2, 3], [4, 5, 6]])
    values = [np.array([1.0, 2, 2]), np.array([0.0, 7, -7])]
    expected = [[1, 2 + 3j, 2 - 3j], [4, 5 + 6j, 5 - 6j]]
    assert unpack_eigenvectors(packed, values).tolist() == expected
    assert unpack_eigenvectors(packed, values[:1]) is packed


def test_the_schur_form_is_similar_to_the_matrix() -> None:
    a = np.array([[1, 2], [3, 4]], np.float32)
    form, basis, real, imaginary, selected, info = gees(call(a))
    close(basis @ form @ basis.T, a)
    assert form[1, 0] == 0
    close(real, np.diagonal(form))
    assert (imaginary.any(), int(selected), int(info)) == (False, 0, 0)
    assert not gees(call(a, mode="N"))[1].any()

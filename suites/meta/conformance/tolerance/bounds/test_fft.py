"""Errors of Fourier transforms, by the norm of each transform."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.tolerance.bounds.fft import FACTOR, fft_errors
from suites.meta.support.small_programs import op_program, tensor_of

X = np.arange(8, dtype=np.complex64).reshape(2, 4)
WANT = np.fft.fft(X).astype(np.complex64)
U = 2.0**-24


def errors(actual: np.ndarray) -> np.ndarray:
    of = tensor_of(2, 4, of="complex<f32>")
    operation = op_program("fft", [of], of, fft_type="FFT", fft_length=(4,)).subject
    (found,) = fft_errors(operation, (X,), (WANT,), (actual.astype(np.complex64),))
    return found


def test_right_results_have_no_error() -> None:
    assert not errors(WANT).any()


def test_errors_within_the_bound_are_quotients_of_norms() -> None:
    """The bound is c u log2(4) times the norm of the transform."""
    moved = WANT.copy()
    moved[0, 0] += np.float32(2.0**-21)
    bound = FACTOR * U * 2 * np.linalg.norm(WANT[0])
    assert errors(moved)[0, 0] == pytest.approx(2.0**-21 / bound, rel=1e-6)
    assert not errors(moved)[1].any()


def test_each_element_of_a_wrong_transform_has_its_own_error() -> None:
    moved = WANT.copy()
    moved[0, 0] += 1
    moved[0, 1] *= 1 + 2.0**-22
    found = errors(moved)
    assert found[0, 0] > 1
    assert found[0, 1] < 1
    assert not found[1].any()


def test_nan_is_infinitely_wrong() -> None:
    moved = WANT.copy()
    moved[1, 2] = np.nan
    assert np.isinf(errors(moved)[1, 2])


def test_a_single_element_is_exact() -> None:
    of = tensor_of(1, of="complex<f32>")
    operation = op_program("fft", [of], of, fft_type="FFT", fft_length=(1,)).subject
    x = np.array([3], np.complex64)
    with np.errstate(divide="ignore"):
        (found,) = fft_errors(operation, (x,), (x,), (x * np.float32(1 + 2.0**-22),))
    assert found.tolist() == [np.inf]

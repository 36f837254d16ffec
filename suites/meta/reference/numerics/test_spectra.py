"""Eigenvalues and singular values of very large and very small matrices."""

from __future__ import annotations

import numpy as np
import pytest

from reference.numerics.spectra import hermitian_eigenvalues, singular_values

LARGEST, LEAST = np.finfo(np.float64).max, np.finfo(np.float64).smallest_subnormal


@pytest.mark.parametrize("size", [LARGEST, 2.0**1000, 1.0, 2.0**-1000, LEAST])
def test_matrices_of_any_magnitude_have_values(size: float) -> None:
    ones = np.full((4, 4), size)
    wide = np.longdouble(size)
    assert hermitian_eigenvalues(ones)[-1] / wide == pytest.approx(4)
    assert singular_values(ones)[0] / wide == pytest.approx(4)
    assert abs(hermitian_eigenvalues(ones)[0]) <= wide * np.longdouble(1e-14)
    turned = np.array([[0, size * 1j], [-size * 1j, 0]])
    assert (hermitian_eigenvalues(turned) / wide).astype(float) == pytest.approx([-1, 1])


def test_long_doubles_beyond_the_range_of_doubles_have_values() -> None:
    large = np.full((4, 4), np.longdouble(LARGEST)) * np.longdouble(LARGEST)
    assert hermitian_eigenvalues(large)[-1] / large[0, 0] == pytest.approx(4)
    assert singular_values(large)[0] / large[0, 0] == pytest.approx(4)
    both = np.stack([large, np.eye(4, dtype=np.longdouble)])
    np.testing.assert_allclose((hermitian_eigenvalues(both)[1]).astype(float), 1)


def test_empty_matrices_and_zeros_have_values() -> None:
    assert hermitian_eigenvalues(np.zeros((2, 0, 0))).shape == (2, 0)
    np.testing.assert_array_equal(singular_values(np.zeros((3, 2))), [0, 0])

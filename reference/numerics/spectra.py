"""Eigenvalues and singular values of matrices of any magnitude, by numpy.

LAPACK computes in double precision, and fails on a matrix that has an infinite element. A matrix is
scaled by a power of two, so that its largest element is about 1, and the values are scaled back in
extended precision. Scaling is exact, except for elements that are less than 2^-1022 of the largest
element: they change the values by less than a roundoff of the largest value.
"""

from __future__ import annotations

import numpy as np

from reference.ir.types import Array


def hermitian_eigenvalues(a: Array) -> Array:
    """Return the eigenvalues of finite Hermitian matrices in ascending order, as long doubles.

    Args:
        a: matrices of doubles or long doubles, real or complex, shape (..., n, n).
    """
    scaled, exponent = scale_to_one(a)
    values = np.linalg.eigvalsh(scaled).astype(np.longdouble)
    return np.ldexp(values, exponent[..., 0])


def singular_values(a: Array) -> Array:
    """Return the singular values of finite matrices in descending order, as long doubles.

    Args:
        a: matrices of doubles or long doubles, real or complex, shape (..., m, n).
    """
    scaled, exponent = scale_to_one(a)
    values = np.linalg.svd(scaled, compute_uv=False).astype(np.longdouble)
    return np.ldexp(values, exponent[..., 0])


def scale_to_one(a: Array) -> tuple[Array, Array]:
    """Return finite matrices in double precision, with elements up to 1, and their exponents.

    The exponents are of the power of 2 that is taken out of each matrix, in shape (..., 1, 1).
    """
    is_complex = a.dtype.kind == "c"
    parts = [np.real(a), np.imag(a)] if is_complex else [a]
    wide = [one.astype(np.longdouble) for one in parts]
    largest = np.max([np.max(np.abs(one), axis=(-1, -2), initial=0) for one in wide], axis=0)
    _, exponent = np.frexp(largest)
    exponent = np.asarray(exponent)[..., None, None]
    narrow = [np.ldexp(one, -exponent).astype(np.float64) for one in wide]
    return narrow[0] + 1j * narrow[1] if is_complex else narrow[0], exponent


def shift_exponents(a: Array, exponent: Array) -> Array:
    """Return numbers, real or complex, multiplied by a power of 2."""
    if a.dtype.kind != "c":
        return np.ldexp(a, exponent)
    found = np.empty_like(a)
    found.real, found.imag = (np.ldexp(part(a), exponent) for part in (np.real, np.imag))
    return found

"""Tolerance rules of the ops of reference/ops/linear_algebra.py: backward errors.

The distance of a solution from the exact solution depends more on the problem than on the method.
So a result is put into its equation, and the residual must not exceed the rounding errors of the
usual steps in any order.

The constants come from Rump and Jeannerod, "Improved backward error bounds for LU and Cholesky
factorizations" (2014): (n + 1) u and n u without restrictions on n. They are gamma(n + 1) and
gamma(n) of Higham, "Accuracy and Stability of Numerical Algorithms" (2nd edition), theorems 10.3
and 8.5, without the terms of second order. Complex numbers: products err by sqrt(2) gamma(2) and
quotients by sqrt(2) gamma(4) instead of u (Higham, lemma 3.5). The constants count a division for
each quotient and a square root on the diagonal. Multiplying by reciprocals of either costs more,
and is a class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.tolerance.bounds.underflow import underflow
from conformance.tolerance.rule import Rule
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.products import to_wide_type
from reference.numerics.spectra import hermitian_eigenvalues
from reference.ops.linear_algebra import adjoint, coefficients

_COMPLEX_PRODUCT, _COMPLEX_QUOTIENT = 2, 5
"""Errors in u of complex products and quotients, beyond the errors for real numbers."""


def _divide_by_bound(residual: Array, bound: Array) -> Array:
    """Return errors in units of their bounds: 0 without a residual, inf for NaN."""
    found = np.where(residual == 0, 0.0, np.abs(residual) / bound).astype(np.float64)
    return np.where(np.isnan(found), np.inf, found)


def _may_break_down(a: Array, steps: float) -> Array:
    """Return the Hermitian matrices that rounded arithmetic may find not positive definite.

    These have an eigenvalue of the scaled form of at most n gamma / (1 - gamma), where gamma =
    steps / (1 - steps) is the error of the decomposition (Demmel; Higham, theorem 10.7). Matrices
    of a single element never break down.
    """
    size = a.shape[-1]
    if size < 2:
        return np.zeros(a.shape[:-2], np.bool_)
    if steps >= 0.5:  # gamma is no bound any more
        return np.ones(a.shape[:-2], np.bool_)
    gamma = steps / (1 - steps)
    scale = 1 / np.sqrt(np.real(np.diagonal(a, axis1=-2, axis2=-1)))
    scaled = scale[..., :, None] * a * scale[..., None, :]
    usable = np.isfinite(scaled).all(axis=(-1, -2), keepdims=True)
    least = hermitian_eigenvalues(np.where(usable, scaled, np.eye(size)))[..., 0]
    return np.asarray(least * (1 - gamma) <= size * gamma)


def _dependent_elements(chosen: Array) -> Array:
    """Return the elements of a lower triangle whose equation contains a marked element.

    The equation has the elements to the left in the row, and those up to the diagonal in the row
    with the column's number.
    """
    rows = np.logical_or.accumulate(chosen, axis=-1)
    return np.asarray(rows | np.diagonal(rows, axis1=-2, axis2=-1)[..., None, :])


def _is_turned(factor: Array, tolerance: float) -> Array:
    """Return a mask of diagonal elements that are not positive (Higham, theorem 10.1).

    `tolerance` is relative, on their imaginary part. NaN is not marked.
    """
    real, imaginary = np.real(factor), np.imag(factor)
    turned = (real < 0) | (np.abs(imaginary) > tolerance * np.abs(real))
    return np.asarray(turned & np.eye(factor.shape[-1], dtype=np.bool_))


def cholesky_errors(
    operation: Operation,
    operands: tuple[Array, ...],
    _: tuple[Array, ...],
    actual: tuple[Array, ...],
    *,
    extra_roundings: int = 0,
    flushes: bool = False,
) -> tuple[Array, ...]:
    """Return backward errors of a factor in units of their bounds.

    `extra_roundings` are those beyond the usual steps.
    """
    element_type = element_type_of(operands[0])
    lower = bool(operation.attribute("lower"))
    a, found = to_wide_type(operands[0]), to_wide_type(actual[0])
    a, found = (a, found) if lower else (adjoint(a), adjoint(found))
    found = np.tril(found)
    finite = np.isfinite(found)
    usable = np.where(finite, found, 0)
    size = np.abs(usable)
    steps = a.shape[-1] + 1 + extra_roundings + (_COMPLEX_PRODUCT if element_type.is_complex else 0)
    rows = size.sum(axis=-1)
    tiny = underflow(element_type, flushes=flushes) * (
        steps + rows[..., :, None] + rows[..., None, :]
    )
    bound = steps * unit_roundoff(element_type) * (size @ np.swapaxes(size, -1, -2)) + tiny
    errors = np.tril(_divide_by_bound(usable @ adjoint(usable) - a, bound))
    errors = np.where(_dependent_elements(~finite), np.inf, errors)
    errors = np.where(_is_turned(found, steps * unit_roundoff(element_type)), np.inf, errors)
    failed = _may_break_down(a, steps * unit_roundoff(element_type))[..., None, None]
    errors = np.where(failed & np.isnan(found), 0.0, errors)
    other = np.triu(np.full(errors.shape, np.inf), 1)  # not measured by any equation
    errors = errors + other
    return (errors if lower else np.swapaxes(errors, -1, -2),)


def triangular_solve_errors(
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    actual: tuple[Array, ...],
    *,
    flushes: bool = False,
) -> tuple[Array, ...]:
    """Return backward errors of a solution in units of their bounds.

    Where an unknown is infinite and should not be, the other equations are evaluated with the
    expected value. They may be right, and would all seem wrong.
    """
    element_type = element_type_of(operands[0])
    given: dict[str, Any] = dict(operation.attributes)
    matrices, _below = coefficients(to_wide_type(operands[0]), **given)
    right, found, exact = (
        to_wide_type(operands[1]),
        to_wide_type(actual[0]),
        to_wide_type(expected[0]),
    )
    if not given["left_side"]:
        right, found, exact = (np.swapaxes(array, -1, -2) for array in (right, found, exact))
    infinite = ~np.isfinite(found)
    missing = infinite & ~np.isfinite(exact)
    found = np.where(infinite, np.where(missing, 0, exact), found)
    size = np.abs(matrices)
    steps = matrices.shape[-1] + (_COMPLEX_QUOTIENT if element_type.is_complex else 0)
    tiny = underflow(element_type, flushes=flushes) * (steps + size.sum(axis=-1))[..., None]
    bound = steps * unit_roundoff(element_type) * (size @ np.abs(found)) + tiny
    errors = _divide_by_bound(matrices @ found - right, bound)
    errors = np.where(infinite | ((matrices != 0) @ missing), np.inf, errors)
    errors = errors if given["left_side"] else np.swapaxes(errors, -1, -2)
    # As near the largest number as the roundings are large, a result may overflow.
    limit = element_type.float_format.max_finite / (1 + steps * unit_roundoff(element_type))
    overflown = (np.abs(to_wide_type(expected[0])) > limit) & ~np.isfinite(to_wide_type(actual[0]))
    return (np.where(overflown, 0.0, errors),)


FACTORED = Rule(
    "Cholesky decomposition",
    "backward error: |L L^H - A| <= (n + 1) u |L| |L^H| in every element, L being the backend's "
    "own result (complex: n + 3), and a positive diagonal; NaN where the matrix is definite by so "
    "little that roundings may hide it; the other triangle is implementation-defined",
    "Higham, Accuracy and Stability, theorem 10.3; Rump and Jeannerod 2014",
    measure=cholesky_errors,
)
SOLVED = Rule(
    "triangular system",
    "backward error: |T X - B| <= n u |T| |X| in every element, X being the backend's own result "
    "(complex: n + 5)",
    "Higham, Accuracy and Stability, theorem 8.5; Rump and Jeannerod 2014",
    measure=triangular_solve_errors,
)

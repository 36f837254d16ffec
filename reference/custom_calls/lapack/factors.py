"""LAPACK routines of triangular factors and systems: potrf, getrf, trsm, gtsv.

They process whole batches column by column: in float64 for numbers of at most 32 bits, in extended
precision for longer numbers, with one rounding at the end. Source: LAPACK's documentation of each
routine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reference.custom_calls.lapack.calls import RoutineCall, option_letter
from reference.custom_calls.lapack.reflectors import to_working_type
from reference.ir.types import Array, element_type_of
from reference.numerics.arithmetic import quiet
from reference.numerics.products import to_wide_type
from reference.ops.linear_algebra import adjoint, factor, round_numbers, triangular_solve


@quiet
def potrf(call: RoutineCall) -> tuple[Array, ...]:
    """Return the Cholesky factor in one triangle (the other is unchanged), and info.

    `info` is the order of the first leading minor that is not positive, else 0.
    """
    a = call.inputs[0]
    lower = option_letter(call.options.get("uplo", "L")) == "L"
    found = factor(to_wide_type(a) if lower else adjoint(to_wide_type(a)))
    diagonal = np.real(np.diagonal(found, axis1=-2, axis2=-1))
    bad = ~(np.isfinite(diagonal) & (diagonal > 0))
    failed = _first_index(bad)
    inside = np.ones(a.shape[-2:], np.bool_)
    inside = np.tril(inside) if lower else np.triu(inside)
    packed = np.where(
        inside, round_numbers(found if lower else adjoint(found), element_type_of(a)), a
    )
    return packed, call.info(failed)


def _first_index(mask: Array) -> Array:
    """Return the 1-based index of the first true element along the last dimension, 0 if none."""
    if not mask.shape[-1]:
        return np.zeros(mask.shape[:-1], np.int32)
    return np.where(mask.any(axis=-1), mask.argmax(axis=-1) + 1, 0)


def pivot_sizes(a: Array) -> Array:
    """Return the sizes that pivoting compares: |a|, or |re| + |im| if complex (BLAS's amax)."""
    return np.abs(np.real(a)) + np.abs(np.imag(a))


def decompose_lu(a: Array) -> tuple[Array, Array]:
    """Return L and U of P a = L U in one wide array, by partial pivoting; 0-based pivot rows."""
    a = a.copy()
    count = min(a.shape[-2:])
    pivots = np.zeros((*a.shape[:-2], count), np.int32)
    for j in range(count):
        best = j + np.argmax(pivot_sizes(a[..., j:, j]), axis=-1)
        pivots[..., j] = best
        at = np.broadcast_to(best[..., None, None], (*a.shape[:-2], 1, a.shape[-1]))
        there = np.take_along_axis(a, at, axis=-2)
        here = a[..., j : j + 1, :].copy()
        np.put_along_axis(a, at, here, axis=-2)
        a[..., j : j + 1, :] = there
        pivot = a[..., j, j]
        divisor = np.where(pivot == 0, 1, pivot)[..., None]
        a[..., j + 1 :, j] /= divisor
        a[..., j + 1 :, j + 1 :] -= a[..., j + 1 :, j, None] * a[..., j, None, j + 1 :]
    return a, pivots


@quiet
def getrf(call: RoutineCall) -> tuple[Array, ...]:
    """Return L and U in one matrix, 1-based pivot rows, and info: the first zero of U's
    diagonal."""
    a = call.inputs[0]
    found, pivots = decompose_lu(to_working_type(a))
    zero = np.diagonal(found, axis1=-2, axis2=-1) == 0
    return round_numbers(found, element_type_of(a)), pivots + 1, call.info(_first_index(zero))


@quiet
def lu_decomposition(call: RoutineCall) -> tuple[Array, ...]:
    """Evaluate `LuDecomposition`: L and U, 0-based pivots, and the row permutation they imply."""
    a = call.inputs[0]
    found, pivots = decompose_lu(to_working_type(a))
    return round_numbers(found, element_type_of(a)), pivots, permutation(pivots, a.shape[-2])


def permutation(pivots: Array, rows: int) -> Array:
    """Return the source row in a of each row of P a, given 0-based pivot rows."""
    order = np.broadcast_to(np.arange(rows, dtype=np.int32), (*pivots.shape[:-1], rows)).copy()
    for j in range(pivots.shape[-1]):
        at = np.clip(pivots[..., j, None], 0, rows - 1)
        there = np.take_along_axis(order, at, axis=-1)
        here = order[..., j : j + 1].copy()
        np.put_along_axis(order, at, here, axis=-1)
        order[..., j : j + 1] = there
    return order


def trsm_attributes(call: RoutineCall) -> dict[str, Any]:
    """Return the options of trsm as attributes of `triangular_solve`."""
    options = {name: option_letter(value) for name, value in call.options.items()}
    turned = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}
    return {
        "left_side": options.get("side", "L") == "L",
        "lower": options.get("uplo", "L") == "L",
        "unit_diagonal": options.get("diag", "N") == "U",
        "transpose_a": turned[options.get("trans_x", "N")],
    }


def trsm(call: RoutineCall) -> tuple[Array, ...]:
    """Return the solution of a triangular system."""
    return (triangular_solve(*call.inputs[:2], **trsm_attributes(call)),)


@quiet
def gtsv(call: RoutineCall) -> tuple[Array, ...]:
    """Solve tridiagonal systems by elimination with exchanges of neighbouring rows.

    The first element of the lower diagonal and the last of the upper diagonal are not used. The
    returned diagonals are factors of the matrix: the second superdiagonal, the diagonal and the
    superdiagonal of U.
    """
    lower, main, upper, b = (to_wide_type(one).copy() for one in call.inputs[:4])
    size = main.shape[-1]
    second = np.zeros_like(main)
    for i in range(size - 1):
        under = lower[..., i + 1]
        swap = pivot_sizes(main[..., i]) < pivot_sizes(under)
        divisor, other = np.where(swap, under, main[..., i]), np.where(swap, main[..., i], under)
        rate = np.where(other == 0, 0, other / np.where(divisor == 0, 1, divisor))
        first, beside = main[..., i + 1].copy(), upper[..., i].copy()
        beyond = upper[..., i + 1] if i + 2 < size else np.zeros_like(first)
        main[..., i] = divisor
        upper[..., i] = np.where(swap, first, beside)
        second[..., i] = np.where(swap, beyond, 0)
        main[..., i + 1] = np.where(swap, beside - rate * first, first - rate * beside)
        if i + 2 < size:
            upper[..., i + 1] = np.where(swap, -rate * beyond, beyond)
        here, there = b[..., i, :].copy(), b[..., i + 1, :].copy()
        chosen = swap[..., None]
        b[..., i, :] = np.where(chosen, there, here)
        b[..., i + 1, :] = np.where(chosen, here, there) - rate[..., None] * b[..., i, :]
    singular = _first_index(main == 0)
    for i in reversed(range(size)):
        rest = b[..., i, :]
        for ahead, factors in ((1, upper), (2, second)):
            if i + ahead < size:
                rest = rest - factors[..., i, None] * b[..., i + ahead, :]
        b[..., i, :] = rest / main[..., i, None]
    element_type = element_type_of(call.inputs[3])
    info = np.broadcast_to(singular.astype(np.int32), call.inputs[3].shape[:-2]).copy()
    below = np.concatenate([lower[..., :1], second[..., : size - 1]], axis=-1)
    return (*(round_numbers(one, element_type) for one in (below, main, upper, b)), info)

"""LAPACK routines made of elementary reflectors H = I - tau v v^H.

They process whole batches column by column, in float64 for numbers of at most 32 bits and in
extended precision for longer numbers (unless the batch is large), and round once at the end. The
conventions follow LAPACK's documentation of each routine (geqrf, geqp3, orgqr, ormqr, gehrd,
sytrd): the new leading element is real and has the sign that avoids cancellation, v begins with an
implicit 1, and H is the identity (tau = 0) if there is nothing to eliminate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reference.custom_calls.lapack.calls import (
    RoutineCall,
    complete_hermitian,
    option_letter,
    real_type,
)
from reference.ir.errors import EvaluationError
from reference.ir.types import Array, element_type_of
from reference.numerics.arithmetic import quiet
from reference.numerics.products import to_wide_type
from reference.ops.linear_algebra import adjoint, round_numbers

EXTENDED_PRECISION_LIMIT = 1 << 11
"""Batch size, in elements, from which extended precision is too slow. float64 is then as accurate
as a backend, whose errors are permitted anyway."""


def to_working_type(array: Array, like: Array | None = None) -> Array:
    """Return the elements in the type of the computation, which depends on the size of `like`."""
    if (array if like is None else like).size < EXTENDED_PRECISION_LIMIT:
        return to_wide_type(array)
    return array.astype(np.complex128 if element_type_of(array).is_complex else np.float64)


def reflector(column: Array) -> tuple[Array, Array, Array]:
    """Return (beta, tau, v) of the reflector with H^H column = (beta, 0, ..., 0); v begins with 1.

    Args:
        column: wide numbers, shape (..., k), k > 0.
    """
    first, rest = column[..., 0], column[..., 1:]
    below = np.sum(np.abs(rest) ** 2, axis=-1)
    idle = (below == 0) & (np.imag(first) == 0)
    size = np.sqrt(np.abs(first) ** 2 + below)
    beta = np.where(idle, np.real(first), -np.copysign(size, np.real(first)))
    divisor = np.where(idle, 1, beta)
    tau = np.where(idle, 0, (beta - first) / divisor)
    scale = np.where(idle, 1, first - beta)
    tail = np.where(idle[..., None], 0, rest / scale[..., None])
    return beta, tau, np.concatenate([np.ones_like(column[..., :1]), tail], axis=-1)


def reflect_rows(tau: Array, v: Array, block: Array) -> Array:
    """Return (I - tau v v^H) block."""
    return block - tau[..., None, None] * v[..., :, None] * (np.conj(v)[..., None, :] @ block)


def reflect_columns(tau: Array, v: Array, block: Array) -> Array:
    """Return block (I - tau v v^H)."""
    return block - tau[..., None, None] * (block @ v[..., :, None]) * np.conj(v)[..., None, :]


def stored_vector(a: Array, number: int) -> Array:
    """Return the vector v of reflector `number`, stored below the diagonal of a, with its leading
    1."""
    v = a[..., number:, number].copy()
    v[..., 0] = 1
    return v


def factorize_qr(a: Array) -> tuple[Array, Array]:
    """Return R and the reflectors of a = Q R in one wide array, and their tau."""
    a = a.copy()
    count = min(a.shape[-2:])
    taus = np.zeros((*a.shape[:-2], count), a.dtype)
    for j in range(count):
        beta, tau, v = reflector(a[..., j:, j])
        a[..., j:, j + 1 :] = reflect_rows(np.conj(tau), v, a[..., j:, j + 1 :])
        a[..., j:, j] = v
        a[..., j, j] = beta
        taus[..., j] = tau
    return a, taus


def apply_reflectors(a: Array, taus: Array, block: Array, *, transpose: bool = False) -> Array:
    """Return Q block, or Q^H block, for the product Q of the reflectors stored in a; all wide."""
    block = block.copy()
    count = taus.shape[-1]
    for j in range(count) if transpose else reversed(range(count)):
        tau = np.conj(taus[..., j]) if transpose else taus[..., j]
        block[..., j:, :] = reflect_rows(tau, stored_vector(a, j), block[..., j:, :])
    return block


def unit_columns(shape: tuple[int, ...], of: Any) -> Array:
    """Return the first columns of the identity, in every matrix of a batch."""
    return np.broadcast_to(np.eye(shape[-2], shape[-1], dtype=of), shape).copy()


@quiet
def geqrf(call: RoutineCall) -> tuple[Array, ...]:
    """Factorise a = Q R: return R in the upper triangle with the reflectors below, and tau."""
    a = call.inputs[0]
    found, taus = factorize_qr(to_working_type(a))
    return round_numbers(found, element_type_of(a)), round_numbers(taus, element_type_of(a))


@quiet
def geqp3(call: RoutineCall) -> tuple[Array, ...]:
    """Factorise a P = Q R with pivoting: as `geqrf`, with 1-based column indices in between.

    Raises:
        EvaluationError: if columns are to be moved to the front first.
    """
    given, fixed = call.inputs[0], call.inputs[1]
    if fixed.any():
        raise EvaluationError("geqp3 with fixed columns is not evaluated")
    a = to_working_type(given).copy()
    order = np.broadcast_to(np.arange(a.shape[-1]), (*a.shape[:-2], a.shape[-1])).copy()
    count = min(a.shape[-2:])
    taus = np.zeros((*a.shape[:-2], count), a.dtype)
    for j in range(count):
        sizes = np.sum(np.abs(a[..., j:, j:]) ** 2, axis=-2)
        best = j + np.argmax(sizes, axis=-1)[..., None]
        _exchange(order[..., None, :], j, best[..., None])
        _exchange(a, j, best[..., None])
        beta, tau, v = reflector(a[..., j:, j])
        a[..., j:, j + 1 :] = reflect_rows(np.conj(tau), v, a[..., j:, j + 1 :])
        a[..., j:, j] = v
        a[..., j, j] = beta
        taus[..., j] = tau
    element_type = element_type_of(given)
    return (
        round_numbers(a, element_type),
        (order + 1).astype(fixed.dtype),
        round_numbers(taus, element_type),
    )


def _exchange(a: Array, j: int, best: Array) -> None:
    """Exchange column j and column `best`, of shape (..., 1, 1), in place."""
    at = np.broadcast_to(best, (*a.shape[:-1], 1))
    there = np.take_along_axis(a, at, axis=-1)
    here = a[..., j : j + 1].copy()
    np.put_along_axis(a, at, here, axis=-1)
    a[..., j : j + 1] = there


@quiet
def orgqr(call: RoutineCall) -> tuple[Array, ...]:
    """Return the first columns of Q, as many as the matrix that stores the reflectors has."""
    a, taus = call.inputs[0], call.inputs[1]
    vectors = to_working_type(a)
    found = apply_reflectors(
        vectors, to_working_type(taus, a), unit_columns(a.shape, vectors.dtype)
    )
    return (round_numbers(found, element_type_of(a)),)


@quiet
def ormqr(call: RoutineCall) -> tuple[Array, ...]:
    """Return Q c, Q^H c, c Q or c Q^H."""
    a, taus, c = (to_working_type(one, call.inputs[0]) for one in call.inputs[:3])
    transpose = bool(call.options.get("transpose", False))
    if call.options.get("left", True):
        found = apply_reflectors(a, taus, c, transpose=transpose)
    else:
        found = adjoint(apply_reflectors(a, taus, adjoint(c), transpose=not transpose))
    return (round_numbers(found, element_type_of(call.inputs[2])),)


@quiet
def gehrd(call: RoutineCall) -> tuple[Array, ...]:
    """Reduce a = Q H Q^H to upper Hessenberg H: return H with the reflectors below, tau, info."""
    given = call.inputs[0]
    a = to_working_type(given).copy()
    size = a.shape[-1]
    low, high = int(call.options.get("low", 1)), int(call.options.get("high", size))
    taus = np.zeros((*a.shape[:-2], max(size - 1, 0)), a.dtype)
    for i in range(low - 1, high - 1):
        rows = slice(i + 1, high)
        beta, tau, v = reflector(a[..., rows, i])
        a[..., :high, rows] = reflect_columns(tau, v, a[..., :high, rows])
        a[..., rows, i + 1 :] = reflect_rows(np.conj(tau), v, a[..., rows, i + 1 :])
        a[..., rows, i] = v
        a[..., i + 1, i] = beta
        taus[..., i] = tau
    element_type = element_type_of(given)
    return round_numbers(a, element_type), round_numbers(taus, element_type), call.info()


@quiet
def sytrd(call: RoutineCall) -> tuple[Array, ...]:
    """Reduce a = Q T Q^H to real tridiagonal T.

    Return T with reflectors, diagonal, off-diagonal, tau and info. The upper triangle is read as
    the lower triangle of the matrix in reverse order.
    """
    given = call.inputs[0]
    lower = option_letter(call.options.get("uplo", "L")) == "L"
    whole = complete_hermitian(to_working_type(given), lower=lower)
    turn = slice(None, None, 1 if lower else -1)
    a = whole[..., turn, turn].copy()
    size = a.shape[-1]
    taus = np.zeros((*a.shape[:-2], max(size - 1, 0)), a.dtype)
    beside = np.zeros(taus.shape, np.real(a).dtype)
    for i in range(size - 1):
        beta, tau, v = reflector(a[..., i + 1 :, i])
        rest = reflect_columns(tau, v, a[..., i + 1 :, i + 1 :])
        a[..., i + 1 :, i + 1 :] = reflect_rows(np.conj(tau), v, rest)
        a[..., i + 1 :, i] = v
        a[..., i + 1, i] = beta
        taus[..., i], beside[..., i] = tau, beta
    diagonal = np.real(np.diagonal(a, axis1=-2, axis2=-1))
    element_type, part = element_type_of(given), real_type(given)
    inside = np.tril(np.ones(a.shape[-2:], np.bool_))[turn, turn]
    packed = np.where(inside, round_numbers(a, element_type)[..., turn, turn], given)
    return (
        packed, round_numbers(diagonal[..., turn], part), round_numbers(beside[..., turn], part),
        round_numbers(taus[..., turn], element_type), call.info(),
    )  # fmt: skip

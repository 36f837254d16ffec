"""LAPACK results judged by the equations that define them.

Free choices of the problem (signs, phases, bases of spaces, orders) do not matter then. The
residual of an equation is measured in units of the problem's size times the type's roundoff times
the matrix's norm, as in LAPACK's own test programs, whose thresholds are 20 to 50 (LAPACK Working
Note 41, "Installation Guide for LAPACK", and the input files of its tests).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from conformance.judging.judgement import Judgement
from conformance.judging.lapack import backward_error
from conformance.tolerance.bounds.linear_algebra import SOLVED
from conformance.verdict import Verdict
from reference.custom_calls.lapack.calls import complete_hermitian, finite_matrices, option_letter
from reference.custom_calls.lapack.factors import permutation, trsm_attributes
from reference.custom_calls.lapack.reflectors import apply_reflectors, unit_columns
from reference.custom_calls.lapack.routines import (
    TOP_K,
    comparison_direction,
    routine_call,
    top_elements,
)
from reference.ir.program import Operation, Program
from reference.ir.types import Array, element_type_of
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.rounding import to_float64
from reference.numerics.spectra import hermitian_eigenvalues, singular_values
from reference.ops.linear_algebra import adjoint

THRESHOLD = 20.0
"""Largest permitted residual, in those units; right results seldom exceed two."""

PIVOT_RATIO = 0.9
"""Smallest permitted ratio of a pivot column's norm to the largest norm left. LAPACK downdates
norms, and recomputes them before cancellation takes all digits."""

Arrays = tuple[Array, ...]


class Problem(NamedTuple):
    """One matrix of a batch: operands and results in extended precision, and the options.

    In that precision, sums of squares do not overflow. `roundoff` is the distance of 1 from the
    next number of the type.
    """

    operands: Arrays
    results: Arrays
    options: dict[str, Any]
    roundoff: float

    def option(self, name: str, otherwise: str) -> str:
        """Return an option that is a letter, or `otherwise` if it is absent."""
        return option_letter(self.options.get(name, otherwise))

    def is_off(self, residual: Array, scale: Any) -> bool:
        """Return whether a residual is larger than permitted for a matrix of norm `scale`."""
        size = max((*self.operands[0].shape, 1))
        bound = THRESHOLD * size * self.roundoff * scale + np.finfo(np.float64).tiny
        return not bool(np.all(np.abs(residual) <= bound))

    def is_skew(self, basis: Array) -> bool:
        """Return whether columns are not orthonormal."""
        return self.is_off(adjoint(basis) @ basis - np.eye(basis.shape[-1]), 1.0)


Equations = Callable[[Problem], Iterator[str]]
"""A function equations(problem) that yields a message for each equation that the results violate.
"""


NO_SOLUTION = "not a solution"
"""The class of a decomposition's results that violate its equations."""


def has_free_choices(operation: Operation) -> bool:
    """Return whether several results of an operation may satisfy its equations."""
    is_top_k = operation.attribute("call_target_name") == TOP_K
    return is_top_k or backward_error.decomposition_name(operation) is not None


def judge_by_equations(
    program: Program, operation: Operation, operands: Arrays, results: Arrays
) -> Judgement | None:
    """Judge a decomposition's results by its equations; None for other operations.

    `program` has the functions that the operation calls.
    """
    if operation.attribute("call_target_name") == TOP_K:
        named = operation.attribute("called_computations")
        bodies = tuple(f.body for f in program.functions if (f.name,) == named)
        largest = comparison_direction(bodies) == "GT"
        wrong = top_k_violation(operation, operands, results, largest=largest)
    elif backward_error.decomposition_name(operation) is not None:
        wrong = violation(operation, operands, results)
    else:
        return None
    total = sum(array.size for array in results)
    verdict = Verdict.DIVERGENT if wrong else Verdict.PASS
    kind = NO_SOLUTION if wrong else ""
    return Judgement(verdict, kind, wrong or "", total, total)


def violation(operation: Operation, operands: Arrays, results: Arrays) -> str | None:
    """Return a message on the violated equation of a decomposition's results, or None.

    Matrices that are not finite are skipped.
    """
    name = backward_error.decomposition_name(operation)
    assert name is not None
    usable = finite_matrices(backward_error.matrices_of(name, operands))
    if name == "trsm":
        return _trsm_violation(operation, operands, results, usable)
    options = dict(routine_call(operands, dict(operation.attributes)).options)
    roundoff = 2 * unit_roundoff(element_type_of(operands[0]).part)
    for index in np.ndindex(usable.shape):
        if not usable[index] or not operands[0].size:
            continue
        given, found = ([_to_extended(one[index]) for one in many] for many in (operands, results))
        problem = Problem(tuple(given), tuple(found), options, roundoff)
        with np.errstate(all="ignore"):
            wrong = next(_EQUATIONS[name](problem), None)
        if wrong is not None:
            return f"{wrong}, of matrix {list(index)}" if index else wrong
    return None


def _to_extended(a: Array) -> Array:
    """Return the numbers in extended precision; integers stay as they are."""
    if a.dtype.kind in "biu":
        return a
    return a.astype(np.clongdouble if a.dtype.kind == "c" else np.longdouble)


def _norm(a: Array) -> Any:
    return np.linalg.norm(a) if a.size else 0.0


def _trsm_violation(
    operation: Operation, operands: Arrays, results: Arrays, usable: Array
) -> str | None:
    attributes = trsm_attributes(routine_call(operands, dict(operation.attributes)))
    solving = Operation(
        "triangular_solve", operation.operands[:2], operation.results, tuple(attributes.items())
    )
    assert SOLVED.measure is not None
    with np.errstate(all="ignore"):
        expected = backward_error.solve(operation, operands)
        (errors,) = SOLVED.measure(solving, operands[:2], expected, results)
    solvable = usable & np.isfinite(expected[0]).all(axis=(-1, -2))
    wrong = (errors > THRESHOLD) & backward_error.broadcast_mask(solvable, errors)
    return "the solution does not solve the system" if wrong.any() else None


# --- Factors -------------------------------------------------------------------------------------


def _potrf(p: Problem) -> Iterator[str]:
    (a, *_), (found, info) = p.operands, p.results
    lower = p.option("uplo", "L") == "L"
    whole = complete_hermitian(a, lower=lower)
    order = int(info)
    if not 0 <= order <= len(a):
        yield f"info is {order}"
    elif order:
        part = whole[:order, :order]
        if hermitian_eigenvalues(part)[0] > THRESHOLD * order * p.roundoff * _norm(part):
            yield f"info is {order}, but the leading minor of that order is positive"
    else:
        factor = np.tril(found) if lower else adjoint(np.triu(found))
        if p.is_off(factor @ adjoint(factor) - whole, np.abs(factor) @ np.abs(factor).T):
            yield "the factor times its adjoint is not the matrix"
    other = np.triu(np.ones(a.shape, np.bool_), 1)
    if not np.array_equal(found[other if lower else other.T], a[other if lower else other.T]):
        yield "the other triangle is changed"


def _lu(p: Problem, factors: Array, pivots: Array) -> Iterator[str]:
    """Check L U = P a; the pivots count from 0."""
    a = p.operands[0]
    count = len(pivots)
    if not ((np.arange(count) <= pivots) & (pivots < a.shape[0])).all():
        yield "pivots out of range"
        return
    left = np.tril(factors[:, :count], -1) + np.eye(a.shape[0], count)
    right = np.triu(factors[:count])
    if p.is_off(left @ right - a[permutation(pivots, a.shape[0])], np.abs(left) @ np.abs(right)):
        yield "L U is not the matrix with its rows exchanged"
    if (np.abs(left) > 1.5).any():  # complex pivots go by the sum of the parts' magnitudes
        yield "a pivot is not the largest of its column"


def _getrf(p: Problem) -> Iterator[str]:
    factors, pivots, info = p.results
    yield from _lu(p, factors, pivots - 1)
    zero = np.flatnonzero(np.diagonal(factors) == 0)
    if int(info) != (zero[0] + 1 if zero.size else 0):
        yield f"info is {int(info)}, which is not the first zero of U's diagonal"


def _lu_decomposition(p: Problem) -> Iterator[str]:
    factors, pivots, order = p.results
    yield from _lu(p, factors, pivots)
    if not np.array_equal(order, permutation(pivots, p.operands[0].shape[0])):
        yield "the permutation is not that of the pivots"


def _orthogonal_factor(p: Problem, reflectors: Array, taus: Array) -> tuple[Array, bool]:
    """Return the product of stored reflectors, and whether it is not unitary."""
    q = apply_reflectors(reflectors, taus, unit_columns((len(reflectors),) * 2, reflectors.dtype))
    return q, p.is_skew(q)


def _qr(p: Problem, a: Array, packed: Array, taus: Array) -> Iterator[str]:
    q, skew = _orthogonal_factor(p, packed, taus)
    if skew:
        yield "the reflectors are not unitary"
    sizes = np.linalg.norm(a, axis=0, keepdims=True)
    if p.is_off(q @ np.triu(packed) - a, sizes * np.sqrt(len(a))):
        yield "Q R is not the matrix"


def _geqrf(p: Problem) -> Iterator[str]:
    yield from _qr(p, p.operands[0], *p.results[:2])


def _geqp3(p: Problem) -> Iterator[str]:
    packed, order, taus = p.results
    count = p.operands[0].shape[1]
    if not np.array_equal(np.sort(order), np.arange(1, count + 1)):
        yield "the columns' numbers are not a permutation"
        return
    yield from _qr(p, p.operands[0][:, order - 1], packed, taus)
    upper = np.triu(packed)
    largest = np.max(np.abs(upper), initial=0)
    for j in range(min(upper.shape)):
        sizes = np.linalg.norm(upper[j:, j:], axis=0)
        least = THRESHOLD * len(upper) * p.roundoff * largest
        if sizes[0] < PIVOT_RATIO * sizes.max() - least:
            yield f"column {j} is not the largest of the remaining columns"


def _growth(a: Array, taus: Array) -> Any:
    """Return the factor by which reflectors may enlarge errors.

    Errors of unitary reflectors only add up.
    """
    total, product = 1.0, 1.0
    for j in range(len(taus)):
        size = np.vdot(a[j + 1 :, j], a[j + 1 :, j]).real + 1
        total += np.abs(taus[j]) * size
        product *= max(1.0, np.abs(1 - taus[j] * size))
    return total * product


def _orgqr(p: Problem) -> Iterator[str]:
    a, taus = p.operands[:2]
    right = apply_reflectors(a, taus, unit_columns(a.shape, a.dtype))
    if p.is_off(p.results[0] - right, _growth(a, taus)):
        yield "these are not the columns of the product of the reflectors"


def _ormqr(p: Problem) -> Iterator[str]:
    a, taus, c = p.operands[:3]
    transpose = bool(p.options.get("transpose", False))
    if p.options.get("left", True):
        right = apply_reflectors(a, taus, c, transpose=transpose)
    else:
        right = adjoint(apply_reflectors(a, taus, adjoint(c), transpose=not transpose))
    if p.is_off(p.results[0] - right, _growth(a, taus) * _norm(c)):
        yield "this is not the product with the reflectors"


def _gehrd(p: Problem) -> Iterator[str]:
    (a, *_), (packed, taus, info) = p.operands, p.results
    size = len(a)
    yield from _check_info(info)
    low = int(p.options.get("low", 1)) - 1
    high = int(p.options.get("high", size))
    form = np.triu(packed, -1)
    inner = np.zeros_like(packed)
    inner[:, : size - 1] = packed[:, : size - 1]
    q = np.eye(size, dtype=a.dtype)
    for j in reversed(range(low, high - 1)):
        v = np.zeros(size, a.dtype)
        v[j + 1], v[j + 2 : high] = 1, packed[j + 2 : high, j]
        q = q - taus[j] * np.outer(v, np.conj(v) @ q)
    if p.is_skew(q):
        yield "the reflectors are not unitary"
    if p.is_off(q @ form @ adjoint(q) - a, _norm(a)):
        yield "Q H Q^H is not the matrix"


def _sytrd(p: Problem) -> Iterator[str]:
    (a, *_), (packed, diagonal, beside, taus, info) = p.operands, p.results
    yield from _check_info(info)
    lower = p.option("uplo", "L") == "L"
    turn = slice(None, None, 1 if lower else -1)
    whole, packed = complete_hermitian(a, lower=lower)[turn, turn], packed[turn, turn]
    q = np.eye(len(a), dtype=a.dtype)
    if len(a) > 1:
        q[1:, 1:], _ = _orthogonal_factor(p, packed[1:, :-1], taus[turn])
    if p.is_skew(q):
        yield "the reflectors are not unitary"
    d, e = diagonal[turn], beside[turn]
    form = np.diag(d) + np.diag(e, -1) + np.diag(e, 1)
    if p.is_off(q @ form @ adjoint(q) - whole, _norm(whole)):
        yield "Q T Q^H is not the matrix"
    stored = np.array_equal(np.real(np.diagonal(packed)), d)
    if not stored or not np.array_equal(np.real(np.diagonal(packed, -1)), e):
        yield "the tridiagonal matrix is not stored in place of the matrix"


def _gtsv(p: Problem) -> Iterator[str]:
    lower, main, upper, b = p.operands[:4]
    x, info = p.results[3], int(p.results[4])
    matrix = np.diag(main) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
    if info:
        least = singular_values(matrix)[-1]
        if least > THRESHOLD * len(main) * p.roundoff * _norm(matrix):
            yield f"info is {info}, but the matrix is not singular"
        return
    size = np.max(np.abs(matrix), initial=0) * np.max(np.abs(x), axis=0, initial=0, keepdims=True)
    if np.isfinite(x).all() and p.is_off(matrix @ x - b, size + np.abs(b)):
        yield "the solution does not solve the system"


# --- Spectra -------------------------------------------------------------------------------------


def _check_info(info: Array) -> Iterator[str]:
    if int(info):
        yield f"info is {int(info)}"


def _eigenpairs(p: Problem, lower: bool, vectors: Array | None, values: Array) -> Iterator[str]:
    whole = complete_hermitian(p.operands[0], lower=lower)
    norm = _norm(whole)
    if (np.diff(values) < 0).any():
        yield "the eigenvalues do not ascend"
    if vectors is None:
        if p.is_off(values - hermitian_eigenvalues(whole), norm):
            yield "these are not the eigenvalues"
        return
    if p.is_skew(vectors):
        yield "the eigenvectors are not orthonormal"
    if p.is_off(whole @ vectors - vectors * values, norm):
        yield "A V is not V diag(w)"


def _syevd(p: Problem) -> Iterator[str]:
    vectors, values, info = p.results
    yield from _check_info(info)
    asked = p.option("mode", "V") == "V"
    lower = p.option("uplo", "L") == "L"
    yield from _eigenpairs(p, lower, vectors if asked else None, values)


def _eigh(p: Problem) -> Iterator[str]:
    text = str(p.options.get("text", "1,1"))
    vectors, values = p.results[:2]
    flags = text.split(",")
    if flags[1:2] == ["0"]:
        order = np.argsort(values, kind="stable")
        vectors, values = vectors[:, order], values[order]
    yield from _eigenpairs(p, flags[0] != "0", vectors, values)


def _gesdd(p: Problem) -> Iterator[str]:
    a = p.operands[0]
    _, values, left, right, info = p.results
    yield from _check_info(info)
    norm = _norm(a)
    if (np.diff(values) > 0).any() or (values < 0).any():
        yield "the singular values do not descend to zero"
    if p.option("mode", "A") == "N":
        if p.is_off(values - singular_values(a), norm):
            yield "these are not the singular values"
        return
    if p.is_skew(left) or p.is_skew(adjoint(right)):
        yield "the singular vectors are not orthonormal"
    count = len(values)
    if p.is_off((left[:, :count] * values) @ right[:count] - a, norm):
        yield "U S V^H is not the matrix"


def _spectrum(p: Problem, values: Array) -> Iterator[str]:
    """Check that each value is an eigenvalue of a nearby matrix, and that none is missing.

    The traces of the matrix and of its square tell of missing eigenvalues.
    """
    a = p.operands[0]
    norm, size = _norm(a), len(a)
    if not np.isfinite(values).all():
        yield "eigenvalues that are not finite"
        return
    for value in values:
        least = singular_values(a - value * np.eye(size))[-1]
        if p.is_off(least, norm):
            yield f"{complex(value):.6g} is not an eigenvalue"
    if p.is_off(values.sum() - np.trace(a), norm * size):
        yield "the eigenvalues do not sum up to the trace"
    if p.is_off((values**2).sum() - np.trace(a @ a), norm**2 * size):
        yield "the squares of the eigenvalues do not sum up to the trace of the square"


def _geev(p: Problem) -> Iterator[str]:
    a = p.operands[0]
    *parts, left, right, info = p.results
    yield from _check_info(info)
    values = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    yield from _spectrum(p, values)
    norm = _norm(a)
    for side, matrix, numbers in ((right, a, values), (left, adjoint(a), np.conj(values))):
        which = "right" if side is right else "left"
        if p.option(f"compute_{which}", "N") == "N":
            continue
        if p.is_off(np.linalg.norm(side, axis=0) - 1, 1.0):
            yield f"the {which} eigenvectors are not of length 1"
        if p.is_off(matrix @ side - side * numbers, norm):
            yield f"the {which} eigenvectors are not those of the eigenvalues"


def _gees(p: Problem) -> Iterator[str]:
    a = p.operands[0]
    form, basis, *parts, _, info = p.results
    yield from _check_info(info)
    values = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    below = np.diagonal(form, -1) != 0
    if np.tril(form, -2).any() or (len(parts) == 1 and below.any()):
        yield "T is not triangular"
    if (below[1:] & below[:-1]).any():
        yield "T has blocks of more than two rows"
    norm = _norm(a)
    diagonal = np.diagonal(form)
    if p.is_off(np.real(values) - np.real(diagonal), norm):
        yield "the eigenvalues are not those on the diagonal of T"
    yield from _spectrum(p, values)
    if p.option("mode", "V") == "V":
        if p.is_skew(basis):
            yield "the Schur vectors are not orthonormal"
        if p.is_off(basis @ form @ adjoint(basis) - a, norm):
            yield "Z T Z^H is not the matrix"


_EQUATIONS: dict[str, Equations] = {
    "eigh": _eigh, "geev": _geev, "gees": _gees, "gehrd": _gehrd, "geqp3": _geqp3,
    "geqrf": _geqrf, "gesdd": _gesdd, "getrf": _getrf, "gtsv": _gtsv, "lu": _lu_decomposition,
    "orgqr": _orgqr, "ormqr": _ormqr, "potrf": _potrf, "syevd": _syevd, "sytrd": _sytrd,
}  # fmt: skip
"""Equations by the decomposition's name in the rules; trsm is judged by elements instead."""


# --- The largest elements ------------------------------------------------------------------------


def top_k_violation(
    operation: Operation, operands: Arrays, results: Arrays, *, largest: bool
) -> str | None:
    """Return a message on the error in the first k elements, or None.

    Slices with a NaN have no order. The choice and the positions of equal elements are free.
    """
    axis = int(routine_call((), dict(operation.attributes)).options["reduction_dim"])
    count = results[0].shape[axis]
    right = top_elements(operands[0], operands[1], axis, count, largest=largest)[0]
    rows = [_rows(one, axis) for one in (*operands[:2], *results, right)]
    for values, numbers, got, where, want in zip(*rows, strict=True):
        if np.isnan(values.astype(np.float64)).any():
            continue
        if not np.array_equal(got, want):
            return "these are not the first elements"
        pairs = list(zip(values.tolist(), numbers.tolist(), strict=True))
        for pair in zip(got.tolist(), where.tolist(), strict=True):
            if pair not in pairs:
                return f"{pair[0]} is not the element at {pair[1]}, or is returned twice"
            pairs.remove(pair)
    return None


def _rows(array: Array, axis: int) -> Array:
    """Return the slices along a dimension as the rows of a matrix."""
    numbers = to_float64(array) if element_type_of(array).is_float else array
    numbers = np.moveaxis(numbers, axis, -1)
    return numbers.reshape(-1, numbers.shape[-1])

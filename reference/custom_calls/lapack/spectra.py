"""LAPACK routines of eigenvalues, singular values and Schur forms: syevd, geev, gees, gesdd.

scipy's LAPACK computes each matrix, in float64 (rounded once) for numbers of at most 32 bits.
Matrices that are not finite are excluded because some routines do not terminate on them: their
results are NaN, and `info` reports failure. Matrices for geev are scaled by a power of two: some
versions of LAPACK do not scale the eigenvalues of very large and very small matrices back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reference.custom_calls.lapack.calls import (
    RoutineCall,
    complete_hermitian,
    finite_matrices,
    option_letter,
    real_type,
)
from reference.ir.types import Array, element_type_of
from reference.numerics.arithmetic import quiet
from reference.numerics.spectra import scale_to_one, shift_exponents
from reference.ops.linear_algebra import round_numbers

NOT_FINITE_INFO = -4
"""The `info` of a matrix that is not finite."""


def _lapack() -> Any:
    """Return scipy's LAPACK, whose functions are untyped; loaded when a routine is first called.

    Loading takes a third as long as loading jax, and few programs call LAPACK.
    """
    from scipy.linalg import lapack

    return lapack


def _matrices(a: Array) -> tuple[Array, Array]:
    """Return a batch in double precision, with zeros for matrices that are not finite; a finite
    mask."""
    double = np.complex128 if element_type_of(a).is_complex else np.float64
    usable = finite_matrices((a,))
    clean = np.where(usable[..., None, None], a, 0).astype(double)
    return clean.reshape(-1, *a.shape[-2:]), usable


def _join_batch(
    call: RoutineCall, usable: Array, columns: list[list[Array]], info: list[int], types: list[Any]
) -> tuple[Array, ...]:
    """Return results of single matrices as a batch, with NaN for matrices that are not usable."""
    found: list[Array] = []
    for column, of in zip(columns, types, strict=True):
        array = np.stack(column).reshape(usable.shape + column[0].shape)
        keep = usable.reshape(usable.shape + (1,) * column[0].ndim)
        found.append(round_numbers(np.where(keep, array, np.nan), of))
    failed = np.asarray(info, np.int32).reshape(usable.shape)
    return (*found, call.info(np.where(usable, failed, NOT_FINITE_INFO)))


def _is_empty(call: RoutineCall) -> bool:
    return not call.inputs[0].size


def _empty_results(shapes: list[tuple[tuple[int, ...], Any]]) -> tuple[Array, ...]:
    """Return the results for no matrices, or for matrices without elements."""
    return tuple(np.zeros(shape, of.storage) for shape, of in shapes)


@quiet
def syevd(call: RoutineCall) -> tuple[Array, ...]:
    """Return eigenvectors (if requested), ascending eigenvalues and info of Hermitian matrices."""
    a = call.inputs[0]
    element_type, part = element_type_of(a), real_type(a)
    if _is_empty(call):
        return (*_empty_results([(a.shape, element_type), (a.shape[:-1], part)]), call.info())
    routine = _lapack().zheevd if element_type.is_complex else _lapack().dsyevd
    lower = option_letter(call.options.get("uplo", "L")) == "L"
    vectors = option_letter(call.options.get("mode", "V")) == "V"
    matrices, usable = _matrices(a)
    if not vectors:  # LAPACK destroys the contents of the matrix
        kept = [np.zeros_like(one) for one in matrices]
    columns: list[list[Array]] = [[], []]
    info: list[int] = []
    for matrix in complete_hermitian(matrices, lower=lower):
        values, found, failed = routine(matrix, compute_v=int(vectors), lower=int(lower))
        columns[0].append(found)
        columns[1].append(values)
        info.append(failed)
    if not vectors:
        columns[0] = kept  # pyright: ignore[reportPossiblyUnboundVariable]
    return _join_batch(call, usable, columns, info, [element_type, part])


@quiet
def eigh(call: RoutineCall) -> tuple[Array, ...]:
    """Evaluate `Eigh`: eigenvectors and eigenvalues; the configuration begins "lower,sorted"."""
    text = str(call.options.get("text", "1,1"))
    lower = text.partition(",")[0] != "0"
    options = {"uplo": "L" if lower else "U", "mode": "V"}
    return syevd(RoutineCall(call.inputs, options, call.results))[:2]


@quiet
def gesdd(call: RoutineCall) -> tuple[Array, ...]:
    """Return the overwritten matrix, singular values, U, V^H, info; for divide and conquer and for
    QR.

    The mode says whether U and V^H are requested, and whether they are square.
    """
    a = call.inputs[0]
    rows, columns = a.shape[-2:]
    least = min(rows, columns)
    mode = option_letter(call.options.get("mode", "A"))
    element_type, part = element_type_of(a), real_type(a)
    left, right = (
        (rows, rows if mode == "A" else least),
        (columns if mode == "A" else least, columns),
    )
    batch = a.shape[:-2]
    left = call.shape(2, (*batch, *left))[-2:]
    right = call.shape(3, (*batch, *right))[-2:]
    if _is_empty(call):
        unit_left, unit_right = (
            np.eye(*left, dtype=element_type.storage),
            np.eye(*right, dtype=element_type.storage),
        )
        spread = (np.broadcast_to(unit, (*batch, *unit.shape)) for unit in (unit_left, unit_right))
        return (
            a.copy(),
            np.zeros((*batch, least), part.storage),
            *map(np.copy, spread),
            call.info(),
        )
    routine = _lapack().zgesdd if element_type.is_complex else _lapack().dgesdd
    matrices, usable = _matrices(a)
    found: list[list[Array]] = [[], [], [], []]
    info: list[int] = []
    for matrix in matrices:
        u, values, v, failed = routine(
            matrix, compute_uv=int(mode != "N"), full_matrices=int(mode == "A")
        )
        parts = (matrix, values, u, v) if mode != "N" else (
            matrix, values, np.zeros(left), np.zeros(right)
        )  # fmt: skip
        for column, one in zip(found, parts, strict=True):
            column.append(one)
        info.append(failed)
    return _join_batch(call, usable, found, info, [element_type, part, element_type, element_type])


@quiet
def geev(call: RoutineCall) -> tuple[Array, ...]:
    """Return eigenvalues (real and imaginary parts if a is real), left and right vectors, info."""
    a = call.inputs[0]
    element_type = element_type_of(a)
    whole = element_type.is_complex
    complex_type = element_type_of(np.zeros(0, np.result_type(a.dtype, np.complex64)))
    sides = [
        option_letter(call.options.get(f"compute_{side}", "N")) == "V" for side in ("left", "right")
    ]
    types = [
        *([element_type] if whole else [element_type, element_type]),
        complex_type,
        complex_type,
    ]
    if _is_empty(call):
        shapes = [a.shape[:-1]] * (len(types) - 2) + [a.shape] * 2
        return (*_empty_results(list(zip(shapes, types, strict=True))), call.info())
    routine = _lapack().zgeev if whole else _lapack().dgeev
    matrices, usable = _matrices(a)
    found: list[list[Array]] = [[] for _ in types]
    info: list[int] = []
    for matrix in matrices:
        scaled, exponent = scale_to_one(matrix)
        *values, left, right, failed = routine(
            scaled, compute_vl=int(sides[0]), compute_vr=int(sides[1])
        )
        values = [shift_exponents(value, exponent[0]) for value in values]
        pair = [
            (unpack_eigenvectors(side, values) if asked else np.zeros(matrix.shape))
            for side, asked in zip((left, right), sides, strict=True)
        ]
        for column, one in zip(found, (*values, *pair), strict=True):
            column.append(one)
        info.append(failed)
    return _join_batch(call, usable, found, info, types)


def unpack_eigenvectors(vectors: Array, values: list[Array]) -> Array:
    """Return eigenvectors as complex columns; for a real matrix, two columns hold a conjugate
    pair."""
    if len(values) == 1:
        return vectors
    found = vectors.astype(np.complex128)
    j = 0
    while j < vectors.shape[-1]:
        if values[1][j] == 0:
            j += 1
            continue
        found[:, j] = vectors[:, j] + 1j * vectors[:, j + 1]
        found[:, j + 1] = np.conj(found[:, j])
        j += 2
    return found


@quiet
def gees(call: RoutineCall) -> tuple[Array, ...]:
    """Decompose a = Z T Z^H: return T, Z, eigenvalues, the number selected (always 0) and info.

    Eigenvalues of real matrices are returned as real and imaginary parts.
    """
    a = call.inputs[0]
    element_type = element_type_of(a)
    types = (
        [element_type, element_type, element_type]
        if element_type.is_complex
        else [element_type, element_type, element_type, element_type]
    )
    if _is_empty(call):
        shapes = [a.shape] * 2 + [a.shape[:-1]] * (len(types) - 2)
        found = _empty_results(list(zip(shapes, types, strict=True)))
        return (*found, call.info(), call.info())
    routine = _lapack().zgees if element_type.is_complex else _lapack().dgees
    vectors = option_letter(call.options.get("mode", "V")) == "V"
    matrices, usable = _matrices(a)
    columns: list[list[Array]] = [[] for _ in types]
    info: list[int] = []
    for matrix in matrices:
        form, _, *values, basis, _, failed = routine(
            lambda *_: False, matrix, compute_v=int(vectors), sort_t=0
        )
        basis = basis if vectors else np.zeros(matrix.shape)
        for column, one in zip(columns, (form, basis, *values), strict=True):
            column.append(one)
        info.append(failed)
    *parts, failed = _join_batch(call, usable, columns, info, types)
    return (*parts, call.info(), failed)

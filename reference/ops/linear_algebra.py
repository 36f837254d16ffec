"""Cholesky decomposition and triangular systems.

Both are computed column by column over the whole batch, in float64 for numbers of at most 32 bits
and in extended precision for longer numbers, and rounded once.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from reference.ir.constraints import require
from reference.ir.notation import baseline_element_type, same_baseline_type, sizes_agree
from reference.ir.op import FIRST_OPERAND, Dialect, Op, QuantizedUse, Rounding, Structure
from reference.ir.program import TensorType
from reference.ir.types import ANALYTIC, Array, ElementType, element_type_of
from reference.numerics.arithmetic import quiet
from reference.numerics.products import to_wide_type
from reference.numerics.rounding import round_to
from reference.ops.elementwise.types import FLOAT_OR_COMPLEX

TRANSPOSITIONS = ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
"""The values of `transpose_a`."""


def cholesky_type(
    a: TensorType,
    *,
    lower: bool = False,  # noqa: ARG001 - says which triangle, not which type
    result: TensorType | None = None,
) -> TensorType:
    """Return the result type of `cholesky`.

    Raises:
        ConstraintViolation: I1, C1 (types differ), C2 (rank under 2), C3 (matrices not square).
    """
    require("I1", a in FLOAT_OR_COMPLEX, a)
    if require("C2", a.rank >= 2, a):
        require("C3", sizes_agree(a.shape[-2], a.shape[-1]), a)
    if result is not None:
        require("C1", same_baseline_type(a, result), f"{a}, {result}")
    return result or a


def triangular_solve_type(
    a: TensorType,
    b: TensorType,
    *,
    left_side: bool,
    lower: bool,  # noqa: ARG001 - says which triangle, not which type
    unit_diagonal: bool,  # noqa: ARG001 - an assumption about values
    transpose_a: str,
    result: TensorType | None = None,
) -> TensorType:
    """Return the result type of `triangular_solve`.

    C3 of the specification compares `shape(a)[:-3]` with `shape(b)[:-3]`; its definition of the
    result implies that it means the batch dimensions, all but the last two.

    Raises:
        ConstraintViolation: I1, I2, I6 (unknown transpose_a), C1 (element types), C2 (ranks), C3
            (shapes), C4 (type of the result).
    """
    require("I1", a in FLOAT_OR_COMPLEX, a)
    require("I2", b in FLOAT_OR_COMPLEX, b)
    require("I6", transpose_a in TRANSPOSITIONS, transpose_a)
    given = f"{a}, {b}"
    same = baseline_element_type(a) == baseline_element_type(b)
    require("C1", same, given)
    if require("C2", 2 <= a.rank == b.rank, given):
        side = b.shape[-2 if left_side else -1]
        square = sizes_agree(a.shape[-2], a.shape[-1]) and sizes_agree(a.shape[-1], side)
        batch = all(map(sizes_agree, a.shape[:-2], b.shape[:-2]))
        require("C3", square and sizes_agree(a.shape[-2], side) and batch, given)
    if result is not None:
        require("C4", same_baseline_type(b, result), f"{b}, {result}")
    return result or b


def adjoint(matrices: Array) -> Array:
    """Return the conjugate transposes."""
    return np.conj(np.swapaxes(matrices, -1, -2))


def round_numbers(numbers: Array, to: ElementType) -> Array:
    """Return wide real or complex numbers, rounded once to a type."""
    return np.asarray(numbers.astype(to.storage)) if to.is_complex else round_to(numbers, to)


@quiet
def cholesky(a: Array, *, lower: bool = False) -> Array:
    """Return the lower triangular L with L L^H = a, or the upper triangular U with U^H U = a.

    Only that triangle of `a` is read, and the other triangle of the result is zero. If a matrix is
    not positive definite, the result is NaN from the first column on where this shows.

    Args:
        a: floating-point or complex matrices, shape (..., n, n).
        lower: whether the lower triangle is read and written; the dialect's default is false.
    """
    matrices = to_wide_type(a)
    found = factor(matrices if lower else adjoint(matrices))
    return round_numbers(found if lower else np.triu(adjoint(found)), element_type_of(a))


def factor(matrices: Array) -> Array:
    """Return lower triangular factors of wide matrices; only the lower triangles are read."""
    found = np.zeros_like(matrices)
    for j in range(matrices.shape[-1]):
        above = np.conj(found[..., j, :j, None])
        column = matrices[..., j:, j] - (found[..., j:, :j] @ above)[..., 0]
        pivot = np.sqrt(np.real(column[..., :1]))
        found[..., j:, j] = column / pivot
        found[..., j, j] = pivot[..., 0]
    return found


@quiet
def triangular_solve(
    a: Array, b: Array, *, left_side: bool, lower: bool, unit_diagonal: bool, transpose_a: str
) -> Array:
    """Return the solution x of op(a) x = b, or of x op(a) = b.

    Args:
        a: matrices, shape (..., n, n); one triangle is read, its diagonal only unless
            `unit_diagonal`.
        b: right-hand sides, shape (..., n, m) if `left_side`, else (..., m, n).
        left_side: whether op(a) is on the left of x.
        lower: whether the lower triangle of `a` is read.
        unit_diagonal: whether the diagonal of `a` is assumed to be 1.
        transpose_a: the op: NO_TRANSPOSE, TRANSPOSE or ADJOINT.
    """
    matrices, below = coefficients(
        to_wide_type(a), left_side=left_side, lower=lower, unit_diagonal=unit_diagonal,
        transpose_a=transpose_a,
    )  # fmt: skip
    right = to_wide_type(b) if left_side else np.swapaxes(to_wide_type(b), -1, -2)
    found = np.zeros_like(right)
    size = matrices.shape[-1]
    for i in range(size) if below else reversed(range(size)):
        known = slice(0, i) if below else slice(i + 1, None)
        rest = right[..., i, :] - (matrices[..., i, None, known] @ found[..., known, :])[..., 0, :]
        found[..., i, :] = rest if unit_diagonal else rest / matrices[..., i, i, None]
    return round_numbers(found if left_side else np.swapaxes(found, -1, -2), element_type_of(b))


def coefficients(
    a: Array, *, left_side: bool, lower: bool, unit_diagonal: bool, transpose_a: str
) -> tuple[Array, bool]:
    """Return T of the equivalent system T x = b, and whether T is lower triangular.

    A system x op(a) = b is its transpose, op(a)^T x^T = b^T.
    """
    matrices = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        diagonal = np.arange(a.shape[-1])
        matrices[..., diagonal, diagonal] = 1
    if transpose_a == "ADJOINT":
        matrices = np.conj(matrices)
    turned = (transpose_a != "NO_TRANSPOSE") == left_side
    return (np.swapaxes(matrices, -1, -2) if turned else matrices), lower != turned


_op = partial(
    Op, dialect=Dialect.STABLEHLO, specified=True, element_types=ANALYTIC, principal=FIRST_OPERAND,
    quantized=QuantizedUse.COMPUTES, rounding=Rounding.ACCUMULATES, structure=Structure.COMPUTES,
    lifts=False, needs_result=False,
)  # fmt: skip

OPS: tuple[Op, ...] = (
    _op(
        name="cholesky", type_function=cholesky_type, evaluate=cholesky, operands=("a",),
        attributes=("lower",), optional=("lower",),  # the dialect's default: false
        constraints=("C1", "C2", "C3"), inputs=("I1",), expensive=True,
    ),
    _op(
        name="triangular_solve", type_function=triangular_solve_type, evaluate=triangular_solve,
        operands=("a", "b"), attributes=("left_side", "lower", "unit_diagonal", "transpose_a"),
        constraints=("C1", "C2", "C3", "C4"), inputs=("I1", "I2", "I6"), expensive=True,
    ),
)  # fmt: skip
"""The ops of this family."""

"""Unspecified results of linear algebra: cholesky and triangular_solve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.products import to_wide_type
from reference.ops.linear_algebra import adjoint, coefficients, factor
from reference.unspecified.reasons import Reason, Unspecified


def _other_triangle(
    operation: Operation, _: Sequence[Array], result: Array, __: int
) -> list[Unspecified]:
    """Return the elements outside of the requested triangle.

    Spec, "cholesky": implementation-defined.
    """
    everywhere = np.ones(result.shape, np.bool_)
    other = np.triu(everywhere, 1) if operation.attribute("lower") else np.tril(everywhere, -1)
    return [("the other triangle", other)]


def _indefinite_matrices(
    _: Operation, operands: Sequence[Array], __: Array, ___: int
) -> list[Unspecified]:
    """Return matrices that are not Hermitian positive definite. Spec, "cholesky": undefined."""
    a = to_wide_type(operands[0])
    hermitian = np.asarray((a == adjoint(a)).all(axis=(-1, -2)))
    diagonal = np.real(np.diagonal(factor(a), axis1=-2, axis2=-1))
    definite = hermitian & (np.isfinite(diagonal) & (diagonal > 0)).all(axis=-1)
    return [("not Hermitian positive definite", np.asarray(~definite)[..., None, None])]


def _unit_diagonal(
    operation: Operation, operands: Sequence[Array], result: Array, _: int
) -> list[Unspecified]:
    """Return systems whose diagonal is not 1 though `unit_diagonal` is true.

    Spec, "triangular_solve": undefined.
    """
    if not operation.attribute("unit_diagonal"):
        return []
    diagonal = np.diagonal(operands[0], axis1=-2, axis2=-1)
    ones = np.asarray((diagonal == np.ones((), diagonal.dtype)).all(axis=-1))
    return [("diagonal not of ones", np.broadcast_to(~ones[..., None, None], result.shape))]


def _unsolvable_systems(
    operation: Operation, operands: Sequence[Array], result: Array, _: int
) -> list[Unspecified]:
    """Return systems that are singular, or not finite, or whose solution is not finite.

    Spec, "triangular_solve", defines "the solution": a singular matrix has none or many, and the
    text does not define the method, on which non-finite results depend.
    """
    given: dict[str, Any] = dict(operation.attributes)
    matrices, _below = coefficients(to_wide_type(operands[0]), **given)
    diagonal = np.diagonal(matrices, axis1=-2, axis2=-1)
    singular = np.asarray((diagonal == 0).any(axis=-1))[..., None, None]
    finite = np.asarray(np.isfinite(matrices).all(axis=(-1, -2)))[..., None, None]
    along = -2 if given["left_side"] else -1
    solved = np.isfinite(result).all(axis=along, keepdims=True)
    return [
        ("singular matrix", singular),
        ("numbers that are not finite", np.asarray(~finite | ~solved)),
    ]


def _saturated_solution(
    operation: Operation, operands: Sequence[Array], result: Array, _: int
) -> list[Unspecified]:
    """Return unknowns that may overflow in some step, or depend on one that may, in types without
    infinity.

    Their largest number represents everything beyond it; otherwise as `_unsolvable_systems`.
    """
    element_type = element_type_of(result)
    if element_type.is_complex or element_type.float_format.has_infinity:
        return []
    given: dict[str, Any] = dict(operation.attributes)
    matrices, below = coefficients(to_wide_type(operands[0]), **given)
    right, found = np.abs(to_wide_type(operands[1])), np.abs(to_wide_type(result))
    if not given["left_side"]:
        right, found = np.swapaxes(right, -1, -2), np.swapaxes(found, -1, -2)
    others = np.abs(matrices) * (1 - np.eye(matrices.shape[-1]))
    largest = element_type.float_format.max_finite
    over = right + others @ found > largest
    along = slice(None) if below else slice(None, None, -1)
    met = np.logical_or.accumulate((over | (found >= largest))[..., along, :], axis=-2)
    after = np.concatenate([np.zeros_like(met[..., :1, :]), met[..., :-1, :]], axis=-2)
    open_ = over | after[..., along, :]
    return [
        (
            "steps beyond the largest number",
            open_ if given["left_side"] else np.swapaxes(open_, -1, -2),
        )
    ]


def _triangle_of_solution(
    operation: Operation, operands: Sequence[Array], result: Array, _: int
) -> list[Unspecified]:
    """Return the triangle of the solution that is not read in the input.

    Spec, "triangular_solve": output is returned in the triangle that input is read from, and values
    in the other are implementation-defined.

    A solution is a triangular matrix only if both sides are. The definition determines all elements
    of other solutions (for example with several columns for a single row).
    """
    a, b = operands
    if a.shape != b.shape or operation.attribute("transpose_a") != "NO_TRANSPOSE":
        return []
    everywhere = np.ones(result.shape, np.bool_)
    other = np.triu(everywhere, 1) if operation.attribute("lower") else np.tril(everywhere, -1)
    zero = np.asarray(((to_wide_type(b) == 0) | ~other).all(axis=(-1, -2)))
    return [("the other triangle", other & zero[..., None, None])]


REASONS: dict[str, tuple[Reason, ...]] = {
    "cholesky": (_other_triangle, _indefinite_matrices),
    "triangular_solve": (
        _unit_diagonal,
        _unsolvable_systems,
        _saturated_solution,
        _triangle_of_solution,
    ),
}
"""The reasons by op."""

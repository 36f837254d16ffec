"""Cholesky decompositions whose columns are products with reciprocals of the pivots' roots.

XLA expands `cholesky` into a loop over columns: the column of A, minus the product of L so far with
its adjoint, times the reciprocal of the pivot's rounded root. The pivot is computed in the same
way. In bf16 the reciprocal is kept in f32; in f16 it is rounded, unless the processor has no f16.
If a pivot has no root, the whole matrix is NaN. Larger matrices are split into blocks of 128.

Each step is taken as in solve_by_inverses.py. A matched result must be within the error of these
steps and also solve the equation as well as they do: so an ill-conditioned matrix hides no wrong
result.

Source: xla/hlo/transforms/expanders/cholesky_expander.cc; jaxlib 0.10.2 and 0.12, measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from conformance.known.hypothesis import Hypothesis, Operands, Results
from conformance.known.numbers_with_error import Number
from conformance.known.xla.decompositions.solve_by_inverses import (
    BLOCK,
    BlockArithmetic,
    distances,
    errors,
    exactness,
    nearest,
    reciprocal_types,
)
from conformance.tolerance.bounds.linear_algebra import RECIPROCAL_ROOT_ROUNDINGS, cholesky_errors
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.products import to_wide_type
from reference.ops.linear_algebra import adjoint


def _predictions(operation: Operation, operands: Operands) -> Iterator[Number]:
    (a,), lower = operands, bool(operation.attribute("lower"))
    of = element_type_of(a)
    if a.shape[-1] > BLOCK:
        return
    for flushes, is_exact, kept in product((False, True), exactness(of), reciprocal_types(of)):
        steps = BlockArithmetic(of, flushes, is_exact)
        given = to_wide_type(steps.flushed(a))
        given = given if lower else adjoint(given)
        found, has_failed = _factor(steps, given, replace(steps, of=kept))
        for value in (found.value, np.where(has_failed[..., None, None], np.nan, found.value)):
            factor = Number(value, found.error, steps)
            yield factor if lower else factor.conjugate.transposed


def _factor(steps: BlockArithmetic, a: Array, reciprocals: BlockArithmetic) -> tuple[Number, Array]:
    """Return the lower triangle by columns, and the mask of matrices with a pivot that may have no
    root.
    """
    found, whole = steps.exactly(np.zeros_like(a)), steps.exactly(a)
    may_fail = np.zeros(a.shape[:-2], np.bool_)
    for column in range(a.shape[-1]):
        row = found[..., column, None, :]
        left = whole[..., column, None] - found @ row.conjugate.transposed
        pivot = left[..., column, None, :]
        root = Number(np.real(pivot.value), pivot.error, steps).root(may_be_negative=True)
        made = left * (reciprocals.exactly(np.ones_like(root.value)) / root)
        found[..., column:, column] = made[..., column:, 0]
        may_fail |= (np.isnan(root.value) | np.isinf(root.error))[..., 0, 0]
    return found, may_fail


_NEAREST = partial(nearest, predictions=_predictions)


def _errors(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return the errors of results, by the steps and by the equation."""
    (stepwise,) = _NEAREST(operation, operands, expected, actual, apart=errors)
    (backward,) = cholesky_errors(
        operation,
        operands,
        expected,
        actual,
        extra_roundings=RECIPROCAL_ROOT_ROUNDINGS,
        flushes=True,
    )
    return (np.maximum(stepwise, backward),)


BY_RECIPROCALS = Hypothesis("reciprocal", _errors, ulps=partial(_NEAREST, apart=distances))

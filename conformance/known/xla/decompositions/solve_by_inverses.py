"""Triangular systems solved by the inverses of the blocks on the diagonal.

XLA expands `triangular_solve`: it splits the triangle T into blocks of 128 and inverts the blocks
on the diagonal. It divides columns by the diagonal, S = T D^-1, and computes the rows of the
inverse of S in sequence: row j is -S[j] times all rows so far, starting with the rows of -I, and of
I for the first. Then it divides rows by the diagonal. X is the product of a block's inverse with
the rest of B. Rows are multiplied whole, so that 0 times infinity is NaN. Many small systems, and
single equations, are solved by substitution, with products by the reciprocals of the diagonal.

Numbers of less than 32 bits are rounded after every step, and the result is predicted to the bit:
their sums are kept in f32, in which they are nearly exact. Wider numbers have a running error bound
(Higham, "Accuracy and Stability of Numerical Algorithms", section 3.3): the error of each step is
the largest error of any order of its sums, plus the propagated errors of its operands.

Source: xla/hlo/transforms/expanders/triangular_solve_expander.cc; jaxlib 0.10.2 and 0.12, measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np

from conformance.known.hypothesis import Hypothesis, Operands, Results, predict_nothing
from conformance.known.numbers_with_error import Arithmetic, Number
from conformance.tolerance.bounds.underflow import underflow
from conformance.tolerance.ulp import bound_units_from_prediction, ulps_from_prediction
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type_of
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.alike import flush_subnormals
from reference.numerics.arithmetic import quiet
from reference.numerics.products import to_wide_type
from reference.ops.linear_algebra import coefficients, round_numbers

LABEL = "product with an inverse"

BLOCK = 128
_FEW, _SMALL = 8, 32
"""Sizes below which large batches of matrices are solved by substitution."""

_WIDE = 32
"""Bits of the types for which no order of sums is exact."""

_SINGLE = ELEMENT_TYPES["f32"].float_format
_DOUBLE = ELEMENT_TYPES["f64"]


@dataclass(frozen=True, slots=True)
class BlockArithmetic(Arithmetic):
    """The arithmetic of a type on matrices; if it flushes, subnormals are zeros."""

    of: ElementType
    flushes: bool
    is_exact: bool
    """Whether each step is rounded as on the backend; otherwise errors are accumulated."""

    def exactly(self, numbers: Array) -> Number:
        """Return numbers of the operands, which have no error."""
        return Number(numbers, np.zeros(numbers.shape), self)

    def product_error(self, x: Array, y: Array) -> float:
        """Return the error of products that underflow."""
        del x, y
        return underflow(self.of, flushes=True)

    def accumulated_error(self, count: int) -> tuple[float, float]:
        """Return the error of a sum of `count` products, in any order; none if steps are exact."""
        if self.is_exact:
            return 0.0, 0.0
        unit = count * unit_roundoff(self.of)
        return unit / (1 - unit), count * underflow(self.of, flushes=True)

    def step(
        self, exact: Array, error: Array, lost: Array, *, units: float | None = None
    ) -> Number:
        """Return the result of a step: rounded if steps are exact, infinite on overflow, with an
        infinite error if it may overflow.
        """
        value = exact
        if self.flushes and self.is_exact and self.of.bits <= _WIDE:  # in f32
            value = np.where(np.abs(value) < _SINGLE.smallest_normal, 0 * value, value)
        narrow = self.flushed(round_numbers(value, self.of))
        again = self.widened(narrow)
        if self.is_exact:
            return Number(again, np.zeros(again.shape), self)
        error = error + (1 if units is None else units) * unit_roundoff(self.of) * np.abs(exact)
        kept = np.where(np.isfinite(again) & (again != 0), value, again)
        may_overflow = np.abs(value) + error > self.of.float_format.max_finite
        error = np.where(may_overflow & np.isfinite(again), np.inf, error)
        return Number(kept, error.astype(np.float64), self, lost)

    def widened(self, array: Array) -> Array:
        """Return numbers in a type whose operations are nearly exact. Exact steps of f64 are taken
        in f64 itself, because a wider type would round twice.
        """
        return array if self.is_exact and self.of is _DOUBLE else to_wide_type(array)

    def flushed(self, array: Array) -> Array:
        """Return the numbers as the arithmetic reads them, possibly flushed."""
        return flush_subnormals(array) if self.flushes else array


@quiet
def nearest(
    operation: Operation,
    operands: Operands,
    expected: Results,
    actual: Results,
    *,
    predictions: Callable[[Operation, Operands], Iterator[Number]],
    apart: Callable[[Number, Array], Array],
) -> Results:
    """Return the distance of results from the nearest prediction."""
    (found,) = predict_nothing(expected)
    for predicted in predictions(operation, operands):
        found = np.minimum(found, apart(predicted, actual[0]))
    return (found,)


def _predictions(operation: Operation, operands: tuple[Array, ...]) -> Iterator[Number]:
    of, shape = element_type_of(operands[0]), operands[0].shape
    given: dict[str, Any] = dict(operation.attributes)
    is_many = prod(shape[:-2]) > _FEW and shape[-1] < _SMALL
    for flushes, is_exact in product((False, True), exactness(of)):
        steps = BlockArithmetic(of, flushes, is_exact)
        a, b = (steps.widened(steps.flushed(one)) for one in operands)
        if not is_many:
            yield _compute_solution(steps, a, b, **given)
        if is_many or shape[-1] == 1:
            if shape[-1] == 1 and not of.is_complex:  # nothing is added up
                steps = replace(steps, is_exact=True)
                a, b = (steps.widened(steps.flushed(one)) for one in operands)
            for kept in reciprocal_types(of):
                yield _substitute_rows(steps, replace(steps, of=kept), a, b, **given)


def _substitute_rows(
    steps: BlockArithmetic, reciprocals: BlockArithmetic, a: Array, b: Array, **given: Any
) -> Number:
    """Return the solution row by row, with the reciprocals of the diagonal."""
    matrices, is_below = coefficients(a, **given)
    whole = steps.exactly(matrices)
    left = steps.exactly(b if given["left_side"] else np.swapaxes(b, -1, -2))
    found = steps.exactly(np.zeros(left.value.shape, left.value.dtype))
    rows = np.arange(matrices.shape[-1])
    for row in rows if is_below else rows[::-1]:
        made, done = left[..., row, None, :], rows < row if is_below else rows > row
        if done.any():
            made = made - whole[..., row, None, :][..., done] @ found[..., done, :]
        if not given["unit_diagonal"]:
            diagonal = whole[..., row, row, None, None]
            made = made * (reciprocals.exactly(np.ones_like(diagonal.value)) / diagonal)
        found[..., row, :] = made[..., 0, :]
    return found if given["left_side"] else found.transposed


def reciprocal_types(of: ElementType) -> tuple[ElementType, ...]:
    """Return the types in which reciprocals may be kept."""
    is_narrow = not of.is_complex and of.bits < _WIDE
    return (of, ELEMENT_TYPES["f32"]) if is_narrow else (of,)


def exactness(of: ElementType) -> tuple[bool, ...]:
    """Return the values of `is_exact` to try: both for f16, because some processors add in f16."""
    if of.is_complex or of.bits >= _WIDE:
        return (False,)
    return (True, False) if of.name == "f16" else (True,)


def errors(predicted: Number, got: Array) -> Array:
    """Return the errors of a result against a prediction, in units of the permitted error."""
    of = element_type_of(got)
    want = round_numbers(predicted.value, of)
    error = np.where(np.isnan(predicted.error), np.inf, predicted.error)
    if of.is_complex:  # which part is NaN or infinite is a matter of formulas for quotients
        infinite = ~np.isfinite(want) & ~np.isfinite(got)
        return np.where(infinite, 0.0, bound_units_from_prediction(want, got, error))
    return bound_units_from_prediction(want, got, error)


def distances(predicted: Number, got: Array) -> Array:
    """Return the distances of a result from a prediction, in ulp."""
    return ulps_from_prediction(round_numbers(predicted.value, element_type_of(got)), got)


def _compute_solution(
    steps: BlockArithmetic,
    a: Array,
    b: Array,
    *,
    left_side: bool,
    lower: bool,
    unit_diagonal: bool,
    transpose_a: str,
) -> Number:
    """Return the solution by the steps of the backend."""
    triangle, right = (
        np.tril(a) if lower else np.triu(a),
        b if left_side else np.swapaxes(b, -1, -2),
    )
    size = a.shape[-1]
    if unit_diagonal:
        triangle[..., np.arange(size), np.arange(size)] = 1

    def turned(one: Number) -> Number:
        """Return a matrix as a factor to the left of the unknowns."""
        if transpose_a == "ADJOINT":
            one = one.conjugate
        return one.transposed if (transpose_a != "NO_TRANSPOSE") == left_side else one

    whole = turned(steps.exactly(triangle))
    found = steps.exactly(np.zeros(right.shape, right.dtype))
    if size == 1:
        found = steps.exactly(right) / whole
        return found if left_side else found.transposed
    starts = range(0, size, BLOCK)
    is_below = lower == ((transpose_a != "NO_TRANSPOSE") != left_side)
    known = np.zeros(size, np.bool_)
    for start in starts if is_below else reversed(starts):
        rows = slice(start, start + BLOCK)
        rest = steps.exactly(right[..., rows, :])
        if known.any():
            rest = rest - whole[..., rows, :][..., known] @ found[..., known, :]
        inverse = turned(_inverse(steps, triangle[..., rows, rows], min(BLOCK, size), lower=lower))
        found[..., rows, :] = inverse @ rest
        known[rows] = True
    return found if left_side else found.transposed


def _inverse(steps: BlockArithmetic, block: Array, size: int, *, lower: bool) -> Number:
    """Return the inverse of a triangular block, padded with the identity to a size."""
    count = block.shape[-1]
    filled = np.zeros((*block.shape[:-2], size, size), block.dtype)
    places = np.arange(size)
    filled[..., places, places] = 1
    filled[..., :count, :count] = block
    diagonal = steps.exactly(np.diagonal(filled, axis1=-2, axis2=-1))
    scaled = steps.exactly(filled) / diagonal[..., None, :]
    rows = steps.exactly(np.zeros_like(filled))
    rows.value[..., places, places] = -1
    order = places if lower else places[::-1]
    rows.value[..., order[0], order[0]] = 1
    for row in order[1:]:
        rows[..., row, :] = -(scaled[..., row, None, :] @ rows)[..., 0, :]
    return (rows / diagonal[..., :, None])[..., :count, :count]


_NEAREST = partial(nearest, predictions=_predictions)
BY_INVERSES = Hypothesis(
    LABEL, partial(_NEAREST, apart=errors), ulps=partial(_NEAREST, apart=distances)
)

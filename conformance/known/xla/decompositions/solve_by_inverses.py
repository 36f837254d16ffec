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
from conformance.tolerance.bounds.underflow import underflow
from conformance.tolerance.ulp import bound_units_from_prediction, ulps_from_prediction
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type_of
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.alike import flush_subnormals
from reference.numerics.arithmetic import quiet
from reference.numerics.products import wide
from reference.ops.linear_algebra import coefficients, round_numbers

LABEL = "product with an inverse"

BLOCK = 128
_FEW, _SMALL = 8, 32
"""Sizes below which large batches of matrices are solved by substitution."""

_WIDE = 32
"""Bits of the types for which no order of sums is exact."""

_SINGLE = ELEMENT_TYPES["f32"].float_format

_PRODUCT, _QUOTIENT = 2, 5
"""Errors in u of complex products and quotients, beyond those of real numbers (Higham, lemma
3.5)."""


@dataclass(frozen=True, slots=True)
class NumbersWithError:
    """Numbers, and the largest errors of the computed numbers."""

    value: Array
    error: Array

    def __getitem__(self, chosen: Any) -> NumbersWithError:
        return NumbersWithError(self.value[chosen], self.error[chosen])

    @property
    def turned(self) -> NumbersWithError:
        """The transposed numbers and errors."""
        return NumbersWithError(np.swapaxes(self.value, -1, -2), np.swapaxes(self.error, -1, -2))


@dataclass(frozen=True, slots=True)
class Steps:
    """The arithmetic of a type; if it flushes, subnormals are zeros."""

    of: ElementType
    flushes: bool
    is_exact: bool
    """Whether each step is rounded as on the backend; otherwise errors are accumulated."""

    def exact(self, array: Array) -> NumbersWithError:
        """Return given numbers, without errors."""
        return NumbersWithError(array, np.zeros(array.shape))

    def quotient(self, x: NumbersWithError, y: NumbersWithError) -> NumbersWithError:
        """Return x / y."""
        found, least = x.value / y.value, np.abs(y.value).astype(np.float64) - y.error
        size = np.abs(found)
        units = np.sqrt(2) * _QUOTIENT if self.of.is_complex else 1.0
        error = np.where(least > 0, (x.error + size * y.error) / least, np.inf)
        return self._round_step(found, error + self._unit * units * size)

    def difference(self, x: NumbersWithError, y: NumbersWithError) -> NumbersWithError:
        """Return x - y."""
        found = x.value - y.value
        return self._round_step(found, x.error + y.error + self._unit * np.abs(found))

    def root(self, x: NumbersWithError) -> NumbersWithError:
        """Return the square root of the real part, with an infinite error where it may have
        none.
        """
        found = np.sqrt(np.real(x.value))
        down = found - np.sqrt(np.maximum(np.real(x.value) - x.error, 0))
        error = np.where(x.error < np.real(x.value), down, np.inf) + self._unit * found
        return self._round_step(
            found.astype(x.value.dtype), np.where(np.isnan(found), np.inf, error)
        )

    def scaled(self, x: NumbersWithError, y: NumbersWithError) -> NumbersWithError:
        """Return elementwise products."""
        left, right = (np.abs(one.value).astype(np.float64) for one in (x, y))
        unit = (np.sqrt(2) * _PRODUCT if self.of.is_complex else 1.0) * self._unit
        error = x.error * right + (left + x.error) * y.error + unit * left * right
        return self._round_step(x.value * y.value, error + underflow(self.of, flushes=True))

    def product(self, x: NumbersWithError, y: NumbersWithError) -> NumbersWithError:
        """Return matrix products, added in any order."""
        if self.is_exact:
            return self._round_step(x.value @ y.value, np.zeros(()))
        count = x.value.shape[-1] + (_PRODUCT if self.of.is_complex else 0)
        unit = count * self._unit
        gamma = (np.sqrt(2) if self.of.is_complex else 1.0) * unit / (1 - unit)
        left, right = (np.abs(one.value).astype(np.float64) for one in (x, y))
        error = (x.error + gamma * left) @ right + (left + x.error) @ y.error
        tiny = count * underflow(self.of, flushes=True)
        return self._round_step(x.value @ y.value, error + tiny)

    @property
    def _unit(self) -> float:
        return unit_roundoff(self.of)

    def _round_step(self, value: Array, error: Array) -> NumbersWithError:
        """Return the result of a step: rounded if steps are exact, infinite on overflow, with an
        infinite error if it may overflow.
        """
        if self.flushes and self.is_exact and self.of.bits <= _WIDE:  # in f32
            value = np.where(np.abs(value) < _SINGLE.smallest_normal, 0 * value, value)
        narrow = self.flushed(round_numbers(value, self.of))
        again = wide(narrow)
        if self.is_exact:
            return NumbersWithError(again, np.zeros(again.shape))
        kept = np.where(np.isfinite(again) & (again != 0), value, again)
        may_overflow = np.abs(value) + error > self.of.float_format.max_finite
        error = np.where(may_overflow & np.isfinite(again), np.inf, error)
        return NumbersWithError(kept, error.astype(np.float64))

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
    predictions: Callable[[Operation, Operands], Iterator[NumbersWithError]],
    apart: Callable[[NumbersWithError, Array], Array],
) -> Results:
    """Return the distance of results from the nearest prediction."""
    (found,) = predict_nothing(expected)
    for predicted in predictions(operation, operands):
        found = np.minimum(found, apart(predicted, actual[0]))
    return (found,)


def _predictions(operation: Operation, operands: tuple[Array, ...]) -> Iterator[NumbersWithError]:
    of, shape = element_type_of(operands[0]), operands[0].shape
    given: dict[str, Any] = dict(operation.attributes)
    is_many = prod(shape[:-2]) > _FEW and shape[-1] < _SMALL
    for flushes, is_exact in product((False, True), exactness(of)):
        steps = Steps(of, flushes, is_exact)
        a, b = (wide(steps.flushed(one)) for one in operands)
        if not is_many:
            yield _compute_solution(steps, a, b, **given)
        if is_many or shape[-1] == 1:
            if shape[-1] == 1 and not of.is_complex:  # nothing is added up
                steps = replace(steps, is_exact=True)
            for kept in reciprocal_types(of):
                yield _substitute_rows(steps, replace(steps, of=kept), a, b, **given)


def _substitute_rows(
    steps: Steps, reciprocals: Steps, a: Array, b: Array, **given: Any
) -> NumbersWithError:
    """Return the solution row by row, with the reciprocals of the diagonal."""
    matrices, is_below = coefficients(a, **given)
    whole = steps.exact(matrices)
    left = steps.exact(b if given["left_side"] else np.swapaxes(b, -1, -2))
    found = steps.exact(np.zeros(left.value.shape, left.value.dtype))
    rows = np.arange(matrices.shape[-1])
    for row in rows if is_below else rows[::-1]:
        made, done = left[..., row, None, :], rows < row if is_below else rows > row
        if done.any():
            before = steps.product(whole[..., row, None, :][..., done], found[..., done, :])
            made = steps.difference(made, before)
        if not given["unit_diagonal"]:
            diagonal = whole[..., row, row, None, None]
            ones = steps.exact(np.ones_like(diagonal.value))
            made = steps.scaled(made, reciprocals.quotient(ones, diagonal))
        found.value[..., row, :], found.error[..., row, :] = (
            made.value[..., 0, :],
            made.error[..., 0, :],
        )
    return found if given["left_side"] else found.turned


def reciprocal_types(of: ElementType) -> tuple[ElementType, ...]:
    """Return the types in which reciprocals may be kept."""
    is_narrow = not of.is_complex and of.bits < _WIDE
    return (of, ELEMENT_TYPES["f32"]) if is_narrow else (of,)


def exactness(of: ElementType) -> tuple[bool, ...]:
    """Return the kinds of predictions: both for f16, because processors may add in f16."""
    if of.is_complex or of.bits >= _WIDE:
        return (False,)
    return (True, False) if of.name == "f16" else (True,)


def errors(predicted: NumbersWithError, got: Array) -> Array:
    """Return the errors of a result against a prediction, in units of the permitted error."""
    of = element_type_of(got)
    want = round_numbers(predicted.value, of)
    error = np.where(np.isnan(predicted.error), np.inf, predicted.error)
    if of.is_complex:  # which part is NaN or infinite is a matter of formulas for quotients
        infinite = ~np.isfinite(want) & ~np.isfinite(got)
        return np.where(infinite, 0.0, bound_units_from_prediction(want, got, error))
    return bound_units_from_prediction(want, got, error)


def distances(predicted: NumbersWithError, got: Array) -> Array:
    """Return the distances of a result from a prediction, in ulp."""
    return ulps_from_prediction(round_numbers(predicted.value, element_type_of(got)), got)


def _compute_solution(
    steps: Steps,
    a: Array,
    b: Array,
    *,
    left_side: bool,
    lower: bool,
    unit_diagonal: bool,
    transpose_a: str,
) -> NumbersWithError:
    """Return the solution by the steps of the backend."""
    triangle, right = (
        np.tril(a) if lower else np.triu(a),
        b if left_side else np.swapaxes(b, -1, -2),
    )
    size = a.shape[-1]
    if unit_diagonal:
        triangle[..., np.arange(size), np.arange(size)] = 1

    def turned(one: NumbersWithError) -> NumbersWithError:
        """Return a matrix as a factor to the left of the unknowns."""
        if transpose_a == "ADJOINT":
            one = NumbersWithError(np.conj(one.value), one.error)
        return one.turned if (transpose_a != "NO_TRANSPOSE") == left_side else one

    whole = turned(steps.exact(triangle))
    found = steps.exact(np.zeros(right.shape, right.dtype))
    if size == 1:
        found = steps.quotient(steps.exact(right), whole)
        return found if left_side else found.turned
    starts = range(0, size, BLOCK)
    is_below = lower == ((transpose_a != "NO_TRANSPOSE") != left_side)
    known = np.zeros(size, np.bool_)
    for start in starts if is_below else reversed(starts):
        rows = slice(start, start + BLOCK)
        rest = steps.exact(right[..., rows, :])
        if known.any():
            before = whole[..., rows, :][..., known]
            rest = steps.difference(rest, steps.product(before, found[..., known, :]))
        inverse = turned(_inverse(steps, triangle[..., rows, rows], min(BLOCK, size), lower=lower))
        made = steps.product(inverse, rest)
        found.value[..., rows, :], found.error[..., rows, :] = made.value, made.error
        known[rows] = True
    return found if left_side else found.turned


def _inverse(steps: Steps, block: Array, size: int, *, lower: bool) -> NumbersWithError:
    """Return the inverse of a triangular block, padded with the identity to a size."""
    count = block.shape[-1]
    filled = np.zeros((*block.shape[:-2], size, size), block.dtype)
    places = np.arange(size)
    filled[..., places, places] = 1
    filled[..., :count, :count] = block
    diagonal = steps.exact(np.diagonal(filled, axis1=-2, axis2=-1))
    scaled = steps.quotient(steps.exact(filled), diagonal[..., None, :])
    rows = steps.exact(np.zeros_like(filled))
    rows.value[..., places, places] = -1
    order = places if lower else places[::-1]
    rows.value[..., order[0], order[0]] = 1
    for row in order[1:]:
        made = steps.product(scaled[..., row, None, :], rows)
        rows.value[..., row, :], rows.error[..., row, :] = (
            -made.value[..., 0, :],
            made.error[..., 0, :],
        )
    return steps.quotient(rows, diagonal[..., :, None])[..., :count, :count]


_NEAREST = partial(nearest, predictions=_predictions)
BY_INVERSES = Hypothesis(
    LABEL, partial(_NEAREST, apart=errors), ulps=partial(_NEAREST, apart=distances)
)

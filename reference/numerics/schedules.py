"""Errors of long sums in the orders in which machines add.

The error of a sum of n numbers in any order is at most (n - 1) u sum|x|. Only data made for it
comes near: rounding errors have different signs, and their sum grows with the square root of n. So
a sum that lost elements may be within this worst case. The second bound of a sum is LIKELY sqrt(n)
u sum|x| or, if it is larger, what the same numbers have in the usual orders: sequential, reversed,
in lanes. That is larger for equal numbers, which are all rounded in one direction, and in narrow
types, whose sums stop growing. Of f32 and f64 it is twice the largest of these errors. In narrow
types that would excuse the loss of most numbers, and there it is the largest error and the range of
errors by which it depends on the order of the numbers.

Sources: N. J. Higham and T. Mary, A New Approach to Probabilistic Rounding Error Analysis, 2019,
theorem 2.4; P. Henrici, Discrete Variable Methods, 1962 (a rounding error as a uniform number in
half an ulp, whose variance is at most u^2 / 3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.rounding import round_to, to_float64

LIKELY = 4.5
"""Bound of a sum's error in units of sqrt(n) u sum|x|.

In the worst order, n independent errors exceed it with a probability of 2 exp(-3 LIKELY^2 / 2),
which is 1e-13.
"""

_SPREAD = 2.0
"""Ratio of the largest error of f32 and f64 in any order to the largest error in the orders tried
here.
"""

_NARROW = 24
"""Precision, in bits, below which a type is narrow."""

_MATRIX = 2
_LANES = (8, 64)
_NARROW_LANES = (2, 4, 8, 16, 32, 64, 128, 256)
_PERMUTATIONS = 2
"""Random orders in which narrow numbers are added, beside the given order and its reverse."""

_TERMS = 1 << 18
_NARROW_TERMS = 1 << 15
"""Numbers that are added, of results spread over all results."""


def growth_of_sum(counts: ArrayLike, u: float, factor: ArrayLike = LIKELY) -> Array:
    """Return the bound of the error of sums in units of sum|x|: the smaller of both bounds.

    Args:
        counts: the number of additions of each sum.
        u: the unit roundoff of the type of the sums.
        factor: what `order_factor` gives for the numbers, at least LIKELY.
    """
    steps = np.maximum(np.asarray(counts, np.float64), 0.0)
    return np.asarray(u * np.minimum(steps, factor * np.sqrt(steps)))


def has_likely_bound(count: float) -> bool:
    """Return whether sums of so many numbers have a second bound below the worst case."""
    return count > LIKELY**2


def order_factor(terms: Array) -> float:
    """Return the factor of sqrt(n) u sum|x| that bounds the errors of sums in the usual orders.

    It is LIKELY for few numbers, which have the worst case.

    Args:
        terms: the numbers to be added along the first dimension, in the type of the sums.
    """
    count = terms.shape[0]
    if not (terms.size and has_likely_bound(count)):
        return LIKELY
    rows, element_type = terms.reshape(count, -1), element_type_of(terms)
    is_narrow = element_type.float_format.precision < _NARROW
    rows = rows[:, :: 1 + rows.size // (_NARROW_TERMS if is_narrow else _TERMS)]
    with np.errstate(all="ignore"):
        largest = _narrow_error(rows) if is_narrow else _SPREAD * _largest_error(rows, _LANES)
    u = 2.0**-element_type.float_format.precision
    return max(LIKELY, float(np.max(largest, initial=0.0) / (u * np.sqrt(count))))


def _narrow_error(rows: Array) -> Array:
    """Return the largest error of each column's sum in any order, as a share of the magnitudes: the
    largest error in the orders tried, and the range of these errors over permutations.
    """
    random = np.random.default_rng(0)
    orders = [rows, *(random.permutation(rows) for _ in range(_PERMUTATIONS))]
    errors = [_largest_error(order, _NARROW_LANES) for order in orders]
    return np.asarray(np.max(errors, axis=0) + np.ptp(errors, axis=0))


def _largest_error(rows: Array, lanes: Sequence[int]) -> Array:
    """Return the largest error of each column's sum in the usual orders, as a share of the
    magnitudes; zero where that is not finite.
    """
    wide = to_float64(rows).astype(np.longdouble if rows.dtype == np.float64 else np.float64)
    exact, size = wide.sum(axis=0), np.abs(wide).sum(axis=0)
    errors = [np.abs(to_float64(order) - exact) / size for order in _sums_in_orders(rows, lanes)]
    return np.max([np.where(np.isfinite(error), error, 0.0) for error in errors], axis=0)


def _sums_in_orders(rows: Array, lanes: Sequence[int]) -> Iterator[Array]:
    """Yield the sums of all columns, with partial sums in their type."""
    yield _add_rows(rows)
    yield _add_rows(rows[::-1])
    for width in lanes:
        steps = rows.shape[0] // width
        if steps > 1:
            split = rows[: steps * width].reshape(steps, width, -1)
            yield _add_rows(np.concatenate([_add_rows(split), rows[steps * width :]]))


def _add_rows(rows: Array) -> Array:
    return np.asarray(np.add.accumulate(rows, axis=0)[-1])


def order_factors(element_type: ElementType) -> Callable[[Array, Array], Array]:
    """Return a function multiply(lhs, rhs) with `order_factor` of matrix products for each element.

    It takes the place of a multiplication of matrices (..., m, k) and (..., k, n) whose sums are in
    the type `element_type`, which has 16 bits or more.
    """

    def multiply(lhs: Array, rhs: Array) -> Array:
        shape = np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2])
        shape = (*shape, lhs.shape[-2], rhs.shape[-1])
        depth = lhs.shape[-1]
        if not has_likely_bound(depth) or 0 in shape:
            return np.full(shape, LIKELY)
        if lhs.ndim == rhs.ndim > _MATRIX:  # some of the matrices, and of their rows and columns
            step = 1 + shape[0] * depth // _TERMS
            lhs, rhs = lhs[::step], rhs[::step]
        sampled = max(1, int(np.sqrt(_TERMS * shape[-2] / lhs.size)))
        few = lhs[..., :: 1 + shape[-2] // sampled, :], rhs[..., :: 1 + shape[-1] // sampled]
        return np.full(shape, max(order_factor(term) for term in _terms(*few, element_type)))

    return multiply


def _terms(lhs: Array, rhs: Array, element_type: ElementType) -> Iterator[Array]:
    """Yield the products that are added in each part of matrix products, along a new dimension."""
    for left, right in _real_factors(lhs, rhs):
        each = left[..., :, None, :] * np.swapaxes(right, -1, -2)[..., None, :, :]
        wide = each if each.dtype == np.longdouble else each.astype(np.float64)
        yield np.moveaxis(round_to(wide, element_type), -1, 0)


def _real_factors(lhs: Array, rhs: Array) -> Iterator[tuple[Array, Array]]:
    """Yield pairs of real matrices whose products add up to both parts of the product."""
    if not (np.iscomplexobj(lhs) or np.iscomplexobj(rhs)):
        yield lhs, rhs
        return
    a, b, c, d = np.real(lhs), np.imag(lhs), np.real(rhs), np.imag(rhs)
    for left, right in (((a, -b), (c, d)), ((a, b), (d, c))):
        yield np.concatenate(left, axis=-1), np.concatenate(right, axis=-2)

"""Interval arithmetic: ranges of results when every operation rounds.

An `Interval` holds the least and the largest number that may replace an exact number, and whether
NaN may. numpy's functions work on it, so a formula written for arrays gives the range of its
results (the standard model of Higham, "Accuracy and Stability of Numerical Algorithms", 2.4, with
gradual underflow and with overflow; sums in any order by his 4.4).

An operation is evaluated at all ends of its operands. So certain results stay certain: an exact
result of exact operands, 1 / 0, a certain overflow, a NaN. If errors leave it undecided whether a
sum overflows or a divisor is zero, the interval holds the results of both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from reference.ir.types import Array, ElementType
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.rounding import overflow_threshold, round_to
from reference.numerics.schedules import LIKELY, growth_of_sum, has_likely_bound, order_factor


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Type that operations round in, and their errors in units of its roundoff u.

    `quotient` is the error of a division.
    """

    of: ElementType
    quotient: float = 1.0


class Interval(np.lib.mixins.NDArrayOperatorsMixin):
    """Numbers from `low` to `high`, infinities included, and NaN where `nan`.

    If both ends are NaN, the number is NaN.
    """

    __slots__ = ("arithmetic", "high", "low", "nan")

    def __init__(self, low: Array, high: Array, nan: Array | bool, arithmetic: Arithmetic) -> None:
        """Set the ends, as wide numbers (numerics/products.py), and the arithmetic of results."""
        self.low, self.high = np.asarray(low), np.asarray(high)
        self.nan = np.broadcast_to(np.asarray(nan, np.bool_), self.low.shape)
        self.arithmetic = arithmetic

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **given: Any) -> Any:
        """Apply a numpy function: + - * /, a square root, or a sum over dimensions."""
        intervals = [
            one if isinstance(one, Interval) else exact_interval(one, self.arithmetic)
            for one in inputs
        ]
        with np.errstate(all="ignore"):
            if method == "reduce" and ufunc is np.add:
                return _sum(intervals[0], given["axis"])
            return _APPLY[ufunc](*intervals)

    def reshape(self, shape: tuple[int, ...]) -> Interval:
        """Return the intervals in another shape."""
        low, high, nan = (one.reshape(shape) for one in (self.low, self.high, self.nan))
        return Interval(low, high, nan, self.arithmetic)


def exact_interval(numbers: Any, arithmetic: Arithmetic) -> Interval:
    """Return numbers as intervals of a single number each."""
    wide = np.asarray(numbers)
    wide = wide if wide.dtype.kind == "f" else wide.astype(np.float64)
    return Interval(wide, wide, np.isnan(wide), arithmetic)


def _contains_zero(interval: Interval) -> Array:
    return (interval.low <= 0) & (interval.high >= 0)


def _extreme_points(interval: Interval) -> tuple[Array, Array, Array]:
    """Return both ends, and zero if it lies between them."""
    return (
        interval.low,
        interval.high,
        np.where(_contains_zero(interval), interval.low.dtype.type(0), interval.low),
    )


def _enclose(
    results: Iterable[Array], nan: Array, arithmetic: Arithmetic, errors: Any = 1.0
) -> Interval:
    """Return the interval of an operation, given exact results at the ends of its operands."""
    found = list(results)
    nan = nan | reduce(np.logical_or, map(np.isnan, found))
    return _round_outwards(reduce(np.fmin, found), reduce(np.fmax, found), nan, arithmetic, errors)


def _round_outwards(
    low: Array, high: Array, nan: Array, arithmetic: Arithmetic, errors: Array | float = 1.0
) -> Interval:
    """Return the interval of rounded results, for exact results from `low` to `high`.

    `errors` is the rounding error in u.
    """
    least, most = (_rounding_error(end, arithmetic, errors) for end in (low, high))
    known = (low == high) & ((errors == 1) & _is_representable(low, arithmetic) | (low == 0))
    below, above = np.where(known, low, low - least), np.where(known, high, high + most)
    # rounding never changes the sign
    low, high = (
        np.where((low >= 0) & (below < 0), 0, below),
        np.where((high <= 0) & (above > 0), 0, above),
    )
    limit = overflow_threshold(arithmetic.of)
    low, high = (
        np.where(np.abs(end) >= limit, np.copysign(np.inf, end), end) for end in (low, high)
    )
    return _widen_unrepresentable(low, high, nan, arithmetic)


def _widen_unrepresentable(low: Array, high: Array, nan: Array, arithmetic: Arithmetic) -> Interval:
    """Return the interval of a type's results.

    It is unbounded if the type lacks a result (an infinity, NaN, zero, a negative number): the
    specification does not define the result then.
    """
    form = arithmetic.of.float_format
    lost = np.zeros(low.shape, np.bool_)
    if not form.has_infinity:
        lost |= np.isinf(low) | np.isinf(high)
    if not form.has_nan:
        lost |= nan
    if not form.has_zero:
        lost |= ~(low > 0)
    low, high = np.where(lost, -np.inf, low), np.where(lost, np.inf, high)
    return Interval(low, high, nan | lost, arithmetic)


def _rounding_error(end: Array, arithmetic: Arithmetic, errors: Array | float) -> Array:
    """Return the largest error of a result; 0 if it is infinite."""
    form, u = arithmetic.of.float_format, unit_roundoff(arithmetic.of)
    size = np.abs(end)
    error = errors * u * np.maximum(size, form.smallest_normal)
    return np.where(np.isinf(end), 0.0, error)


def _is_representable(exact: Array, arithmetic: Arithmetic) -> Array:
    near = round_to(exact, arithmetic.of)
    return np.asarray(near.astype(exact.dtype) == exact)


def _add(x: Interval, y: Interval) -> Interval:
    sums = (a + b for a in (x.low, x.high) for b in (y.low, y.high))
    return _enclose(sums, x.nan | y.nan, x.arithmetic)


def _subtract(x: Interval, y: Interval) -> Interval:
    differences = (a - b for a in (x.low, x.high) for b in (y.low, y.high))
    return _enclose(differences, x.nan | y.nan, x.arithmetic)


def _multiply(x: Interval, y: Interval) -> Interval:
    if x is y:  # a square is not negative
        return _enclose((end * end for end in _extreme_points(x)), x.nan, x.arithmetic)
    products = (a * b for a in _extreme_points(x) for b in _extreme_points(y))
    return _enclose(products, x.nan | y.nan, x.arithmetic)


def _divide(x: Interval, y: Interval) -> Interval:
    """Return quotients; a divisor that may be zero of either sign permits everything."""
    open_ = (y.low < 0) & (y.high >= 0)
    low = np.where((y.low == 0) & (y.high > 0), np.abs(y.low), y.low)
    quotients = [a / b for a in _extreme_points(x) for b in (low, y.high)]
    nan = x.nan | y.nan | open_ & (_contains_zero(x) | np.isinf(x.low) | np.isinf(x.high))
    if open_.any():
        either = ((q, end) for q in quotients for end in (-np.inf, np.inf))
        quotients = [np.where(open_ & ~np.isnan(q), end, q) for q, end in either]
    exact = (np.abs(np.frexp(y.low)[0]) == 0.5) & (y.low == y.high)
    errors = np.where(exact, 1.0, x.arithmetic.quotient)
    return _enclose(quotients, nan, x.arithmetic, errors)


def _root(x: Interval) -> Interval:
    negative = x.low < 0
    low = np.where(negative & (x.high >= 0), x.low.dtype.type(0), x.low)
    roots = np.sqrt(low), np.sqrt(x.high)
    return _enclose(roots, x.nan | negative, x.arithmetic)


def _sum(x: Interval, axes: tuple[int, ...]) -> Interval:
    """Return sums in any order; exact if all partial sums are representable multiples of a unit."""

    def over_axes(ufunc: np.ufunc, numbers: Array) -> Array:
        return np.asarray(ufunc.reduce(numbers, axis=axes, keepdims=True))

    of, limit = x.arithmetic.of, overflow_threshold(x.arithmetic.of)
    low, high = (np.where(np.isfinite(end), end, 0) for end in (x.low, x.high))
    total = over_axes(np.add, np.maximum(np.abs(low), np.abs(high)))
    steps = max(low.size // max(total.size, 1) - 1, 0)
    growth = steps * unit_roundoff(of)
    exact = over_axes(np.logical_and, x.low == x.high) & _is_exact_sum(x, total, axes, steps)
    likely = growth_of_sum(steps, unit_roundoff(of), _order_factor(x, axes))
    off = np.where(exact, 0.0, likely * total)
    up, down = (over_axes(np.add, np.maximum(end, 0)) * (1 + growth) for end in (high, -low))
    may_rise = (up >= limit) | over_axes(np.logical_or, x.high == np.inf)
    may_fall = (down >= limit) | over_axes(np.logical_or, x.low == -np.inf)
    rises, falls = (over_axes(np.logical_or, mask) for mask in (x.low == np.inf, x.high == -np.inf))
    positive, negative = (over_axes(np.logical_and, m) for m in (x.low >= 0, x.high <= 0))
    low, high = over_axes(np.add, low) - off, over_axes(np.add, high) + off
    low, high = (
        np.where(positive, np.maximum(low, 0), low),
        np.where(negative, np.minimum(high, 0), high),
    )
    low = np.where(rises | (low >= limit), np.inf, low)
    high = np.where(falls | (high <= -limit), -np.inf, high)
    low, high = np.where(may_fall & ~rises, -np.inf, low), np.where(may_rise & ~falls, np.inf, high)
    is_nan = over_axes(np.logical_or, np.isnan(x.low)) | (rises & falls)
    low, high = np.where(is_nan, np.nan, low), np.where(is_nan, np.nan, high)
    nan = is_nan | (may_rise & may_fall) | over_axes(np.logical_or, x.nan)
    return _widen_unrepresentable(low, high, nan, x.arithmetic)


def _order_factor(x: Interval, axes: tuple[int, ...]) -> float:
    """Return the factor of the second bound of sums of the lower ends."""
    count = prod(x.low.shape[axis] for axis in axes)
    if not has_likely_bound(count):
        return LIKELY
    rows = np.moveaxis(x.low, axes, range(len(axes))).reshape(count, -1)
    return order_factor(round_to(rows, x.arithmetic.of))


def _is_exact_sum(x: Interval, total: Array, axes: tuple[int, ...], steps: int) -> Array:
    """Return the sums of exact numbers, with magnitudes `total`, that need no rounding."""
    form = x.arithmetic.of.float_format
    unit = _last_bit(x.low).min(axis=axes, keepdims=True, initial=np.inf)
    return (total <= unit * 2.0**form.precision) | (steps == 0)


def _last_bit(exact: Array) -> Array:
    """Return the largest power of two dividing each value; inf for 0, 0 if not in float64."""
    narrow = exact.astype(np.float64)
    fraction, exponent = np.frexp(narrow)
    digits = np.ldexp(np.where(np.isfinite(fraction), fraction, 0.0), 53).astype(np.int64)
    found = np.ldexp((digits & -digits).astype(np.float64), exponent - 53)
    return np.where(narrow == 0, np.inf, np.where(narrow == exact, found, 0.0))


_APPLY: dict[Any, Any] = {
    np.add: _add,
    np.subtract: _subtract,
    np.multiply: _multiply,
    np.true_divide: _divide,
    np.sqrt: _root,
}

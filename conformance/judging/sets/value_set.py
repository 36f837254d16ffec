"""Sets of the values that an element of a tensor may have: a few intervals, and NaN.

Where rounding decides something discrete, such as the branch of a selection, the outcomes stay
apart: a number between two intervals is none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.alike import flush_subnormals, has_subnormals
from reference.numerics.rounding import to_float64


class Unknown(Exception):
    """A program that cannot be followed: it has values that are no tensors of known sizes, or takes
    too long.
    """


WIDE = 12
"""Largest number of intervals of an element; beyond it, the nearest are joined."""

Interval = tuple[Array, Array]
"""The least and the greatest numbers of a tensor's elements, as arrays of its storage type.

Both are NaN where an element has no such interval. Complex intervals are rectangles.
"""


def to_wide(array: Array) -> Array:
    """Return a real array as numbers that numpy orders: floats as float64, others unchanged."""
    return to_float64(array) if element_type_of(array).is_float else array


def _comparable(array: Array) -> Array:
    return array if element_type_of(array).is_complex else to_wide(array)


def lesser(one: Array, other: Array) -> Array:
    """Return the lesser of the elements, and the number where one is NaN."""
    return _choose(one, other, -1)


def greater(one: Array, other: Array) -> Array:
    """Return the greater of the elements, and the number where one is NaN."""
    return _choose(one, other, 1)


def _choose(one: Array, other: Array, way: int) -> Array:
    if element_type_of(one).is_complex:
        parts = [_choose(part(one), part(other), way) for part in (np.real, np.imag)]
        found = np.empty(np.broadcast(one, other).shape, one.dtype)
        found.real, found.imag = parts
        return found
    a, b = to_wide(one), to_wide(other)
    is_first = (a >= b) if way > 0 else (a <= b)
    if a.dtype.kind == "f":
        is_first = (is_first & ~np.isnan(a)) | np.isnan(b)
    return np.where(is_first, one, other).astype(one.dtype)


def is_nan(array: Array) -> Array:
    """Return a mask of the elements that are NaN, in any part."""
    element_type = element_type_of(array)
    if element_type.is_complex:
        return np.isnan(array)
    return np.isnan(to_float64(array)) if element_type.is_float else np.zeros(array.shape, np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class Permuted:
    """An array whose elements may be in any order along a dimension."""

    array: Array
    axis: int

    def lost(self, actual: Array) -> Array:
        """Return a mask of the elements of rows that are no permutation of the array's rows."""
        rows = [np.sort(_comparable(one), axis=self.axis) for one in (self.array, actual)]
        same = (rows[0] == rows[1]) | ((rows[0] != rows[0]) & (rows[1] != rows[1]))
        return np.broadcast_to(~same.all(axis=self.axis, keepdims=True), actual.shape)


@dataclass(frozen=True, slots=True, eq=False)
class ValueSet:
    """The values that the elements of a tensor may have.

    `nan` is a mask of the elements that may be NaN. The set is `exact` if it has a single value
    for each element, with sign of zero and bits of NaN. `unrounded` is the set that operations
    may find which take the value before it is rounded, if that is another. `permuted` is
    an array with the same elements in another order, if the order is unspecified.
    """

    intervals: tuple[Interval, ...]
    nan: Array
    exact: bool = False
    unrounded: ValueSet | None = None
    permuted: Permuted | None = None

    @classmethod
    def of(cls, array: Array) -> ValueSet:
        """Return the set of exactly these values."""
        return cls(((array, array),), is_nan(array), exact=True)

    @classmethod
    def everything(cls, shape: tuple[int, ...], element_type: ElementType) -> ValueSet:
        """Return the set of all values of an element type."""
        interval = _limits(shape, element_type)
        has_nan = element_type.is_complex or (
            element_type.is_float and element_type.float_format.has_nan
        )
        return cls((interval,), np.full(shape, has_nan))

    @property
    def rounded(self) -> ValueSet:
        """The set of the values as they are stored."""
        return self if self.unrounded is None else replace(self, unrounded=None)

    @property
    def loose(self) -> ValueSet:
        """The set of the values that an operation may find: rounded or not."""
        return self if self.unrounded is None else self.unrounded

    def with_unrounded(self, other: ValueSet) -> ValueSet:
        """Return this set, with another one that operations may find."""
        return self if self.is_same(other) else replace(self, unrounded=other)

    def is_same(self, other: ValueSet) -> bool:
        """Return whether both have the same intervals."""
        if len(self.intervals) != len(other.intervals):
            return False
        pairs = zip(self.intervals, other.intervals, strict=True)
        return all(_is_same(a, c) and _is_same(b, d) for (a, b), (c, d) in pairs)

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's sizes."""
        return self.nan.shape

    @property
    def element_type(self) -> ElementType:
        """The tensor's element type."""
        return element_type_of(self.intervals[0][0])

    @property
    def is_point(self) -> bool:
        """Whether each element has a single value."""
        low, high = self.intervals[0]
        return len(self.intervals) == 1 and not bool(_differ(low, high, self.nan).any())

    @property
    def point(self) -> Array:
        """The least numbers: the values of a set that is a point."""
        return self.intervals[0][0]

    def alternatives(self) -> list[Interval]:
        """Return the intervals, and one with NaN at the elements that may be NaN and are not
        in the first.
        """
        low, high = self.intervals[0]
        if not bool((self.nan & ~is_nan(low)).any()):
            return [*self.intervals]
        nan = complex(np.nan, np.nan) if self.element_type.is_complex else np.nan
        nothing = np.array(nan).astype(low.dtype)
        ends = tuple(np.where(self.nan, nothing, one).astype(low.dtype) for one in (low, high))
        return [*self.intervals, (ends[0], ends[1])]

    def hull(self) -> ValueSet:
        """Return the set with one interval for each element."""
        if len(self.intervals) == 1:
            return self
        low, high = self.intervals[0]
        for others in self.intervals[1:]:
            low, high = lesser(low, others[0]), greater(high, others[1])
        return ValueSet(((low, high),), self.nan)

    def flushed(self) -> ValueSet:
        """Return the set with zero for subnormal numbers beside them."""
        element_type = self.element_type
        ends = [end for interval in self.intervals for end in interval]
        if not (element_type.is_float or element_type.is_complex) or not any(
            map(has_subnormals, ends)
        ):
            return self
        intervals = tuple(
            (lesser(low, flush_subnormals(low)), greater(high, flush_subnormals(high)))
            for low, high in self.intervals
        )
        return ValueSet(intervals, self.nan)

    def at(self, flat: Array) -> ValueSet:
        """Return the set of the elements with these flat indices."""
        pairs = [tuple(one.reshape(-1)[flat] for one in pair) for pair in self.intervals]
        intervals = tuple((low, high) for low, high in pairs)
        return ValueSet(intervals, self.nan.reshape(-1)[flat])

    def holds(self, array: Array) -> Array:
        """Return a mask of the elements of an array that are in the set. Signs of zeros and bits
        of NaN do not count.
        """
        inside = self.nan & is_nan(array)
        for low, high in self.intervals:
            inside = inside | _is_between(low, array, high)
        return inside

    def where(self, mask: Array, other: ValueSet) -> ValueSet:
        """Return the other set's elements where the mask is true, and these at other positions."""
        if not bool(mask.any()):
            return self
        pairs = [
            tuple(np.where(mask, b, a).astype(a.dtype) for a, b in zip(mine, one, strict=True))
            for mine, one in _zip_longest(self.intervals, other.intervals)
        ]
        nan = np.where(mask, other.nan, self.nan)
        return ValueSet(tuple((low, high) for low, high in pairs), nan)


def _zip_longest(
    one: Sequence[Interval], other: Sequence[Interval]
) -> Iterable[tuple[Interval, Interval]]:
    for number in range(max(len(one), len(other))):
        yield one[min(number, len(one) - 1)], other[min(number, len(other) - 1)]


def union(intervals: Sequence[Interval], nan: Array) -> ValueSet:
    """Return the set of these intervals; the nearest are joined until at most `WIDE` are left."""
    kept: list[Interval] = []
    for low, high in intervals:
        if not any(_is_same(low, a) and _is_same(high, b) for a, b in kept):
            kept.append((low, high))
    first = kept[0][0]
    if len(kept) <= WIDE:
        return ValueSet(tuple(kept), nan)
    if element_type_of(first).is_complex or not first.size:
        return ValueSet(tuple(kept), nan).hull()
    low, high = (np.stack([pair[end] for pair in kept]) for end in (0, 1))
    order = np.argsort(to_wide(low), axis=0, kind="stable")  # NaN last
    low, high = (np.take_along_axis(one, order, 0) for one in (low, high))
    while len(low) > WIDE:
        low, high = _join_nearest(low, high)
    return ValueSet(tuple(zip(low, high, strict=True)), nan)


def union_of(sets: Sequence[ValueSet]) -> ValueSet:
    """Return the set of the values that any of several sets has."""
    if len(sets) == 1:
        return sets[0]
    nan = np.any([each.nan for each in sets], axis=0)
    return union([interval for each in sets for interval in each.intervals], nan)


def _join_nearest(low: Array, high: Array) -> tuple[Array, Array]:
    """Join the two intervals of each element between which the gap is smallest."""
    with np.errstate(all="ignore"):
        gaps = to_wide(low)[1:].astype(np.float64) - to_wide(high)[:-1].astype(np.float64)
    at = np.argmin(np.where(np.isnan(gaps), -np.inf, gaps), axis=0)
    number = np.arange(len(low) - 1).reshape(-1, *[1] * at.ndim)
    after = np.take_along_axis(high, number + (number >= at), 0)
    before = np.take_along_axis(high, np.broadcast_to(number, after.shape), 0)
    joined = np.where(number == at, greater(before, after), after).astype(high.dtype)
    return np.take_along_axis(low, number + (number > at), 0), joined


def _limits(shape: tuple[int, ...], element_type: ElementType) -> Interval:
    part = element_type.part
    if part.is_float:
        numbers = part.float_format
        most = np.inf if numbers.has_infinity else numbers.max_finite
        least = -most if numbers.signed else numbers.smallest
    else:
        least, most = (
            (0, 1)
            if element_type.is_boolean
            else (element_type.min_integer, element_type.max_integer)
        )
    if element_type.is_complex:
        least, most = complex(least, least), complex(most, most)
    low, high = (
        np.full(shape, np.array(end).astype(element_type.storage)) for end in (least, most)
    )
    return low, high


def _is_same(one: Array, other: Array) -> bool:
    return one is other or one.tobytes() == other.tobytes()


def _differ(low: Array, high: Array, nan: Array) -> Array:
    """Return a mask of the elements that have more than one value."""
    if element_type_of(low).is_complex:
        return ~((low == high) | (is_nan(low) & is_nan(high)))
    a, b = to_wide(low), to_wide(high)
    return np.where(is_nan(low), False, (a != b) | nan)


def _is_between(low: Array, array: Array, high: Array) -> Array:
    if element_type_of(array).is_complex:
        parts = [_is_between(*map(part, (low, array, high))) for part in (np.real, np.imag)]
        return parts[0] & parts[1]
    a, x, b = map(to_wide, (low, array, high))
    return (a <= x) & (x <= b)

"""Exact folds of ops that are associative in exact arithmetic: add, multiply, extrema, bits.

Floating-point sums and products are accumulated in float64 (f64 in longdouble) and rounded once:
the value that all orders of a rounded accumulation approximate. Integers wrap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reference.ir.monoid import ADD, AND, MULTIPLY, Monoid
from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.arithmetic import widen_subbyte, wrap_integers
from reference.numerics.contributions import Leaves
from reference.numerics.rounding import round_to, to_float64
from reference.numerics.zeros import is_negative_zero, is_zero, parts_of


def can_fold(monoid: Monoid | None, element_type: ElementType) -> bool:
    """Return whether `fold` supports the type; complex lexicographic extrema are not supported."""
    if monoid is None:
        return False
    if element_type.is_complex:
        return monoid.rounds
    return not (element_type.is_float and monoid.bitwise)


def fold(
    monoid: Monoid,
    values: Array,
    init: Array,
    leaves: Leaves,
    inits: int = 1,
    *,
    padded: bool = True,
) -> Array:
    """Fold every result's leaves and its init value, `inits` times, by the monoid.

    `values` (which replaces the input's elements) and `init`, a scalar, have the type of the
    result. Padding is also `init`, or omitted unless `padded`.
    """
    element_type = element_type_of(values)
    ufunc = monoid.logical if element_type.is_boolean else monoid.ufunc
    wide, start = _widen(monoid, values), _widen(monoid, init)
    neutral = _neutral_element(monoid, wide)
    total = leaves.fold(ufunc, wide, start if padded else neutral, neutral)
    for number in range(inits):
        more = ufunc(total, start)
        total = more if number else np.where(leaves.counts == 0, start, more)
    total = np.asarray(total)
    if monoid is ADD and (element_type.is_float or element_type.is_complex):
        total = _signed_sum(total, values, init, leaves, inits)
    if element_type.is_float and monoid.extremum:
        total = _signed_extremum(monoid, total, wide, start, leaves, inits)
    return _round_total(total, element_type)


def all_negative_zeros(values: Array, init: Array, leaves: Leaves) -> Array:
    """Return a mask of results whose leaves are all -0; part by part, see numerics/zeros.py.

    True for results without leaves. `init` counts as padding only.
    """
    found, start = is_negative_zero(values), is_negative_zero(init)
    if values.dtype.kind != "c":
        return leaves.fold(np.logical_and, found, start, True)
    parts = [leaves.fold(np.logical_and, found[..., n], start[n], True) for n in range(2)]
    return np.stack(parts, axis=-1)


def _signed_sum(total: Array, values: Array, init: Array, leaves: Leaves, inits: int) -> Array:
    """Restore the sign of sums that are zero: numpy may add them to +0."""
    zero = is_zero(total)
    if not zero.any():
        return total
    negative = all_negative_zeros(values, init, leaves)
    if inits:
        negative = negative & is_negative_zero(init)
    parts = np.where(zero, np.where(negative, -0.0, 0.0), parts_of(total))
    return parts.view(total.dtype)[..., 0] if total.dtype.kind == "c" else parts


def _widen(monoid: Monoid, values: Array) -> Array:
    """Return the values in the type of the fold."""
    element_type = element_type_of(values)
    exact = not monoid.rounds
    if element_type.is_integer:
        if exact:
            return widen_subbyte(values)
        return values.astype(np.int64 if element_type.is_signed else np.uint64)
    if element_type.is_float:
        if exact and element_type.bits >= 32:
            return values
        return values.astype(np.longdouble) if element_type.bits == 64 else to_float64(values)
    if element_type.is_complex:
        return values.astype(np.complex128 if element_type.part.bits == 32 else np.clongdouble)
    return values


def _round_total(total: Array, element_type: ElementType) -> Array:
    if element_type.is_integer:
        return wrap_integers(total, element_type)
    if element_type.is_float:
        return total if total.dtype == element_type.storage else round_to(total, element_type)
    return np.asarray(total.astype(element_type.storage))


def _neutral_element(monoid: Monoid, wide: Array) -> Any:
    """Return the neutral element of the monoid in the type of the fold."""
    if wide.dtype == np.bool_:
        return monoid.logical is np.logical_and
    if not monoid.extremum:
        zero = wide.dtype.type(0)
        return ~zero if monoid is AND else wide.dtype.type(1) if monoid is MULTIPLY else zero
    if wide.dtype.kind == "f":
        return wide.dtype.type(-monoid.extremum * np.inf)
    limits = np.iinfo(wide.dtype)
    return wide.dtype.type(limits.min if monoid.extremum > 0 else limits.max)


def _signed_extremum(
    monoid: Monoid, total: Array, wide: Array, start: Array, leaves: Leaves, inits: int
) -> Array:
    """Restore the sign of extrema that are zero: numpy returns either, IEEE 754 orders -0 before
    +0."""
    if not (total == 0).any():
        return total
    negative = monoid.extremum < 0

    def is_wanted_zero(x: Array) -> Array:
        return (x == 0) & (np.signbit(x) == negative)

    found = leaves.fold(np.logical_or, is_wanted_zero(wide), is_wanted_zero(start), False)
    if inits:
        found = found | is_wanted_zero(start)
    sign = np.where(found == negative, -1.0, 1.0)
    return np.where(total == 0, np.copysign(np.zeros_like(total), sign), total)

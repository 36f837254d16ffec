"""Exact folds of the ops that are associative in exact arithmetic: add, multiply, extrema, bits.

Sums and products of floating-point numbers are accumulated in float64 (of f64 in longdouble) and
rounded once: the value that all orders of a rounded accumulation approximate. Integers wrap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.arithmetic import widened, wrapped
from reference.numerics.contributions import Leaves
from reference.numerics.rounding import round_to, to_float64
from reference.numerics.zeros import is_negative_zero, is_zero, parts_of

MONOIDS = frozenset({"add", "and", "maximum", "minimum", "multiply", "or", "xor"})
"""The ops that can be folded in any order; floating-point add and multiply up to rounding."""

IDEMPOTENT = frozenset({"and", "maximum", "minimum", "or"})
"""Those of them for which x op x = x."""

_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "and": np.bitwise_and,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "multiply": np.multiply,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_LOGICAL: dict[str, np.ufunc] = {
    "add": np.logical_or,
    "and": np.logical_and,
    "maximum": np.logical_or,
    "minimum": np.logical_and,
    "multiply": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def folds(name: str | None, of: ElementType) -> bool:
    """Whether `fold` can do it; lexicographic extrema of complex numbers it cannot."""
    if name not in MONOIDS:
        return False
    if of.is_complex:
        return name in ("add", "multiply")
    return not (of.is_float and name in ("and", "or", "xor"))


def fold(
    name: str, values: Array, init: Array, leaves: Leaves, inits: int = 1, *, padded: bool = True
) -> Array:
    """Every result's leaves and its init value, `inits` times, folded by the op of that name.

    `values` (in place of the input's elements) and `init`, a scalar, are of the type of the
    result. Padding is `init` too, or left out unless `padded`.
    """
    of = element_type_of(values)
    ufunc = _LOGICAL[name] if of.is_boolean else _UFUNCS[name]
    wide, start = _wide(name, values), _wide(name, init)
    neutral = _neutral(name, wide)
    total = leaves.fold(ufunc, wide, start if padded else neutral, neutral)
    for number in range(inits):
        more = ufunc(total, start)
        total = more if number else np.where(leaves.counts == 0, start, more)
    total = np.asarray(total)
    if name == "add" and (of.is_float or of.is_complex):
        total = _signed_sum(total, values, init, leaves, inits)
    if of.is_float and name in ("maximum", "minimum"):
        total = _signed(name, total, wide, start, leaves, inits)
    return _narrow(total, of)


def all_negative_zeros(values: Array, init: Array, leaves: Leaves) -> Array:
    """Which results have nothing but -0 among their leaves: part by part, see numerics/zeros.py.

    True of results without leaves. Padding is `init`, which does not count otherwise.
    """
    found, start = is_negative_zero(values), is_negative_zero(init)
    if values.dtype.kind != "c":
        return leaves.fold(np.logical_and, found, start, True)
    parts = [leaves.fold(np.logical_and, found[..., n], start[n], True) for n in range(2)]
    return np.stack(parts, axis=-1)


def _signed_sum(total: Array, values: Array, init: Array, leaves: Leaves, inits: int) -> Array:
    """Sums that are zero with their sign: numpy adds to +0 where it likes."""
    zero = is_zero(total)
    if not zero.any():
        return total
    negative = all_negative_zeros(values, init, leaves)
    if inits:
        negative = negative & is_negative_zero(init)
    parts = np.where(zero, np.where(negative, -0.0, 0.0), parts_of(total))
    return parts.view(total.dtype)[..., 0] if total.dtype.kind == "c" else parts


def _wide(name: str, values: Array) -> Array:
    """The values in the type that they are folded in."""
    of = element_type_of(values)
    exact = name not in ("add", "multiply")
    if of.is_integer:
        if exact:
            return widened(values)
        return values.astype(np.int64 if of.is_signed else np.uint64)
    if of.is_float:
        if exact and of.bits >= 32:
            return values
        return values.astype(np.longdouble) if of.bits == 64 else to_float64(values)
    if of.is_complex:
        return values.astype(np.complex128 if of.part.bits == 32 else np.clongdouble)
    return values


def _narrow(total: Array, of: ElementType) -> Array:
    if of.is_integer:
        return wrapped(total, of)
    if of.is_float:
        return total if total.dtype == of.storage else round_to(total, of)
    return np.asarray(total.astype(of.storage))


def _neutral(name: str, wide: Array) -> Any:
    """What changes nothing when the op is applied to it and a value."""
    if wide.dtype == np.bool_:
        return name in ("multiply", "minimum", "and")
    if name in ("add", "or", "xor"):
        return wide.dtype.type(0)
    if name == "multiply":
        return wide.dtype.type(1)
    if name == "and":
        return ~wide.dtype.type(0)
    if wide.dtype.kind == "f":
        return wide.dtype.type(-np.inf if name == "maximum" else np.inf)
    limits = np.iinfo(wide.dtype)
    return wide.dtype.type(limits.min if name == "maximum" else limits.max)


def _signed(
    name: str, total: Array, wide: Array, start: Array, leaves: Leaves, inits: int
) -> Array:
    """Extrema that are zero with their sign: numpy takes any, IEEE-754 has -0 before +0."""
    if not (total == 0).any():
        return total
    negative = name == "minimum"

    def wanted(x: Array) -> Array:
        return (x == 0) & (np.signbit(x) == negative)

    found = leaves.fold(np.logical_or, wanted(wide), wanted(start), False)
    if inits:
        found = found | wanted(start)
    sign = np.where(found == negative, -1.0, 1.0)
    return np.where(total == 0, np.copysign(np.zeros_like(total), sign), total)

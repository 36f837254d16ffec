"""Sets of the results of ops that are not monotonic: comparisons, selections, waves, ..."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from math import pi, prod

import numpy as np

from conformance.judging.sets.choices import set_of_bits
from conformance.judging.sets.facts import (
    Context,
    Sets,
    anything,
    ends_of,
    holds_zero,
    move,
    step,
    widen,
)
from conformance.judging.sets.value_set import (
    Interval,
    ValueSet,
    greater,
    is_nan,
    lesser,
    to_wide,
    union,
)
from conformance.tolerance.bounds.fft import transform_bound, transformed_axes
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import round_to, to_float64

Special = Callable[[Context, Operation, Sets], ValueSet]
"""A function special(context, operation, operands): the set of the result."""


def _compare(_: Context, operation: Operation, operands: Sets) -> ValueSet:
    """Return the outcomes of a comparison that the operands' intervals can decide."""
    one, other = (operand.hull() for operand in operands)
    if one.element_type.is_complex:
        return anything(operation)[0]
    direction = str(operation.attribute("comparison_direction"))
    (a, b), (c, d) = ([*map(to_wide, pair)] for pair in (one.intervals[0], other.intervals[0]))
    nan = one.nan | other.nan
    by_bits = operation.attribute("compare_type") == "TOTALORDER"
    if by_bits and (holds_zero(one).any() or holds_zero(other).any()):
        return anything(operation)[0]  # sets do not have the signs of zeros
    less, not_less = a < d, b >= c
    more, not_more = b > c, a <= d
    equal, differs = (a <= d) & (c <= b), ~((a == b) & (c == d) & (a == c))
    yes, no = {
        "LT": (less, not_less), "GE": (not_less, less), "GT": (more, not_more),
        "LE": (not_more, more), "EQ": (equal, differs), "NE": (differs, equal),
    }[direction]  # fmt: skip
    if by_bits or direction == "NE":
        yes = yes | nan
    if by_bits or direction != "NE":
        no = no | nan
    return ValueSet(((~no, yes),), np.zeros(no.shape, np.bool_))


def _select(_: Context, __: Operation, operands: Sets) -> ValueSet:
    """Return the elements of either case, or of the one that is selected."""
    pred, yes, no = operands
    low, high = (np.broadcast_to(one, yes.shape) for one in pred.hull().intervals[0])
    found: list[Interval] = []
    for mask, mine, others in ((high, yes, no), (~low, no, yes)):
        if bool(mask.any()):
            other = others.intervals[0]
            found += [
                (
                    np.where(mask, a, other[0]).astype(a.dtype),
                    np.where(mask, b, other[1]).astype(b.dtype),
                )
                for a, b in mine.intervals
            ]
    return union(found, (high & yes.nan) | (~low & no.nan))


def _abs(context: Context, operation: Operation, operands: Sets) -> ValueSet:
    (operand,) = operands
    if operand.element_type.is_complex:
        return _modulus(context, operation, operand)
    if not operand.element_type.is_float:
        return anything(operation)[0]
    found: list[Interval] = []
    for low, high in operand.intervals:
        (a,), (b,) = apply(operation, [low]), apply(operation, [high])
        crosses = (to_wide(low) < 0) & (to_wide(high) > 0)
        least = np.where(crosses, np.zeros((), a.dtype), lesser(a, b)).astype(a.dtype)
        found.append((least, greater(a, b)))
    return union(found, operand.nan)


def _modulus(context: Context, operation: Operation, operand: ValueSet) -> ValueSet:
    """Return magnitudes of complex numbers, which grow with the magnitudes of both parts."""
    found: list[Interval] = []
    for low, high in operand.intervals:
        near, far = np.empty_like(low), np.empty_like(low)
        for name, part in (("real", np.real), ("imag", np.imag)):
            a, b = np.abs(part(low)), np.abs(part(high))
            crosses = np.signbit(part(low)) != np.signbit(part(high))
            setattr(near, name, np.where(crosses, 0.0, np.minimum(a, b)))
            setattr(far, name, np.maximum(a, b))
        ends = [ends_of(context, operation, [one])[1][0] for one in (near, far)]
        found.append((ends[0][0], ends[1][1]))
    made = widen(context, operation, union(found, operand.nan))
    return made.where(~np.isfinite(found[0][1]), anything(operation)[0])


def _even(context: Context, operation: Operation, operands: Sets) -> ValueSet:
    """Return the results of a function of the magnitude, which grows with it."""
    (operand,) = operands
    element_type = operand.element_type
    if not element_type.is_float:
        return anything(operation)[0]
    found: list[Interval] = []
    mixed = np.zeros(operand.shape, np.bool_)
    for low, high in operand.intervals:
        a, b = to_float64(low), to_float64(high)
        least = np.where((a < 0) & (b > 0), 0.0, np.minimum(np.abs(a), np.abs(b)))
        given = [round_to(one, element_type) for one in (least, np.maximum(np.abs(a), np.abs(b)))]
        ends = [ends_of(context, operation, [one])[1][0] for one in given]
        found.append((ends[0][0], ends[1][1]))
        mixed |= is_nan(ends[0][0]) != is_nan(low)
    made = widen(context, operation, union(found, operand.nan))
    return made.where(mixed, anything(operation)[0])


def _wave(context: Context, operation: Operation, operands: Sets) -> ValueSet:
    """Return sines or cosines: no further from that of the middle than the operand is."""
    operand = operands[0].hull()
    everything = anything(operation)[0]
    if not operand.element_type.is_float:
        return everything
    low, high = map(to_float64, operand.intervals[0])
    middle = round_to((low + high) / 2, operand.element_type)
    _, (ends,) = ends_of(context, operation, [middle])
    reach = np.maximum(high - to_float64(middle), to_float64(middle) - low)
    element_type = element_type_of(ends[0])
    least, most = (
        step(round_to(to_float64(end) + way * reach, element_type), way, (-1.0, 1.0))
        for end, way in zip(ends, (-1.0, 1.0), strict=True)
    )
    made = ValueSet(((least, most),), operand.nan | is_nan(middle))
    return made.where(~(reach < pi), everything)


def _and(_: Context, operation: Operation, operands: Sets) -> ValueSet:
    """Return integers that have no bit that an operand, not negative, does not have."""
    everything = anything(operation)[0]
    low, high = everything.intervals[0]
    for operand in operands:
        least, most = operand.hull().intervals[0]
        bounded = least >= 0
        low = np.where(bounded, np.zeros_like(low), low)
        high = np.where(bounded, lesser(high, most), high).astype(high.dtype)
    return ValueSet(((low, high),), everything.nan)


def _remainder(_: Context, operation: Operation, operands: Sets) -> ValueSet:
    """Return remainders: smaller than the divisor, with the dividend's sign."""
    everything = anything(operation)[0]
    dividend, divisor = (operand.hull() for operand in operands)
    element_type = dividend.element_type
    if not divisor.is_point or element_type.is_complex:
        return everything
    by, (low, high) = to_wide(divisor.point), dividend.intervals[0]
    size = np.abs(by.astype(np.float64)) - (1 if element_type.is_integer else 0)
    least = np.where(to_wide(low) < 0, -size, 0.0)
    most = np.where(to_wide(high) > 0, size, 0.0)
    ends = [
        round_to(one, element_type) if element_type.is_float else one.astype(low.dtype)
        for one in (least, most)
    ]
    made = ValueSet(((ends[0], ends[1]),), dividend.nan)
    unknown = (by == 0) | ~np.isfinite(size) | (size > MOST_EXACT)
    if element_type.is_float:
        unknown |= ~np.isfinite(to_wide(low)) | ~np.isfinite(to_wide(high))
    return made.where(unknown, everything)


def _transform(_: Context, operation: Operation, operands: Sets) -> ValueSet:
    """Return the results of a Fourier transform: the transform of the middle of each interval, and
    around it an interval as wide as the sum of the half widths and the error of a transform.
    """
    low, high = operands[0].hull().intervals[0]
    middle = (low / 2 + high / 2).astype(low.dtype)
    (result,) = apply(operation, [middle])
    axes = transformed_axes(operation, low)
    reach = _magnitudes(np.abs(part(high - middle)) for part in _parts(middle))
    total = reach.sum(axis=axes, keepdims=True)
    if str(operation.attribute("fft_type")).startswith("I"):  # half of the elements stand for all
        total = 2 * total / prod(result.shape[axis] for axis in axes)
    sizes = _magnitudes(np.fmax(abs(part(low)), abs(part(high))) for part in _parts(middle))
    largest = (np.abs(result) + total).astype(np.float64)
    error = total + transform_bound(operation, (sizes,), (largest,))
    error = error * (1 + 2.0**-50)
    ends = [move(result, way * error) for way in (-1.0, 1.0)]
    least, most = (step(end, np.sign(error) * way) for end, way in zip(ends, (-1, 1), strict=True))
    open_ = ~np.isfinite(least) | ~np.isfinite(most)
    made = ValueSet(((least, most),), np.zeros(result.shape, np.bool_))
    return made.where(open_, anything(operation)[0])


def _parts(array: Array) -> list[Callable[[Array], Array]]:
    return [np.real, np.imag] if np.iscomplexobj(array) else [np.asarray]


def _magnitudes(parts: Iterable[Array]) -> Array:
    """Return the magnitudes of numbers, or of the complex numbers with these parts, as float64."""
    return np.asarray(reduce(np.hypot, (part.astype(np.float64) for part in parts)))


MOST_EXACT = 2.0**52
"""Integers below this are exact in float64."""

SPECIAL: dict[str, Special] = {
    "compare": _compare, "select": _select, "abs": _abs, "sine": _wave, "cosine": _wave,
    "and": _and, "remainder": _remainder, "chlo.square": _even, "chlo.cosh": _even,
    "bitcast_convert": set_of_bits, "fft": _transform,
}  # fmt: skip
"""Enclosures of ops that are not monotonic."""

"""Facts about operations on sets of values: what may be anything, and what a point may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.catalog import rule_of
from conformance.judging.lapack import backward_error
from conformance.judging.perturbation.error_model import excess_of, make_mover
from conformance.judging.sets.value_set import (
    Interval,
    Unknown,
    ValueSet,
    greater,
    is_nan,
    lesser,
    to_wide,
)
from reference.interpreter.evaluate import apply
from reference.ir.op import Rounding, Structure
from reference.ir.program import Operation, TensorType, tensor_of
from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.rounding import round_to, to_float64, ulp_size
from reference.ops.structure import calls_target
from reference.ops.table import OPS

Sets = Sequence[ValueSet]


WIDE_PRECISION = 24
"""Precision, in bits, of the narrowest type whose numbers no compiler keeps in a wider type: f32.
"""


@dataclass(frozen=True, slots=True)
class Context:
    """The platform, which selects the figures of rules, and whether operations are strict: whether
    a compiler leaves out nothing and does nothing otherwise.
    """

    platform: str
    is_strict: bool = False

    def excess(self, operation: Operation) -> float:
        """Return the tolerance, in ulp, of a rounding that a compiler may leave out.

        It is none for explicit roundings, and none for sums of f32 and f64: with both operands
        given, a sum has one value (IEEE 754-2019, section 5.4.1). What is contracted with a sum is
        the product, whose own tolerance covers it.
        """
        record = OPS[operation.name]
        element_type = stored(operation)
        is_number = element_type.is_float or element_type.is_complex
        is_wide = is_number and element_type.part.float_format.precision >= WIDE_PRECISION
        is_exact = record.unrounded in (np.add, np.subtract) and is_wide
        return 0.0 if self.is_strict or is_exact else excess_of(operation)


def ends_of(
    context: Context, operation: Operation, operands: Sequence[Any]
) -> tuple[tuple[Array, ...], list[Interval]]:
    """Return the reference's results, and the ends of what they may be within tolerances.

    The lower end is NaN where a number may overflow to NaN.
    """
    results = apply(operation, operands)
    excess = context.excess(operation)
    move = make_mover(operation, tuple(operands), results, context.platform, excess=excess)
    ways = [move(lambda shape, way=way: np.full(shape, way)) for way in (1.0, -1.0)]
    ends: list[Interval] = []
    for result, one, other in zip(results, *ways, strict=True):
        if one.tobytes() == other.tobytes() == result.tobytes():
            ends.append((result, result))  # with its bits
        else:
            low, high = lesser(lesser(result, one), other), greater(greater(result, one), other)
            overflows = (is_nan(one) | is_nan(other)) & ~is_nan(result)  # of types without infinity
            nothing = np.where(is_nan(one), one, other)
            ends.append((np.where(overflows, nothing, low).astype(low.dtype), high))
    return results, ends


def may_be_unrounded(operation: Operation, context: Context) -> bool:
    """Return whether results have another tolerance where a compiler may leave out a rounding."""
    rule = rule_of(operation)
    element_type = stored(operation)
    if rule is None or not (element_type.is_float or element_type.is_complex):
        return False
    rule = rule.hardware_rule(context.platform)
    if rule.bound is not None or rule.ulps is None:
        return False
    return rule.ulps.budget(element_type, context.platform) < context.excess(operation)


def widen(context: Context, operation: Operation, one: ValueSet) -> ValueSet:
    """Return a set with the error of results within its intervals, even if those of the ends
    are exact.
    """
    rule, element_type = rule_of(operation), one.element_type
    if rule is None or not (element_type.is_float or element_type.is_complex):
        return one
    ulps = rule.hardware_rule(context.platform).ulps
    budget = max(
        context.excess(operation),
        0.0 if ulps is None else ulps.budget(element_type, context.platform),
    )
    if not budget:
        return one
    span = rule.range or (-np.inf, np.inf)
    intervals: list[Interval] = []
    for ends in one.intervals:
        low, high = (
            move(end, np.where(end == 0, 0.0, way * budget * _ulp(end, ends)), span)
            for end, way in zip(ends, (-1, 1), strict=True)  # errors cross no zero
        )
        intervals.append((low, high))
    found = ValueSet(tuple(intervals), one.nan)
    open_ = np.zeros(one.shape, np.bool_)
    for (low, high), (before, _) in zip(intervals, one.intervals, strict=True):
        open_ |= may_overflow(low, high, is_nan(before))
    return found.where(open_, everything_like(operation, 0, one.shape))


def _ulp(end: Array, ends: Interval) -> Array:
    """Return the spacing of numbers at an end; of complex numbers, at the larger part."""
    element_type = element_type_of(end)
    return ulp_size(magnitude(ends if element_type.is_complex else (end, end)), element_type.part)


def anything(operation: Operation) -> tuple[ValueSet, ...]:
    """Return the sets of all values that the results may have by their types and ranges."""
    return tuple(
        everything_like(operation, index, static_shape(value.type))
        for index, value in enumerate(operation.results)
    )


def may_be_anything(operation: Operation) -> bool:
    """Return whether nothing is known of an operation's results but their types and range."""
    record = OPS.get(operation.name)
    if record is None or calls_target(operation) or record.is_random:
        return True
    if record.structure not in (Structure.COMPUTES, Structure.CONSTANT):
        return True
    if backward_error.decomposition_name(operation) is not None:
        return True
    if any(_has_no_zero(value.type) for value in (*operation.operands, *operation.results)):
        return record.rounding is not Rounding.MOVES
    rule = rule_of(operation)
    return rule is not None and rule.measure is not None and rule.bound is None


def everything_like(operation: Operation, number: int, shape: tuple[int, ...]) -> ValueSet:
    """Return all values of a result's type within the op's range, as one interval."""
    element_type = tensor_of(operation.results[number]).stored
    found = ValueSet.everything(shape, element_type)
    rule = rule_of(operation)
    if rule is None or rule.range is None or not element_type.is_float:
        return found
    low, high = (
        np.full(shape, round_to(np.asarray(end, np.float64), element_type)) for end in rule.range
    )
    least, most = found.intervals[0]
    return ValueSet(((greater(least, low), lesser(most, high)),), found.nan)


def static_shape(of: Any) -> tuple[int, ...]:
    """Return the sizes of a tensor type; raise Unknown if they are not known."""
    if not isinstance(of, TensorType) or not of.is_static:
        raise Unknown
    return of.static_shape


def stored(operation: Operation) -> ElementType:
    """Return the element type of the first result as it is stored."""
    return tensor_of(operation.results[0]).stored


def shows_bits(operation: Operation) -> bool:
    """Return whether results have the operand's bits: signs of zeros, and those of NaN."""
    return OPS[operation.name].is_bitcast


def _has_no_zero(of: Any) -> bool:
    """Return whether a type has powers of two only, so that errors are no sums."""
    return (
        isinstance(of, TensorType)
        and not of.stored.is_complex
        and (of.stored.is_float and not of.stored.float_format.signed)
    )


def holds_zero(one: ValueSet) -> Array:
    """Return a mask of the elements that may be zero."""
    found = np.zeros(one.shape, np.bool_)
    for low, high in one.intervals:
        found |= (to_wide(low) <= 0) & (to_wide(high) >= 0)
    return found


def depends_on_zero_signs(operation: Operation, operands: Sets, shape: tuple[int, ...]) -> Array:
    """Return a mask of the results that a zero's sign decides, or that are not monotonic."""
    record, found = OPS[operation.name], np.zeros(shape, np.bool_)
    for number in record.zero_signs:
        one = operands[number]
        if one.element_type.is_complex or not one.element_type.is_float:
            return np.ones(shape, np.bool_)
        found = found | np.broadcast_to(holds_zero(one), shape)
        if record.zero_signs == (0,):  # not monotonic across zero
            negative = np.any([to_wide(low) < 0 for low, _ in one.intervals], axis=0)
            found = found | np.broadcast_to(negative, shape)
    return found


def may_overflow(low: Array, high: Array, nan: Array) -> Array:
    """Return a mask of the elements that may be NaN because a type without infinity overflows, or
    a part of a complex number does.
    """
    element_type = element_type_of(low)
    found = (is_nan(low) | is_nan(high)) != nan
    if element_type.is_complex:
        return found | ~np.isfinite(low) | ~np.isfinite(high)
    if not element_type.is_float or element_type.float_format.has_infinity:
        return found
    largest = np.maximum(np.abs(to_float64(low)), np.abs(to_float64(high)))
    return found | (
        (largest >= element_type.float_format.max_finite) & (to_float64(low) != to_float64(high))
    )


_ANY_NUMBER = (-np.inf, np.inf)


def step(ends: Array, ulps: float | Array, span: tuple[float, float] = _ANY_NUMBER) -> Array:
    """Return ends moved by a number of ulp, within a span."""
    size = ulp_size(magnitude((ends, ends)), element_type_of(ends).part)
    return move(ends, ulps * size, span)


def move(ends: Array, by: Array, span: tuple[float, float] = _ANY_NUMBER) -> Array:
    """Return ends moved by numbers, within a span; those that are not finite stay."""
    element_type = element_type_of(ends)
    if element_type.is_complex:
        found = np.empty_like(ends)
        found.real, found.imag = (move(part(ends), by, span) for part in (np.real, np.imag))
        return found
    value = to_float64(ends)
    moved = round_to(np.asarray(np.clip(value + by, *span)), element_type)
    return np.where(np.isfinite(value), moved, ends).astype(ends.dtype)


def magnitude(ends: Interval) -> Array:
    """Return the largest magnitude of a part at either end, as float64."""
    element_type = element_type_of(ends[0])
    parts = (np.real, np.imag) if element_type.is_complex else (to_float64,)
    sizes = [np.abs(part(end)).astype(np.float64) for end in ends for part in parts]
    return np.asarray(np.fmax.reduce(sizes))

"""Propagation of needs from results to operands through arithmetic."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isfinite, log

from conformance.needs.need import (
    NONNEGATIVE,
    NONZERO,
    POSITIVE,
    Need,
    at_least,
    at_most,
    negate_need,
    scale_need,
    shift_need,
)
from conformance.needs.ranges import is_square
from conformance.needs.rules import (
    KnownValues,
    Needed,
    is_complex,
    passes_arithmetic,
)
from reference.ir.program import Operation

SMALL = 0.01
"""Distance from zero that a divisor must keep if it is a sum with a parameter that may be zero."""


_SQUARE = 4.0
"""Expected value of the squares of drawn numbers: E[x^2] - E[x]^2 needs a larger first operand."""


def propagate_add(operation: Operation, need: Need, known: KnownValues) -> Needed:
    """Propagate the need of a result of `add` to its operands."""
    if passes_arithmetic(need):
        yield from ((operand, Need(form=need.form)) for operand in operation.operands)
    for one, other in (operation.operands, operation.operands[::-1]):
        low, high = known.ranges[other.name]
        if low == high:
            yield one, replace(shift_need(need, low), form="")
        elif isfinite(need.low):
            left = need.low - low if isfinite(low) else need.low / 2
            enough = known.ranges[one.name].low >= left and (one is not operation.operands[0])
            yield one, at_least(left, is_open=need.is_open and not enough)
        elif isfinite(need.high):
            left = need.high - high if isfinite(high) else need.high / 2
            yield one, at_most(left, is_open=need.is_open)
        if need.nonzero and isfinite(low) and isfinite(high):
            yield one, _exclude_range(-low, -high)


def _exclude_range(low: float, high: float) -> Need:
    """Return the need of numbers that are greater than both bounds, or less than both.

    It is the side that contains zero; if zero lies between the bounds, the positive numbers.
    """
    low, high = min(low, high), max(low, high)
    if high <= 0:
        return POSITIVE if high > -SMALL else at_least(high, is_open=True)
    return at_most(low, is_open=True) if low > 0 else POSITIVE


def propagate_subtract(operation: Operation, need: Need, known: KnownValues) -> Needed:
    """Propagate the need of a result of `subtract` to its operands."""
    one, other = operation.operands
    if passes_arithmetic(need):
        yield one, Need(form=need.form)
    low, high = known.ranges[other.name]
    if isfinite(low) and isfinite(high):
        yield one, replace(need, low=need.low + high, high=need.high + low, nonzero=False, form="")
        if need.nonzero:
            yield one, NONZERO if low == high == 0 else _exclude_range(low, high)
    elif low >= 0 and isfinite(need.low):
        yield one, at_least(need.low + _SQUARE)
    low, high = known.ranges[one.name]
    if isfinite(low) and isfinite(high):
        turned = negate_need(replace(need, nonzero=False, form=""))
        yield other, replace(turned, low=turned.low + high, high=turned.high + low)
        if need.nonzero:
            yield other, NONZERO if low == high == 0 else _exclude_range(low, high)


def propagate_multiply(operation: Operation, need: Need, known: KnownValues) -> Needed:
    """Propagate the need of a result of `multiply` to its operands."""
    if passes_arithmetic(need):
        yield from ((operand, Need(form=need.form)) for operand in operation.operands)
    if sign := is_square(operation, known):
        wanted = need if sign > 0 else negate_need(need)
        root = wanted.high**0.5 if 0 <= wanted.high < inf else inf
        is_open = need.is_open and isfinite(root)
        yield operation.operands[0], Need(-root, root, is_open, need.excludes_zero)
        return
    need = replace(need, form="")
    for one, other in (operation.operands, operation.operands[::-1]):
        low, high = known.ranges[other.name]
        if low > 0:
            yield one, scale_need(need, low, high)
        elif high < 0:
            yield one, scale_need(negate_need(need), -high, -low)
        elif low >= 0 or need.low >= 0:
            yield one, scale_need(need, 1.0, inf)
        elif need.nonzero:
            yield one, NONZERO


def propagate_negate(operation: Operation, need: Need, _: KnownValues) -> Needed:
    """Propagate the need of a result of `negate` to its operands."""
    yield operation.operands[0], negate_need(need)


def propagate_abs(operation: Operation, need: Need, _: KnownValues) -> Needed:
    """Propagate the need of a result of `abs` to its operands."""
    if not is_complex(operation.operands[0]):
        nonzero = need.excludes_zero
        is_open = need.is_open and isfinite(need.high)
        yield operation.operands[0], Need(-need.high, need.high, is_open, nonzero)


def propagate_extremum(operation: Operation, need: Need, _: KnownValues) -> Needed:
    """Propagate the need of a result of `maximum` or `minimum` to its operands."""
    yield from ((operand, need) for operand in operation.operands)


def propagate_sign(operation: Operation, need: Need, _: KnownValues) -> Needed:
    """Propagate the need of a result to its operand, for ops that keep the sign and zero."""
    low, high = 0.0 if need.low >= 0 else -inf, 0.0 if need.high <= 0 else inf
    is_open = need.is_open and (isfinite(low) or isfinite(high))
    yield operation.operands[0], Need(low, high, is_open, need.nonzero)


def propagate_exponential(operation: Operation, need: Need, _: KnownValues) -> Needed:
    """Propagate the need of a result of `exponential` to its operands."""
    low = log(need.low) if need.low > 0 else -inf
    high = log(need.high) if 0 < need.high < inf else inf
    yield operation.operands[0], Need(low, high, need.is_open and max(abs(low), abs(high)) < inf)


def propagate_dot(operation: Operation, need: Need, _: KnownValues) -> Needed:
    """Propagate the need of a result of `dot_general` to its operands."""
    if need.low >= 0:
        sign = POSITIVE if need.excludes_zero else NONNEGATIVE
        yield from ((operand, sign) for operand in operation.operands)


def propagate_scatter(operation: Operation, need: Need, _: KnownValues) -> Needed:
    """Propagate the need of a result of `scatter` to its operands."""
    count = len(operation.results)
    yield operation.operands[0], need
    yield operation.operands[count + 1], need


def propagate_clamp(operation: Operation, need: Need, _: KnownValues) -> Needed:
    """Propagate the need of a result of `clamp` to its operands."""
    return [(operation.operands[1], need)]

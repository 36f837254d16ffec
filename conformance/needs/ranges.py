"""Rules for the range of an operation's results, and the kinds of rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf, isnan
from typing import NamedTuple

from reference.ir.monoid import ADD
from reference.ir.program import Operation, TensorType, Value
from reference.ir.regions import monoid_of
from reference.ops.table import OPS

LEAST = 1e-300
"""Lower bound of positive values that may be arbitrarily small."""


class Range(NamedTuple):
    """The least and the greatest number that a value's elements may be."""

    low: float
    high: float

    @property
    def is_finite(self) -> bool:
        """Whether both bounds are finite."""
        return math.isfinite(self.low) and math.isfinite(self.high)


EVERYTHING = Range(-inf, inf)


def copied_operands(operation: Operation, number: int) -> tuple[Value, ...]:
    """Return the operands whose elements make up result `number`; none if elements are changed."""
    record = OPS.get(operation.name)
    positions = () if record is None else record.carries
    if positions is not None:
        return tuple(operation.operands[position] for position in positions)
    if len(operation.results) == 1:
        return operation.operands
    return operation.operands[number : number + 1]


@dataclass(frozen=True, slots=True)
class KnownValues:
    """Ranges of values by name, and the operations that define the values."""

    ranges: dict[str, Range]
    makers: dict[str, Operation]


def union(parts: Iterable[Range]) -> Range:
    """Return the smallest range that contains all of these."""
    parts = list(parts)
    if not parts:
        return EVERYTHING
    return Range(min(one.low for one in parts), max(one.high for one in parts))


RangeRule = Callable[[Operation, list[Range], KnownValues], Range]


def add_range(_: Operation, given: list[Range], __: KnownValues) -> Range:
    """Return the range of `add`."""
    one, other = given
    return Range(one.low + other.low, one.high + other.high)


def subtract_range(_: Operation, given: list[Range], __: KnownValues) -> Range:
    """Return the range of `subtract`."""
    one, other = given
    return Range(one.low - other.high, one.high - other.low)


def _product(x: float, y: float) -> float:
    return 0.0 if x == 0 or y == 0 else x * y


def multiply_range(operation: Operation, given: list[Range], known: KnownValues) -> Range:
    """Return the range of `multiply`."""
    one, other = given
    ends = [_product(x, y) for x in one for y in other]
    square = is_square(operation, known)
    low, high = min(ends), max(ends)
    return Range(max(low, 0.0) if square > 0 else low, min(high, 0.0) if square < 0 else high)


def is_square(operation: Operation, known: KnownValues) -> int:
    """Return 1 for a product of a value with itself or a positive multiple of it, -1 for a negative
    multiple, else 0. Complex values are not examined.
    """
    (one, sign), (other, turned) = (_root(value, known) for value in operation.operands[:2])
    of = one.type
    is_real = isinstance(of, TensorType) and not of.stored.is_complex
    return sign * turned if one.name == other.name and is_real else 0


def _root(value: Value, known: KnownValues) -> tuple[Value, int]:
    """Return `x` and the sign of `c` for a value that is `c x` with constants `c`, or the value and
    1.
    """
    sign = 1
    while made_by := known.makers.get(value.name):
        if made_by.name == "negate":
            value, sign = made_by.operands[0], -sign
        elif made_by.name in ("multiply", "divide"):
            fixed = [
                operand for operand in made_by.operands if _sign(known.ranges.get(operand.name))
            ]
            if len(fixed) != 1 or (made_by.name == "divide" and fixed[0] is made_by.operands[0]):
                break
            sign *= _sign(known.ranges.get(fixed[0].name))
            value = next(operand for operand in made_by.operands if operand is not fixed[0])
        else:
            break
    return value, sign


def _sign(range_: Range | None) -> int:
    """Return the sign of a nonzero constant, 0 for any other range."""
    if range_ is None or range_.low != range_.high:
        return 0
    return (range_.low > 0) - (range_.low < 0)


def dot_range(operation: Operation, given: list[Range], known: KnownValues) -> Range:
    """Return the range of `dot_general`."""
    of = operation.operands[0].type
    squares = is_square(operation, known) > 0 and isinstance(of, TensorType) and of.rank == 1
    return Range(0.0, inf) if squares or min(given)[0] >= 0 else EVERYTHING


def divide_range(_: Operation, given: list[Range], __: KnownValues) -> Range:
    """Return the range of `divide`."""
    one, other = given
    if other.low <= 0 <= other.high:
        return EVERYTHING
    ends = [x / y for x in one for y in other]
    return EVERYTHING if any(map(isnan, ends)) else Range(min(ends), max(ends))


def abs_range(_: Operation, given: list[Range], __: KnownValues) -> Range:
    """Return the range of `abs`."""
    (one,) = given
    low = 0.0 if one.low <= 0 <= one.high else min(abs(one.low), abs(one.high))
    return Range(low, max(abs(one.low), abs(one.high)))


def sqrt_range(_: Operation, given: list[Range], __: KnownValues) -> Range:
    """Return the range of `sqrt`."""
    low, high = (math.sqrt(max(x, 0.0)) for x in given[0])
    return Range(low, high)


def exponential_range(_: Operation, given: list[Range], __: KnownValues) -> Range:
    """Return the range of `exponential`."""
    low, high = (math.exp(x) if x < 700 else inf for x in given[0])
    return Range(max(low, LEAST), high)


def clamp_range(_: Operation, given: list[Range], __: KnownValues) -> Range:
    """Return the range of `clamp`."""
    least, one, most = given
    low = min(max(one.low, least.low), most.high)
    return Range(low, max(min(one.high, most.high), least.low))


def reduce_range(operation: Operation, given: list[Range], _: KnownValues) -> Range:
    """Return the range of a single-op reduction: the common range of elements and init value."""
    body = operation.regions[0].operations
    if len(given) != 2 or len(body) != 2:
        return EVERYTHING
    whole = union(given)
    monoid = monoid_of(operation.regions[0])
    if monoid is not None and monoid.extremum:
        return whole
    if monoid is ADD and whole.low >= 0:
        return Range(max(given[0].low, given[1].low), inf)
    return EVERYTHING


def power_range(_: Operation, given: list[Range], __: KnownValues) -> Range:
    """Return the range of `power`."""
    base, exponent = given
    if base.low >= 0 and exponent.low >= 0 and base.high <= 1:
        return Range(0.0, 1.0)
    return Range(0.0, inf) if base.low >= 0 else EVERYTHING


def range_between(low: float, high: float) -> RangeRule:
    """Return the rule of ops whose results lie between these numbers."""
    return lambda _, __, ___: Range(low, high)


def maximum_range(_: Operation, given: list[Range], __: KnownValues) -> Range:
    """Return the range of `maximum`."""
    return Range(max(given[0].low, given[1].low), max(given[0].high, given[1].high))


def minimum_range(_: Operation, given: list[Range], __: KnownValues) -> Range:
    """Return the range of `minimum`."""
    return Range(min(given[0].low, given[1].low), min(given[0].high, given[1].high))


def negate_range(_: Operation, given: list[Range], __: KnownValues) -> Range:
    """Return the range of `negate`."""
    return Range(-given[0].high, -given[0].low)

"""Needs that operations have for their operands, independent of the needs of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import exp, expm1, inf, isfinite
from typing import cast

from conformance.needs.need import (
    ANY,
    BITS,
    DEFINITE,
    DOMINANT,
    NONZERO,
    POSITIVE,
    Need,
    conjunction,
    scale_need,
)
from conformance.needs.ranges import Range
from conformance.needs.rules import (
    KnownValues,
    Needed,
    Rule,
    is_complex,
    is_integer,
    passes_arithmetic,
)
from reference.custom_calls.sparse import CSR
from reference.ir.program import Operation, TensorType, Value
from reference.ops.table import OPS

TRIPS = 4
"""Largest drawn number of iterations of a loop."""

EXPONENTS = 4
"""The largest integer that is drawn as an exponent."""

_LARGEST = 100.0
"""Exponent above which no bound is computed for the operand of a logarithm."""


def sqrt_needs(operation: Operation, need: Need, _: KnownValues) -> Needed:
    """Return the needs of the operands of `sqrt`."""
    (operand,) = operation.operands
    if not is_complex(operand):
        positive = need.excludes_zero
        low = max(need.low, 0.0) ** 2
        high = need.high**2 if 0 < need.high < 1e100 else inf
        yield operand, Need(low, high, is_open=positive)


def rsqrt_needs(operation: Operation, _: Need, __: KnownValues) -> Needed:
    """Return the needs of the operands of `rsqrt`."""
    yield from ((operand, POSITIVE) for operand in operation.operands if not is_complex(operand))


def log_needs(operation: Operation, need: Need, _: KnownValues) -> Needed:
    """Return the needs of the operands of `log`."""
    (operand,) = operation.operands
    low, high = _bounds(exp, need)
    if not is_complex(operand):
        yield operand, Need(max(low, 0.0), high, is_open=True)


def log_plus_one_needs(operation: Operation, need: Need, _: KnownValues) -> Needed:
    """Return the needs of the operands of `log_plus_one`."""
    (operand,) = operation.operands
    low, high = _bounds(expm1, need)
    if not is_complex(operand):
        yield operand, Need(max(low, -1.0), high, is_open=True, nonzero=need.nonzero)


def _bounds(inverse: Callable[[float], float], need: Need) -> tuple[float, float]:
    low = inverse(need.low) if abs(need.low) < _LARGEST else -inf
    return low, inverse(need.high) if abs(need.high) < _LARGEST else inf


def power_needs(operation: Operation, need: Need, known: KnownValues) -> Needed:
    """Require a positive base, unless the exponent is a whole number; and small exponents."""
    base, exponent = operation.operands
    range_ = known.ranges[base.name]
    below_one = need.high <= 1 and need.is_open
    whole = is_integer(exponent) or _is_converted_integer(exponent, known)
    if is_integer(base):
        yield exponent, Need(0, EXPONENTS)
        return
    if whole:
        yield exponent, Need(0, EXPONENTS)
    if below_one and range_.low >= 0 and range_.high <= 1:
        yield exponent, POSITIVE
    elif below_one:
        yield base, Need(0.0, 1.0, is_open=True)
        yield exponent, POSITIVE
    elif not whole and not is_complex(base) and not _is_whole(known.ranges[exponent.name]):
        yield base, POSITIVE
    elif need.excludes_zero or known.ranges[exponent.name].low < 0:
        yield base, POSITIVE if need.low >= 0 else NONZERO


def _is_whole(range_: Range) -> bool:
    return range_.low == range_.high and float(range_.low).is_integer()


def _propagates_elements(operation: Operation) -> bool:
    """Return whether the result has the elements of the single operand."""
    record = OPS.get(operation.name)
    return record is not None and record.carries == (0,) and len(record.operands) == 1


def _is_converted_integer(value: Value, known: KnownValues) -> bool:
    """Return whether a value is converted from integers, possibly broadcast, and so is whole."""
    made_by = known.makers.get(value.name)
    while made_by is not None and _propagates_elements(made_by):
        (source,) = made_by.operands
        if is_integer(source):
            return True
        made_by = known.makers.get(source.name)
    return False


def divide_needs(operation: Operation, need: Need, known: KnownValues) -> Needed:
    """Return the needs of the operands of `divide`."""
    dividend, divisor = operation.operands
    low, high = known.ranges[divisor.name]
    signed = isfinite(need.low) or isfinite(need.high)
    yield divisor, conjunction(NONZERO, POSITIVE if signed and low < 0 < high else ANY)
    if passes_arithmetic(need):
        yield dividend, need
    elif low > 0 or (signed and low < 0 < high) or low == 0:
        least = 1 / high if high > 0 else 0.0
        yield dividend, scale_need(need, least or 1.0, 1 / low if low > 0 and least else inf)
    elif need.nonzero:
        yield dividend, NONZERO


def remainder_needs(operation: Operation, _: Need, __: KnownValues) -> Needed:
    """Return the needs of the operands of `remainder`."""
    yield operation.operands[1], NONZERO


def require_positive(position: int) -> Rule:
    """Return the rule of ops that normalize by the square root of an operand and an epsilon."""
    return lambda operation, _, __: [(operation.operands[position], POSITIVE)]


def require_form(form: str) -> Rule:
    """Return the rule of ops whose first operand should have a form."""
    return lambda operation, _, __: [(operation.operands[0], Need(form=form))]


def custom_call_needs(operation: Operation, _: Need, __: KnownValues) -> Needed:
    """Return the needs of the operands of `custom_call`."""
    target = str(operation.attribute("call_target_name"))
    for part, form in (("potrf", DEFINITE), ("trsm", DOMINANT), ("getrf", DOMINANT)):
        if part in target:
            yield operation.operands[0], Need(form=form)
    if target == CSR:
        sizes = [cast("TensorType", value.type).static_shape[0] for value in operation.operands]
        yield operation.operands[1], Need(0, sizes[0], in_order=True)
        yield operation.operands[2], Need(0, sizes[3] - 1)


def shift_amount_needs(operation: Operation, _: Need, __: KnownValues) -> Needed:
    """Return the needs of the operands of shifts."""
    operand, amount = operation.operands
    of = operand.type
    assert isinstance(of, TensorType)
    yield amount, Need(0, of.stored.bits - 1)
    if _is_random(operand):
        yield operand, Need(form=BITS)


def bitwise_needs(operation: Operation, _: Need, __: KnownValues) -> Needed:
    """Return the needs of the operands of bitwise ops."""
    yield from ((operand, Need(form=BITS)) for operand in operation.operands if _is_random(operand))


def _is_random(value: Value) -> bool:
    """Return whether random number generators work with a value's type."""
    of = value.type
    return is_integer(value) and isinstance(of, TensorType) and of.stored.name in ("ui32", "ui64")


def bitcast_needs(operation: Operation, need: Need, _: KnownValues) -> Needed:
    """Require bits of floating-point numbers if integers are reinterpreted as such."""
    (operand,), (result,) = operation.operands, operation.results
    of = result.type
    if is_integer(operand) and isinstance(of, TensorType) and of.stored.is_float:
        yield operand, replace(need, form=of.stored.name)
    elif is_integer(operand) and need.form == BITS:
        yield operand, need


def compare_needs(operation: Operation, _: Need, known: KnownValues) -> Needed:
    """Return needs of a comparison: class labels are compared with positions for equality, lengths
    and limits for order.
    """
    direction = str(operation.attribute("comparison_direction"))
    for value, other in (operation.operands, operation.operands[::-1]):
        low, high = known.ranges[other.name]
        if not (isfinite(low) and isfinite(high) and low < high) or is_complex(value):
            continue
        if direction in ("EQ", "NE"):
            yield value, Need(low, high)
        elif is_integer(value):
            first = value is operation.operands[0]
            beyond = direction == ("GT" if first else "LT")
            yield value, Need(low + beyond, high + beyond)


def select_needs(operation: Operation, _: Need, known: KnownValues) -> Needed:
    """Require that a mask of minus infinities is finite somewhere: softmax of an infinite row is
    NaN.
    """
    predicate, on_false = operation.operands[0], operation.operands[2]
    if known.ranges[on_false.name].high == -inf:
        yield predicate, POSITIVE


def trip_count_needs(value: Value, known: KnownValues) -> Iterator[tuple[Value, Need]]:
    """Return the needs of integers in a loop's condition, so that there are few iterations."""
    made_by = known.makers.get(value.name)
    if made_by is None:
        return
    if made_by.name in ("and", "or"):
        for operand in made_by.operands:
            yield from trip_count_needs(operand, known)
    if made_by.name != "compare" or not is_integer(made_by.operands[0]):
        return
    first, second = made_by.operands
    if str(made_by.attribute("comparison_direction")) in ("GT", "GE"):
        first, second = second, first
    yield first, Need(0, 1)
    yield second, Need(TRIPS // 2, TRIPS)

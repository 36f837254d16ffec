"""Needs of single operations' operands, for tests of the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.needs.need import ANY, Need
from conformance.needs.ranges import EVERYTHING, KnownValues, Range
from reference.ir.program import Operation, Value
from suites.meta.support.small_programs import tensor_of


def value(name: str, of: str = "f32", *shape: int) -> Value:
    return Value(name, tensor_of(*(shape or (4,)), of=of))


def operation_on(op: str, *operands: Value, to: str = "f32", **given) -> Operation:
    return Operation(op, operands, (value("result", to),), tuple(given.items()))


def known_ranges(
    *operands: Value, makers: Sequence[Operation] = (), **ranges: tuple[float, float]
) -> KnownValues:
    """Return the ranges of operands by name; those not given may be anything."""
    found = {one.name: EVERYTHING for one in operands}
    found |= {name: Range(*bounds) for name, bounds in ranges.items()}
    return KnownValues(found, {one.results[0].name: one for one in makers})


def needs_by_rule(
    rule: Callable, operation: Operation, need: Need = ANY, known: KnownValues | None = None
) -> dict[str, list[Need]]:
    """Return the needs that a rule gives to each operand, by name."""
    found: dict[str, list[Need]] = {}
    known = known or known_ranges(*operation.operands)
    for operand, one in rule(operation, need, known):
        found.setdefault(operand.name, []).append(one)
    return found

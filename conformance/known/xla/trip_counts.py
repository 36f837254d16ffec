"""Loops with one iteration too few, or too many, because the trip count is computed wrongly.

XLA computes the trip count of a loop from a constant start to a constant limit by a constant step:
for `<` it is (limit - start) / step, for `<=` one more, divided towards zero. So a loop whose first
step goes beyond its limit has no iteration, and one that starts just beyond its limit has one.
Loops of zero or one iteration are then replaced by their results.

Source: https://github.com/openxla/xla/pull/48454; jaxlib 0.10.2, measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from conformance.transforms.values import operations_within
from reference.ir.monoid import ADD
from reference.ir.op import Structure
from reference.ir.program import Dense, Operation, Program, Region
from reference.ops.structure import structure_of
from reference.ops.table import OPS

LABEL = "turns miscounted"

Numbers = Mapping[str, int]
"""Constant integer scalars, by the name of the value that holds them."""


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with miscounted limits in its loops, if any is miscounted."""
    functions = tuple(
        replace(function, body=_miscount_loops(function.body, {})) for function in program.functions
    )
    if functions != program.functions:
        yield (replace(program, functions=functions),)


def concerns(operation: Operation) -> bool:
    """Return whether an operation is a loop, or contains a loop."""
    return any(structure_of(one) is Structure.LOOPS for one in operations_within(operation))


def _miscount_loops(region: Region, around: Numbers) -> Region:
    """Return the region with the limits of miscounted loops at their start."""
    known = {**around, **_numbers(region)}
    operations: list[Operation] = []
    for operation in region.operations:
        regions = tuple(_miscount_loops(one, known) for one in operation.regions)
        changed = replace(operation, regions=regions) if operation.regions else operation
        if structure_of(operation) is Structure.LOOPS:
            changed = _loop(changed, known)
        operations.append(changed)
    return replace(region, operations=tuple(operations))


def _numbers(region: Region) -> Numbers:
    """Return the constant integer scalars of a region itself."""
    found: dict[str, int] = {}
    for operation in region.operations:
        value = operation.attribute("value")
        if structure_of(operation) is Structure.CONSTANT and isinstance(value, Dense):
            of = value.type
            if not of.shape and of.stored.is_integer:
                found[operation.results[0].name] = int(value.array)
    return found


def _loop(loop: Operation, known: Numbers) -> Operation:
    """Return a loop with its start as limit, if its trip count is miscounted.

    Then `<` has no iteration and `<=` has one iteration.
    """
    condition, body = loop.regions
    if len(condition.operations) < 2:
        return loop
    *constants, compare, end = condition.operations
    if any(structure_of(one) is not Structure.CONSTANT for one in constants):
        return loop
    known = {**known, **_numbers(condition)}
    places = {argument.name: n for n, argument in enumerate(condition.arguments)}
    if compare.results != end.operands or len(compare.operands) != 2:
        return loop
    counter, limit = compare.operands
    place = places.get(counter.name)
    if place is None or limit.name not in known or loop.operands[place].name not in known:
        return loop
    step = _step(body, place, known)
    distance = known[limit.name] - known[loop.operands[place].name]
    direction = compare.attribute("comparison_direction")
    jumps = 0 < distance < step if direction == "LT" else -step < distance < 0
    if direction not in ("LT", "LE") or not jumps:
        return loop
    compare = replace(compare, operands=(counter, loop.operands[place]))
    condition = replace(condition, operations=(*constants, compare, end))
    return replace(loop, regions=(condition, body))


def _step(body: Region, place: int, known: Numbers) -> int:
    """Return the constant that an iteration adds to a counter; 0 for any other body."""
    inside = {**known, **_numbers(body)}
    argument, next_ = body.arguments[place], body.operations[-1].operands[place]
    for operation in body.operations:
        if operation.results == (next_,) and _adds(operation):
            others = [one.name for one in operation.operands if one != argument]
            return inside.get(others[0], 0) if len(others) == 1 else 0
    return 0


def _adds(operation: Operation) -> bool:
    record = OPS.get(operation.name)
    return record is not None and record.monoid is ADD

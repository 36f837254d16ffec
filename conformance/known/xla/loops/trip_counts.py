"""Loops with one iteration too few, or too many, because the trip count is computed wrongly.

XLA computes the trip count of a loop from a constant start to a constant limit by a constant step:
for `<` it is (limit - start) / step, for `<=` one more, divided towards zero. So a loop whose first
step goes beyond its limit has no iteration, and one that starts just beyond its limit has one.
Loops of zero or one iteration are then replaced by their results.

Source: https://github.com/openxla/xla/pull/48454; jaxlib 0.10.2, measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from conformance.transforms.values import operations_within
from reference.ir.monoid import ADD
from reference.ir.op import Structure
from reference.ir.program import Dense, Operation, Program, Region
from reference.ops.structure import structure_of
from reference.ops.table import OPS

LABEL = "turns miscounted"

Numbers = Mapping[str, int]
"""Constant integer scalars, by the name of the value that holds them."""

Replacement = Callable[[Operation, Numbers], Iterable[Operation]]
"""A function replacement(loop, known) that returns the operations in place of a loop."""


@dataclass(frozen=True, slots=True)
class Counter:
    """The counter of a loop with a constant start, limit and step; `place` is its position among
    the loop's values. The step is 0 if it is unknown.
    """

    place: int
    direction: str
    start: int
    limit: int
    step: int


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with miscounted limits in its loops, if any is miscounted."""
    yield from replace_loops(program, _loop)


def concerns(operation: Operation) -> bool:
    """Return whether an operation is a loop, or contains a loop."""
    return any(structure_of(one) is Structure.LOOPS for one in operations_within(operation))


def replace_loops(program: Program, replacement: Replacement) -> Iterator[tuple[Program]]:
    """Yield the program with other operations in place of its loops, if any loop changes.

    The regions of a loop have been changed before the loop itself.
    """
    functions = tuple(
        replace(function, body=_replace_in(function.body, {}, replacement))
        for function in program.functions
    )
    if functions != program.functions:
        yield (replace(program, functions=functions),)


def _replace_in(region: Region, around: Numbers, replacement: Replacement) -> Region:
    known = {**around, **numbers_of(region)}
    operations: list[Operation] = []
    for operation in region.operations:
        regions = tuple(_replace_in(one, known, replacement) for one in operation.regions)
        changed = replace(operation, regions=regions) if operation.regions else operation
        is_loop = structure_of(operation) is Structure.LOOPS
        operations += replacement(changed, known) if is_loop else (changed,)
    return replace(region, operations=tuple(operations))


def numbers_of(region: Region) -> Numbers:
    """Return the constant integer scalars of a region itself."""
    found: dict[str, int] = {}
    for operation in region.operations:
        value = operation.attribute("value")
        if structure_of(operation) is Structure.CONSTANT and isinstance(value, Dense):
            of = value.type
            if not of.shape and of.stored.is_integer:
                found[operation.results[0].name] = int(value.array)
    return found


def _loop(loop: Operation, known: Numbers) -> tuple[Operation]:
    """Return a loop, with its start as limit if its trip count is miscounted.

    Then `<` has no iteration and `<=` has one iteration.
    """
    counter = counter_of(loop, known)
    if counter is None:
        return (loop,)
    distance, step, direction = counter.limit - counter.start, counter.step, counter.direction
    jumps = 0 < distance < step if direction == "LT" else -step < distance < 0
    if direction not in ("LT", "LE") or not jumps:
        return (loop,)
    condition, body = loop.regions
    *constants, compare, end = condition.operations
    compare = replace(compare, operands=(compare.operands[0], loop.operands[counter.place]))
    condition = replace(condition, operations=(*constants, compare, end))
    return (replace(loop, regions=(condition, body)),)


def counter_of(loop: Operation, known: Numbers) -> Counter | None:
    """Return the counter that a loop compares with a constant; None for any other condition."""
    condition, body = loop.regions
    if len(condition.operations) < 2:
        return None
    *constants, compare, end = condition.operations
    if any(structure_of(one) is not Structure.CONSTANT for one in constants):
        return None
    known = {**known, **numbers_of(condition)}
    places = {argument.name: n for n, argument in enumerate(condition.arguments)}
    if compare.results != end.operands or len(compare.operands) != 2:
        return None
    counter, limit = compare.operands
    place = places.get(counter.name)
    if place is None or limit.name not in known or loop.operands[place].name not in known:
        return None
    direction = compare.attribute("comparison_direction")
    start = known[loop.operands[place].name]
    return Counter(place, str(direction), start, known[limit.name], _step(body, place, known))


def _step(body: Region, place: int, known: Numbers) -> int:
    """Return the constant that an iteration adds to a counter; 0 for any other body."""
    inside = {**known, **numbers_of(body)}
    argument, next_ = body.arguments[place], body.operations[-1].operands[place]
    for operation in body.operations:
        if operation.results == (next_,) and len(operation.operands) == 2:
            others = [one.name for one in operation.operands if one != argument]
            step = inside.get(others[0], 0) if len(others) == 1 else 0
            if _adds(operation):
                return step
            is_difference = operation.name == "subtract" and operation.operands[0] == argument
            return -step if is_difference else 0
    return 0


def _adds(operation: Operation) -> bool:
    record = OPS.get(operation.name)
    return record is not None and record.monoid is ADD

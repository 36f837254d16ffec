"""Regions whose operations take the place of the operation that has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reference.ir.program import Operation, Region, Value, attributes, tensor_of
from reference.ir.substitution import replace_operands
from reference.ops.table import OPS

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Replacement:
    """The operations in place of an operation, and the values in place of its results."""

    operations: tuple[Operation, ...]
    results: tuple[Value, ...]


def inline_region(
    operation: Operation, region: Region, arguments: Sequence[Value]
) -> Replacement | None:
    """Return the operations of a region in place of an operation; None if a type differs.

    Values that the region returns have the names of the operation's results.
    """
    *inside, end = region.operations
    types = [value.type for value in operation.results]
    if [value.type for value in end.operands] != types:
        return None
    given = dict(zip((one.name for one in region.arguments), arguments, strict=True))
    returned = dict(zip((one.name for one in end.operands), operation.results, strict=True))
    prefix, made = operation.results[0].name, list[Operation]()
    for one in inside:
        results = tuple(
            returned.get(value.name) or replace(value, name=f"{prefix}.{value.name}")
            for value in one.results
        )
        made.append(replace(replace_operands(one, given), results=results))
        given |= dict(zip((value.name for value in one.results), results, strict=True))
    return Replacement(tuple(made), tuple(given.get(one.name, one) for one in end.operands))


def lift_region(region: Region, sizes: Sizes) -> Region | None:
    """Return a region of scalars as a region of arrays of these sizes; None if an operation of it
    cannot be applied to arrays.
    """
    lifted = {one.name: _as_array(one, sizes) for one in region.arguments}
    made: list[Operation] = []

    def repeat(scalar: Value, name: str) -> None:
        lifted[name] = replace(_as_array(scalar, sizes), name=f"{name}.repeated")
        dimensions = attributes(broadcast_dimensions=())
        made.append(Operation("broadcast_in_dim", (scalar,), (lifted[name],), dimensions))

    for one in region.operations:
        for value in one.operands:
            if value.name not in lifted:  # of the program around the region
                repeat(value, value.name)
        operands = tuple(lifted[value.name] for value in one.operands)
        if one is region.operations[-1]:
            made.append(replace(one, operands=operands))
        elif not one.operands:
            made.append(one)
            repeat(one.results[0], one.results[0].name)
        elif one.name in OPS and OPS[one.name].lifts:
            results = tuple(_as_array(value, sizes) for value in one.results)
            lifted |= {value.name: value for value in results}
            made.append(replace(one, operands=operands, results=results))
        else:
            return None
    arguments = tuple(lifted[one.name] for one in region.arguments)
    return Region(arguments, tuple(made))


def _as_array(scalar: Value, sizes: Sizes) -> Value:
    return replace(scalar, type=replace(tensor_of(scalar), shape=sizes))

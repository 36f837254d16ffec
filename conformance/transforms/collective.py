"""Collective operations of single-operation programs, at any nesting depth."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.transforms.values import nested_operations
from reference.ir.program import Operation, Program, Region
from reference.ops.structure import COMMUNICATION


def collective_of(program: Program) -> Operation | None:
    """Return the last communicating operation of main, nested operations included, or None."""
    for operation in reversed(program.main.body.operations[:-1]):
        for one in (operation, *nested_operations(operation)):
            if one.name in COMMUNICATION:
                return one
    return None


def collectives_of(program: Program) -> tuple[Operation, ...]:
    """Return `collective_of` a program, and the operations of its op that make results beside it.

    XlaBuilder's ReduceScatter of a tuple is an operation of StableHLO for each array. They are in
    the order of the results of their block.
    """
    last = collective_of(program)
    if last is None:
        return ()
    blocks = _blocks(program.main.body)
    block = next(each for each in blocks if any(operation is last for operation in each.operations))
    alike = [operation for operation in block.operations if operation.name == last.name]
    makers = {value.name: one for one in alike for value in one.results}
    ends = (value.name for value in block.operations[-1].operands)
    found = {id(makers[name]): makers[name] for name in ends if name in makers}
    return tuple(found.values()) if id(last) in found else (last,)


def _blocks(region: Region) -> Iterator[Region]:
    """Yield a region and all regions of operations in it."""
    yield region
    for operation in region.operations:
        for inner in operation.regions:
            yield from _blocks(inner)

"""Replacement of operations at any nesting depth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from reference.ir.program import Operation, Program, Region

Replacements = Mapping[str, Callable[[Operation], Iterable[Operation]]]
"""Functions by op name that return operations which replace the given operation.

The regions of the given operation have been rewritten already.
"""


def rewrite_ops(program: Program, replacements: Replacements) -> Program:
    """Return the program with operations replaced in all functions and regions, at any depth."""
    functions = (
        replace(function, body=_region(function.body, replacements))
        for function in program.functions
    )
    return replace(program, functions=tuple(functions))


def _region(region: Region, replacements: Replacements) -> Region:
    operations: list[Operation] = []
    for operation in region.operations:
        regions = tuple(_region(inner, replacements) for inner in operation.regions)
        operation = replace(operation, regions=regions)
        make = replacements.get(operation.name)
        operations += [operation] if make is None else make(operation)
    return replace(region, operations=tuple(operations))


def replace_operation(program: Program, one: Operation, *others: Operation) -> Program:
    """Return the program with one operation, identified as an object, replaced by other
    operations.
    """
    return replace_operations(program, [(one, others)])


def replace_operations(
    program: Program, replaced: Sequence[tuple[Operation, tuple[Operation, ...]]]
) -> Program:
    """Return the program with each given operation, identified as an object, replaced by the
    operations beside it.
    """
    by_identity = {id(one): others for one, others in replaced}

    def visit(region: Region) -> Region:
        operations = (
            by_identity[id(operation)]
            if id(operation) in by_identity
            else (_replace_in_regions(operation, visit),)
            for operation in region.operations
        )
        return replace(region, operations=tuple(chain.from_iterable(operations)))

    functions = (replace(function, body=visit(function.body)) for function in program.functions)
    return replace(program, functions=tuple(functions))


def _replace_in_regions(operation: Operation, visit: Callable[[Region], Region]) -> Operation:
    if not operation.regions:
        return operation
    return replace(operation, regions=tuple(map(visit, operation.regions)))

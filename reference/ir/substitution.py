"""Replacement of the values that operations use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reference.ir.program import Operation, Region, Value


def using(operation: Operation, others: Mapping[str, Value]) -> Operation:
    """Return the operation with values replaced, by name."""
    operands = tuple(others.get(value.name, value) for value in operation.operands)
    regions = tuple(using_inside(region, others) for region in operation.regions)
    return replace(operation, operands=operands, regions=regions)


def using_inside(region: Region, others: Mapping[str, Value]) -> Region:
    """Return the region with values of the enclosing regions replaced, by name."""
    own = {value.name for value in region.arguments}
    own |= {value.name for operation in region.operations for value in operation.results}
    left = {name: value for name, value in others.items() if name not in own}
    return replace(region, operations=tuple(using(one, left) for one in region.operations))

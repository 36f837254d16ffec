"""Replacement of the values that operations use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reference.ir.program import Operation, Region, Value


def replace_operands(operation: Operation, others: Mapping[str, Value]) -> Operation:
    """Return the operation with values replaced, by name."""
    operands = tuple(others.get(value.name, value) for value in operation.operands)
    regions = tuple(replace_inside_region(region, others) for region in operation.regions)
    return replace(operation, operands=operands, regions=regions)


def replace_inside_region(region: Region, others: Mapping[str, Value]) -> Region:
    """Return the region with values of the enclosing regions replaced, by name."""
    own = {value.name for value in region.arguments}
    own |= {value.name for operation in region.operations for value in operation.results}
    left = {name: value for name, value in others.items() if name not in own}
    return replace(
        region, operations=tuple(replace_operands(one, left) for one in region.operations)
    )

"""Regions as programs of their own."""

from __future__ import annotations

from conformance.transforms.values import free_values
from reference.ir.program import Function, Program, Region, Value


def as_program(region: Region) -> tuple[Program, tuple[Value, ...]]:
    """A region as a program, and the values around it that it uses: its last parameters."""
    free = free_values(region)
    body = Region((*region.arguments, *free), region.operations)
    results = tuple(value.type for value in region.operations[-1].operands)
    return Program((Function("main", body, results),)), free

"""Regions as programs of their own."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.transforms.substitute import with_constant
from conformance.transforms.values import folded, free_values
from reference.ir.program import Function, Program, Region, Value
from reference.ir.types import Array


def as_program(region: Region) -> tuple[Program, tuple[Value, ...]]:
    """A region as a program, and the values around it that it uses: its last parameters."""
    free = free_values(region)
    body = Region((*region.arguments, *free), region.operations)
    results = tuple(value.type for value in region.operations[-1].operands)
    return Program((Function("main", body, results),)), free


def outlined(
    program: Program, region: Region, values: Mapping[str, Array]
) -> tuple[Program, list[Array]]:
    """Return a region of an operation of main as a program, and its last parameters' values.

    These are values around the region that it uses. What is a constant to a compiler around it is
    a constant in the program: so a compiler rewrites what takes it as it does within the region.

    Raises:
        KeyError: when a value around the region is not among those given.
    """
    outside, (whole, free) = folded(program), as_program(region)
    constants = [value for value in free if value.name in outside]
    for value in constants:
        whole = with_constant(whole, value.name, values[value.name])
    return whole, [values[value.name] for value in free if value not in constants]

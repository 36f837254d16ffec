"""Outlining of regions into programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from conformance.transforms.substitute import substitute_constant
from conformance.transforms.values import foldable_values, free_values
from reference.interpreter.shards import devices_of, shards_by_device
from reference.ir.program import Function, Operation, Program, Region, Value
from reference.ir.types import Array


def outline_region(region: Region) -> tuple[Program, tuple[Value, ...]]:
    """Return a region as a program, and the free values that are its last parameters."""
    free = free_values(region)
    *operations, end = region.operations
    end = replace(end, name="return")
    body = Region((*region.arguments, *free), (*operations, end))
    results = tuple(value.type for value in region.operations[-1].operands)
    return Program((Function("main", body, results),)), free


def outline(
    program: Program, region: Region, values: Mapping[str, Array]
) -> tuple[Program, list[Array]]:
    """Return a region of an operation of main as a program, and the values of its last parameters.

    These parameters are the region's free values. Constants around the region stay constants of the
    program, so that a compiler rewrites their users as it does within the region.

    Raises:
        KeyError: the value of a free value is not given.
    """
    outside, (whole, free) = foldable_values(program), outline_region(region)
    constants = [value for value in free if value.name in outside]
    for value in constants:
        whole = substitute_constant(whole, value.name, values[value.name])
    return whole, [values[value.name] for value in free if value not in constants]


def outline_devices(operation: Operation) -> Program:
    """Return the region of a manual computation as a program of one process per device."""
    program, _ = outline_region(operation.regions[0])
    mesh: Any = operation.attribute("mesh")
    return replace(program, process_grid=(1, len(devices_of(mesh))))


def device_shards(
    operation: Operation,
    arrays: Sequence[Array],
    shardings: str,
) -> list[Array]:
    """Return the shards of a manual computation's operands or results, device by device.

    `shardings` is the attribute with the shardings: `in_shardings` or `out_shardings`.
    """
    given: Any = operation.attribute(shardings)
    mesh: Any = operation.attribute("mesh")
    return list(chain.from_iterable(shards_by_device(arrays, given, mesh)))

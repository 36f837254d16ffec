"""Ranges of the values of a program that hold for any inputs, where simple rules give them.

They show, for example, that a sum of squares is not negative, and how large a position may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, isnan

import numpy as np

from conformance.catalog import numbers_of
from conformance.needs.ranges import (
    EVERYTHING,
    KnownValues,
    Range,
    copied_operands,
    union,
)
from reference.ir.op import Structure
from reference.ir.program import Dense, Operation, Program, QuantizedType, Region, TensorType, Value
from reference.numerics.rounding import to_float64
from reference.ops.structure import is_constant, is_inside, structure_of
from reference.ops.table import OPS


def known_values(program: Program) -> KnownValues:
    """Return the ranges and definitions of the values of a single-function program."""
    makers = {value.name: operation for operation in program.walk() for value in operation.results}
    known = KnownValues(
        {argument.name: range_of_type(argument) for argument in program.main.arguments}, makers
    )
    _region(program.main.body, known)
    return known


def range_of_type(value: Value) -> Range:
    """Return the range of a value's type."""
    of = value.type
    if not isinstance(of, TensorType) or isinstance(of.element_type, QuantizedType):
        return EVERYTHING
    element = of.element_type
    if element.is_boolean:
        return Range(0, 1)
    if element.is_integer and element.is_unsigned:
        return Range(0, inf)
    return EVERYTHING


def _region(region: Region, known: KnownValues) -> None:
    found = known.ranges
    for operation in region.operations:
        for inner, given in _inner_regions(operation, found):
            found.update(zip((a.name for a in inner.arguments), given, strict=False))
            _region(inner, known)
        for index, result in enumerate(operation.results):
            most = range_of_type(result)
            plain = _result(operation, index, known)
            if isnan(plain.low) or isnan(plain.high):
                plain = EVERYTHING
            found[result.name] = Range(max(plain.low, most.low), min(plain.high, most.high))


def _inner_regions(
    operation: Operation, ranges: dict[str, Range]
) -> Iterable[tuple[Region, Sequence[Range]]]:
    """Yield the regions of an operation, with the ranges of their arguments."""
    operands = [ranges[value.name] for value in operation.operands]
    for region in operation.regions:
        given = [range_of_type(argument) for argument in region.arguments]
        if structure_of(operation) is Structure.LOOPS:
            ends = operation.regions[1].operations[-1].operands
            kept = zip(ends, operation.regions[1].arguments, operands, given, strict=True)
            given = [r if end.name == a.name else of for end, a, r, of in kept]
        elif operation.name in OPS and OPS[operation.name].body_types:
            count = len(given) // 2
            given[count:] = operands[:count]
        elif operation.name == "map" or is_inside(operation):
            given = operands
        yield region, given


def _result(operation: Operation, number: int, known: KnownValues) -> Range:
    found = known.ranges
    if is_constant(operation):
        return _constant(operation.attribute("value"))
    if operation.name == "iota":
        of, dimension = operation.results[0].type, operation.attribute("iota_dimension")
        assert isinstance(of, TensorType)
        size = of.shape[int(dimension)] if isinstance(dimension, int) else None
        return Range(0, inf if size is None else max(size - 1, 0))
    given = [found[value.name] for value in operation.operands]
    rule = numbers_of(operation).range
    if rule is not None and given:
        return rule(operation, given, known)
    if structure_of(operation) in (Structure.BRANCHES, Structure.SHARDS):
        ends = [region.operations[-1].operands[number] for region in operation.regions]
        return union(found[value.name] for value in ends)
    if structure_of(operation) is Structure.LOOPS:
        argument = operation.regions[1].arguments[number]
        kept = operation.regions[1].operations[-1].operands[number].name == argument.name
        return given[number] if kept else EVERYTHING
    elements = copied_operands(operation, number)
    return union(found[value.name] for value in elements) if elements else EVERYTHING


def _constant(value: object) -> Range:
    if not isinstance(value, Dense) or value.type.stored.is_complex:
        return EVERYTHING
    if isinstance(value.type.element_type, QuantizedType):
        return EVERYTHING
    array = value.array
    if not array.size:
        return EVERYTHING
    wide = to_float64(array) if value.type.stored.is_float else array.astype(np.float64)
    return Range(float(wide.min()), float(wide.max()))

"""Operations on other element types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reference.ir.program import Dense, Operation, Region, TensorType, Value, tensor_of
from reference.ir.types import ElementType
from reference.numerics.conversion import convert_to

Types = Mapping[ElementType, ElementType]
"""Element types to be replaced, each with its replacement."""


def element_of(value: Value) -> ElementType | None:
    """Return the element type of a tensor that is not quantized; None for other values."""
    of = value.type.element_type if isinstance(value.type, TensorType) else None
    return of if isinstance(of, ElementType) else None


def with_element_type(value: Value, element_type: ElementType) -> Value:
    """Return a tensor value with another element type."""
    return replace(value, type=replace(tensor_of(value), element_type=element_type))


def retype(operation: Operation, types: Types) -> Operation:
    """Return an operation, with its regions, on other element types; constants are converted."""
    given = tuple(
        (name, _constant(one, types) if isinstance(one, Dense) else one)
        for name, one in operation.attributes
    )
    return replace(
        operation,
        operands=tuple(_value(operand, types) for operand in operation.operands),
        results=tuple(_value(result, types) for result in operation.results),
        attributes=given,
        regions=tuple(
            Region(
                tuple(_value(argument, types) for argument in region.arguments),
                tuple(retype(inner, types) for inner in region.operations),
            )
            for region in operation.regions
        ),
    )


def _value(value: Value, types: Types) -> Value:
    of = element_of(value)
    if of is None or of not in types:
        return value
    return with_element_type(value, types[of])


def _constant(constant: Dense, types: Types) -> Dense:
    element_type = constant.type.element_type
    if not isinstance(element_type, ElementType) or element_type not in types:
        return constant
    there = convert_to(constant.array, types[element_type])
    return Dense.of(there, replace(constant.type, element_type=types[element_type]))

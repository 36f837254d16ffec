"""Substitution of values of main by constants, parameters or other values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from conformance.transforms.extract import replace_main
from conformance.transforms.values import defined_values, free_values
from reference.ir.program import Dense, Operation, Program, Region, TensorType, Value
from reference.ir.substitution import replace_operands
from reference.ir.types import Array


def substitute_constant(program: Program, name: str, array: Array) -> Program:
    """Return the program in which a tensor value of main is a constant with these elements.

    If the value is a parameter, it is removed from the parameters. The operation that made it
    stays, with a renamed result, for `remove_unused` to remove.

    Raises:
        KeyError: main has no such value.
    """
    value, body = _detach(program.main.body, name)
    body = replace(body, operations=(_constant(value, array), *body.operations))
    return replace_main(program, replace(program.main, body=body))


def substitute_parameter(program: Program, name: str) -> Program:
    """Return the program in which a value of main is its last parameter.

    The operation that made it stays, with a renamed result, for `remove_unused` to remove. If the
    value is a parameter already, the program is returned unchanged.

    Raises:
        KeyError: main has no such value.
    """
    if any(argument.name == name for argument in program.main.arguments):
        return program
    value, body = _detach(program.main.body, name)
    body = replace(body, arguments=(*body.arguments, value))
    return replace_main(program, replace(program.main, body=body))


def substitute_value(program: Program, name: str, other: Value) -> Program:
    """Return the program with all uses of a value of main replaced by another value.

    The other value must have the same type and dominate all these uses. The operation that made the
    first stays, for `remove_unused` to remove.
    """
    main = program.main
    operations = tuple(
        replace_operands(operation, {name: other}) for operation in main.body.operations
    )
    return replace_main(program, replace(main, body=replace(main.body, operations=operations)))


def embed_free_values(operation: Operation, values: Mapping[str, Any]) -> Operation:
    """Return the operation with the free values of its regions embedded as constants.

    It can then be evaluated in isolation. It is returned unchanged if it has no free values, or if
    some are no tensors.
    """
    regions: list[Region] = []
    for region in operation.regions:
        free = free_values(region)
        if not all(_is_tensor(value, values.get(value.name)) for value in free):
            return operation
        constants = (_constant(value, values[value.name]) for value in free)
        regions.append(replace(region, operations=(*constants, *region.operations)))
    return replace(operation, regions=tuple(regions))


def _is_tensor(value: Value, array: object) -> bool:
    return isinstance(value.type, TensorType) and isinstance(array, np.ndarray)


def _constant(value: Value, array: Array) -> Operation:
    """Return the constant operation that makes a tensor value of an array's elements."""
    assert isinstance(value.type, TensorType)
    dense = Dense.of(array, TensorType(array.shape, value.type.element_type))
    return Operation("constant", (), (value,), (("value", dense),))


def _detach(body: Region, name: str) -> tuple[Value, Region]:
    """Return a value by name, and the body in which the value is used but no longer made."""
    made = [argument for argument in body.arguments if argument.name == name]
    names = {value.name for value in defined_values(body)}
    unused = next(other for other in map("unused.{}".format, count()) if other not in names)
    operations: list[Operation] = []
    for operation in body.operations:
        made += [value for value in operation.results if value.name == name]
        results = tuple(v if v.name != name else Value(unused, v.type) for v in operation.results)
        operations.append(replace(operation, results=results))
    if not made:
        raise KeyError(f"main has no value %{name}")
    arguments = tuple(argument for argument in body.arguments if argument.name != name)
    return made[0], Region(arguments, tuple(operations))

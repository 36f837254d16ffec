"""Values of main replaced: by a constant, by a parameter, by another value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from conformance.transforms.extract import with_main
from conformance.transforms.values import defined, free_values
from reference.ir.program import Dense, Operation, Program, Region, TensorType, Value
from reference.ir.substitution import replace_operands
from reference.ir.types import Array


def with_constant(program: Program, name: str, array: Array) -> Program:
    """The program in which a value of main, a tensor, is a constant of these elements.

    A parameter of that name is one no more. What made the value stays, its result under another
    name, for `without_unused` to drop.

    Raises:
        KeyError: when main has no such value.
    """
    value, body = _without(program.main.body, name)
    body = replace(body, operations=(_constant(value, array), *body.operations))
    return with_main(program, replace(program.main, body=body))


def with_parameter(program: Program, name: str) -> Program:
    """The program in which a value that an operation of main makes is its last parameter.

    The operation stays, its result under another name, for `without_unused` to drop. Where the
    value is a parameter, the program is returned as it is.

    Raises:
        KeyError: when main has no such value.
    """
    if any(argument.name == name for argument in program.main.arguments):
        return program
    value, body = _without(program.main.body, name)
    body = replace(body, arguments=(*body.arguments, value))
    return with_main(program, replace(program.main, body=body))


def with_value(program: Program, name: str, other: Value) -> Program:
    """The program that uses another value of main wherever it used this one: a bypass.

    The other must be of the same type, and be there wherever this one is used. The operation that
    made this one stays, for `without_unused` to drop.
    """
    main = program.main
    operations = tuple(
        replace_operands(operation, {name: other}) for operation in main.body.operations
    )
    return with_main(program, replace(main, body=replace(main.body, operations=operations)))


def self_contained(operation: Operation, values: Mapping[str, Any]) -> Operation:
    """The operation with the values around it that its regions use as constants within them.

    So it can be looked at alone. It is returned as it is where it uses none, or others than
    tensors.
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
    """The operation that makes a value, a tensor, of the elements of an array."""
    assert isinstance(value.type, TensorType)
    dense = Dense.of(array, TensorType(array.shape, value.type.element_type))
    return Operation("constant", (), (value,), (("value", dense),))


def _without(body: Region, name: str) -> tuple[Value, Region]:
    """A value of that name, and the body in which nothing makes it though it is still used."""
    made = [argument for argument in body.arguments if argument.name == name]
    names = {value.name for value in defined(body)}
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

"""Replacement of dimension sizes in the types of a program, wherever they occur.

Dependencies between sizes are not derived: the verifier says which programs are valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from reference.ir.program import (
    Attribute,
    Dense,
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    ValueType,
)
from reference.ir.types import Array

Sizes = Mapping[int, int]
"""New sizes by old size."""

_COUNTS = ("limit_indices", "slice_sizes", "broadcast_sizes", "window_dimensions", "fft_length")
"""Attributes that hold sizes of dimensions."""


def sizes_of(program: Program) -> set[int]:
    """Return the sizes over 1 of all dimensions of a program's values."""
    values = [*program.main.arguments]
    values += [value for operation in program.walk() for value in operation.results]
    types = [value.type for value in values if isinstance(value.type, TensorType)]
    return {size for of in types for size in of.shape if size is not None and size > 1}


def resize_dimensions(program: Program, sizes: Sizes) -> Program:
    """Return the program with other sizes; constants repeat or drop elements to fit."""
    functions = tuple(
        Function(f.name, _region(f.body, sizes), tuple(_type(of, sizes) for of in f.result_types))
        for f in program.functions
    )
    return replace(program, functions=functions)


def _region(region: Region, sizes: Sizes) -> Region:
    return Region(
        tuple(_value(value, sizes) for value in region.arguments),
        tuple(_operation(operation, sizes) for operation in region.operations),
    )


def _operation(operation: Operation, sizes: Sizes) -> Operation:
    return Operation(
        operation.name,
        tuple(_value(value, sizes) for value in operation.operands),
        tuple(_value(value, sizes) for value in operation.results),
        tuple((name, _attribute(name, value, sizes)) for name, value in operation.attributes),
        tuple(_region(region, sizes) for region in operation.regions),
    )


def _attribute(name: str, value: Attribute, sizes: Sizes) -> Attribute:
    if isinstance(value, Dense) and name == "value":
        return type(value).of(_repeat_elements(value.array, sizes), _tensor(value.type, sizes))
    if name in _COUNTS and isinstance(value, tuple):
        return tuple(sizes.get(one, one) if isinstance(one, int) else one for one in value)
    return value


def _repeat_elements(array: Array, sizes: Sizes) -> Array:
    for axis, size in enumerate(array.shape):
        if size in sizes:
            array = np.take(array, np.arange(sizes[size]) % size, axis)
    return np.ascontiguousarray(array)


def _value(value: Value, sizes: Sizes) -> Value:
    return Value(value.name, _type(value.type, sizes))


def _type(of: ValueType, sizes: Sizes) -> ValueType:
    return _tensor(of, sizes) if isinstance(of, TensorType) else of


def _tensor(of: TensorType, sizes: Sizes) -> TensorType:
    return replace(of, shape=tuple(sizes.get(s, s) if s is not None else s for s in of.shape))

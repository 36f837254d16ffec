"""Smaller shapes: a size replaced by a smaller one wherever it occurs, if the program stays valid.

What sizes depend on each other is not worked out: the verifier says which programs are valid.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from conformance.triage.minimise.attempts import Attempts
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

Sizes = dict[int, int]
"""For sizes, the ones that they become."""


def smaller_shapes(attempts: Attempts) -> bool:
    """Try each size smaller, alone and with those that are multiples of it."""
    shrunk = False
    going_on = True
    while going_on and not attempts.is_over:
        going_on = any(_tried(attempts, sizes) for sizes in _changes(attempts.program))
        shrunk |= going_on
    return shrunk


def _changes(program: Program) -> Iterator[Sizes]:
    """Sizes to be replaced, the largest first, the largest steps first."""
    found = sorted(_sizes(program), reverse=True)
    for size in found:
        for smaller in dict.fromkeys((1, 2, 3, size // 2, size - 1)):
            if not 0 < smaller < size:
                continue
            yield {size: smaller}
            for other in found:
                if other > size and other % size == 0:
                    yield {size: smaller, other: other // size * smaller}
                    break
            for other in (size + 1, size - 1, 2 * size):
                if other in found and other != smaller:
                    yield {size: smaller, other: max(other + smaller - size, 1)}


def _sizes(program: Program) -> set[int]:
    values = [*program.main.arguments]
    values += [value for one in program.walk() for value in one.results]
    types = [value.type for value in values if isinstance(value.type, TensorType)]
    return {size for of in types for size in of.shape if size is not None and size > 1}


def _tried(attempts: Attempts, sizes: Sizes) -> bool:
    """Whether the program with these sizes fails, on the first elements, the last, or others."""
    resized = _program(attempts.program, sizes)
    for last in (False, True):
        inputs = tuple(_cut(array, sizes, last=last) for array in attempts.inputs)
        if attempts.take(resized, inputs):
            return True
    return False


def _cut(array: Array, sizes: Sizes, *, last: bool) -> Array:
    parts = tuple(
        slice(None)
        if size not in sizes
        else slice(size - sizes[size], None)
        if last
        else slice(0, sizes[size])
        for size in array.shape
    )
    shape = tuple(sizes[size] if size in sizes else size for size in array.shape)  # noqa: SIM401 - its type
    return np.ascontiguousarray(array[parts]).reshape(shape)


def _program(program: Program, sizes: Sizes) -> Program:
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


_COUNTS = ("limit_indices", "slice_sizes", "broadcast_sizes", "window_dimensions", "fft_length")
"""Attributes that hold sizes of dimensions."""


def _attribute(name: str, value: Attribute, sizes: Sizes) -> Attribute:
    if isinstance(value, Dense) and name == "value":
        return Dense.of(_cut(value.array, sizes, last=False), _tensor(value.type, sizes))
    if name in _COUNTS and isinstance(value, tuple):
        return tuple(sizes.get(one, one) if isinstance(one, int) else one for one in value)
    return value


def _value(value: Value, sizes: Sizes) -> Value:
    return Value(value.name, _type(value.type, sizes))


def _type(of: ValueType, sizes: Sizes) -> ValueType:
    return _tensor(of, sizes) if isinstance(of, TensorType) else of


def _tensor(of: TensorType, sizes: Sizes) -> TensorType:
    return replace(of, shape=tuple(sizes.get(s, s) if s is not None else s for s in of.shape))


def elements_of(program: Program) -> int:
    """How many elements parameters and results of main have together."""
    types = [*(value.type for value in program.main.arguments), *program.main.result_types]
    return sum(math.prod(of.static_shape) for of in types if isinstance(of, TensorType))

"""Programs whose main takes and returns parts of complex numbers, for backends that take no complex
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from conformance.transforms.extract import replace_main
from reference.ir.program import (
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    ValueType,
)
from reference.ir.types import Array


def split_complex_signature(program: Program) -> Program:
    """Return the program with complex parameters and results split into their parts."""
    return replace_main(program, _split_main(program.main))


def split_complex(arrays: Sequence[Array]) -> list[Array]:
    """Return the arguments of a split program: the real parts of a complex array, then the
    imaginary parts.
    """
    parts: list[Array] = []
    for array in arrays:
        if np.iscomplexobj(array):
            parts += [np.real(array), np.imag(array)]
        else:
            parts.append(array)
    return parts


def join_complex(parts: Sequence[Array], types: Sequence[ValueType]) -> list[Array]:
    """Return results of the given types, joined from the results of the split program."""
    left = iter(parts)
    arrays: list[Array] = []
    for value_type in types:
        first = next(left)
        if _is_complex(value_type):
            assert isinstance(value_type, TensorType)
            joined = np.empty(first.shape, value_type.storage)
            joined.real, joined.imag = first, next(left)
            first = joined
        arrays.append(first)
    return arrays


def part_types(types: Sequence[ValueType]) -> list[ValueType]:
    """Return the types of the parts into which values of these types are split."""
    return [part for value_type in types for part in _parts(value_type)]


def _is_complex(value_type: ValueType) -> bool:
    return isinstance(value_type, TensorType) and value_type.stored.is_complex


def _parts(value_type: ValueType) -> tuple[ValueType, ...]:
    if not _is_complex(value_type):
        return (value_type,)
    assert isinstance(value_type, TensorType)
    part = TensorType(value_type.shape, value_type.stored.part)
    return (part, part)


def _split_main(main: Function) -> Function:
    *operations, end = main.body.operations
    parameters: list[Value] = []
    before: list[Operation] = []
    for value in main.arguments:
        if _is_complex(value.type):
            parts = _named_parts(value, "parameter")
            parameters += parts
            before.append(Operation("complex", parts, (value,)))
        else:
            parameters.append(value)
    results: list[Value] = []
    after: list[Operation] = []
    for index, value in enumerate(end.operands):
        if _is_complex(value.type):
            parts = _named_parts(value, f"result{index}")
            results += parts
            names = zip(("real", "imag"), parts, strict=True)
            after += [Operation(name, (value,), (part,)) for name, part in names]
        else:
            results.append(value)
    body = (*before, *operations, *after, replace(end, operands=tuple(results)))
    types = tuple(value.type for value in results)
    return Function(main.name, Region(tuple(parameters), body), types)


def _named_parts(value: Value, what: str) -> tuple[Value, Value]:
    real, imag = _parts(value.type)
    return Value(f"{what}.{value.name}.real", real), Value(f"{what}.{value.name}.imag", imag)

"""Definitions and uses of values in programs and regions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from reference.interpreter.evaluate import evaluate
from reference.ir.op import Structure
from reference.ir.program import Operation, Program, Region, TensorType, Value
from reference.ir.types import Array, ElementType
from reference.ops.structure import is_constant, is_static_size, structure_of


def nested_operations(operation: Operation) -> Iterator[Operation]:
    """Yield the operations in an operation's regions, at any depth, in program order."""
    for region in operation.regions:
        for inner in region.operations:
            yield inner
            yield from nested_operations(inner)


def operations_within(operation: Operation) -> Iterator[Operation]:
    """Yield an operation, then the operations in its regions, at any depth."""
    yield operation
    yield from nested_operations(operation)


def working_operations(program: Program) -> list[Operation]:
    """Return main's operations without constants and the return."""
    return [one for one in program.main.body.operations[:-1] if not is_constant(one)]


def defined_values(region: Region) -> Iterator[Value]:
    """Yield the values that a region defines: arguments and results, nested regions included."""
    yield from region.arguments
    for operation in region.operations:
        yield from operation.results
        for inner in operation.regions:
            yield from defined_values(inner)


def free_values(region: Region) -> tuple[Value, ...]:
    """Return the values that a region uses and does not define, in the order of first use."""
    free: dict[str, Value] = {}
    known = {argument.name for argument in region.arguments}
    for operation in region.operations:
        free |= {v.name: v for v in used_values(operation) if v.name not in known | free.keys()}
        known |= {value.name for value in operation.results}
    return tuple(free.values())


def used_values(operation: Operation) -> Iterator[Value]:
    """Yield the operands of an operation and the free values of its regions."""
    yield from operation.operands
    for region in operation.regions:
        yield from free_values(region)


def definition_index(program: Program) -> dict[str, int]:
    """Return the index of the operation of main that defines each value, by the value's name."""
    operations = program.main.body.operations[:-1]
    return {value.name: number for number, one in enumerate(operations) for value in one.results}


def foldable_values(program: Program) -> frozenset[str]:
    """Return the values of main that a compiler can fold: constants, static sizes, values without
    elements, and values computed from these.
    """
    names = {value.name for value in program.main.arguments if _is_empty(value)}
    for one in program.main.body.operations[:-1]:
        of_folded = all(value.name in names for value in used_values(one))  # within regions, too
        computes = structure_of(one) is Structure.COMPUTES
        is_folded = is_constant(one) or is_static_size(one) or (computes and of_folded)
        names.update(value.name for value in one.results if is_folded or _is_empty(value))
    return frozenset(names)


def _is_empty(value: Value) -> bool:
    """Return whether a value has no elements, so that all of them are constants."""
    return can_be_result(value) and not element_count(value)


def evaluate_values(program: Program, inputs: Sequence[Array]) -> dict[str, Any]:
    """Return the reference's values of main by name: arguments and results of operations.

    Values of regions and of called functions are left out.

    Raises:
        EvaluationError: the program cannot be evaluated.
    """
    own = {id(operation) for operation in program.main.body.operations}
    names = (argument.name for argument in program.main.arguments)
    known: dict[str, Any] = dict(zip(names, inputs, strict=True))

    def keep(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        if id(operation) in own:
            known.update(zip((value.name for value in operation.results), results, strict=True))
        return results

    evaluate(program, inputs, on_result=keep)
    return known


def can_be_result(value: Value) -> bool:
    """Return whether any backend can return a value from main: a plain tensor of static shape."""
    of = value.type
    return isinstance(of, TensorType) and of.is_static and isinstance(of.element_type, ElementType)


def element_count(value: Value) -> int:
    """Return the number of elements of a value that `can_be_result`."""
    assert isinstance(value.type, TensorType)
    return math.prod(value.type.static_shape)

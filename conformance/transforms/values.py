"""Definitions and uses of values in programs and regions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from reference.interpreter.evaluate import apply, evaluate, split_by_process
from reference.interpreter.processes import current_process
from reference.ir.op import Structure
from reference.ir.processes import ProcessId, processes
from reference.ir.program import Operation, Program, Region, TensorType, Value
from reference.ir.types import Array, ElementType
from reference.ops.structure import is_constant, is_static_size, structure_of
from reference.ops.table import OPS


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
    return [
        operation for operation in program.main.body.operations[:-1] if not is_constant(operation)
    ]


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
    return {
        value.name: index
        for index, operation in enumerate(operations)
        for value in operation.results
    }


def foldable_values(program: Program) -> frozenset[str]:
    """Return the values of main that a compiler can fold."""
    found = FoldableValues(program.main.arguments)
    for operation in program.main.body.operations[:-1]:
        found.add(operation)
    return frozenset(found.names)


class FoldableValues:
    """The values that a compiler can fold: constants, static sizes, values without elements,
    integers that do not depend on operands (0 * x, x - x), and values computed from these.

    Attributes:
        names: the names of these values.
        integers: the integer that all elements of a value are, whatever the inputs are.
    """

    def __init__(self, arguments: Iterable[Value]) -> None:
        """Begin with the arguments that have no elements."""
        self.names = {value.name for value in arguments if _is_empty(value)}
        self.integers: dict[str, Array] = {}

    def add(self, operation: Operation) -> None:
        """Add the results of the next operation of main that can be folded."""
        integer = _repeated_integer(operation, self.integers)
        if integer is not None:
            self.integers[operation.results[0].name] = integer
        is_folded = is_constant(operation) or is_static_size(operation) or integer is not None
        if not is_folded and structure_of(operation) is Structure.COMPUTES:
            # within regions, too
            is_folded = all(value.name in self.names for value in used_values(operation))
        results = operation.results
        self.names.update(value.name for value in results if is_folded or _is_empty(value))


def _repeated_integer(operation: Operation, repeated: Mapping[str, Array]) -> Array | None:
    """Return the integer that all elements of an operation's result are; None if there is none.

    `repeated` are the integers of values before it.
    """
    record = OPS.get(operation.name)
    of = static_element_type(operation.results[0]) if len(operation.results) == 1 else None
    if record is None or of is None or not (of.is_integer or of.is_boolean):
        return None
    if record.structure is Structure.CONSTANT:
        return _common_element(apply(operation, ())[0])
    if record.rearranges:
        return repeated.get(operation.operands[0].name)
    if record.cancels and len({value.name for value in operation.operands}) == 1:
        return np.zeros((), of.storage)
    if record.monoid is None or record.monoid.absorbing is None:
        return None
    absorbing = np.array(record.monoid.absorbing).astype(of.storage)
    found = (repeated.get(value.name) for value in operation.operands)
    return absorbing if any(one is not None and one == absorbing for one in found) else None


def _common_element(array: Array) -> Array | None:
    """Return the element that all elements of an array equal; None if there is none."""
    first = array.reshape(-1)[:1]
    return first.reshape(()) if array.size and bool((array == first).all()) else None


def _is_empty(value: Value) -> bool:
    """Return whether a value has no elements, so that all of them are constants."""
    return can_be_result(value) and not element_count(value)


def evaluate_values(program: Program, inputs: Sequence[Array]) -> dict[str, Any]:
    """Return the reference's values of main by name: arguments and results of operations.

    Values of regions and of called functions are left out. The program is of one process.

    Raises:
        EvaluationError: the program cannot be evaluated.
    """
    (values,) = evaluate_values_by_process(program, inputs)
    return values


def evaluate_values_by_process(program: Program, inputs: Sequence[Array]) -> list[dict[str, Any]]:
    """Return the values of main by name, as `evaluate_values` does, in each process.

    Raises:
        EvaluationError: the program cannot be evaluated.
    """
    own = {id(operation) for operation in program.main.body.operations}
    names = [argument.name for argument in program.main.arguments]
    shares = split_by_process(program, inputs)
    known: dict[ProcessId, dict[str, Any]] = {
        process: dict(zip(names, share, strict=True))
        for process, share in zip(processes(program.process_grid or (1, 1)), shares, strict=True)
    }

    def keep(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        if id(operation) in own:
            values = zip((value.name for value in operation.results), results, strict=True)
            known[current_process()].update(values)
        return results

    evaluate(program, inputs, on_result=keep)
    return [*known.values()]


def can_be_result(value: Value) -> bool:
    """Return whether any backend can return a value from main: a plain tensor of static shape."""
    return static_element_type(value) is not None


def static_element_type(value: Value) -> ElementType | None:
    """Return the element type of a plain tensor of static shape; None for other values."""
    of = value.type
    if not isinstance(of, TensorType) or not of.is_static:
        return None
    return of.element_type if isinstance(of.element_type, ElementType) else None


def element_count(value: Value) -> int:
    """Return the number of elements of a value that `can_be_result`."""
    assert isinstance(value.type, TensorType)
    return math.prod(value.type.static_shape)

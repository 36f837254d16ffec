"""The values of programs and regions: which are made where, and what uses them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from reference.interpreter.evaluate import evaluate
from reference.ir.op import Structure
from reference.ir.program import Operation, Program, Region, TensorType, Value
from reference.ir.types import Array, ElementType
from reference.ops.structure import is_constant, structure_of


def nested(operation: Operation) -> Iterator[Operation]:
    """The operations in an operation's regions, in program order, those deeper down included."""
    for region in operation.regions:
        for inner in region.operations:
            yield inner
            yield from nested(inner)


def defined(region: Region) -> Iterator[Value]:
    """The values that a region makes: arguments and results, those of regions in it included."""
    yield from region.arguments
    for operation in region.operations:
        yield from operation.results
        for inner in operation.regions:
            yield from defined(inner)


def free_values(region: Region) -> tuple[Value, ...]:
    """The values around a region that it uses, in the order of first use."""
    free: dict[str, Value] = {}
    known = {argument.name for argument in region.arguments}
    for operation in region.operations:
        free |= {v.name: v for v in used_by(operation) if v.name not in known | free.keys()}
        known |= {value.name for value in operation.results}
    return tuple(free.values())


def used_by(operation: Operation) -> Iterator[Value]:
    """The values that an operation takes, those that its regions use from around them included."""
    yield from operation.operands
    for region in operation.regions:
        yield from free_values(region)


def makers_of(program: Program) -> dict[str, int]:
    """The number of the operation of main that makes each value, by the value's name."""
    operations = program.main.body.operations[:-1]
    return {value.name: number for number, one in enumerate(operations) for value in one.results}


def folded(program: Program) -> frozenset[str]:
    """The values of main that are constants to a compiler: those, and what is computed of them."""
    names: set[str] = set()
    for one in program.main.body.operations[:-1]:
        of_folded = all(value.name in names for value in used_by(one))  # within regions, too
        computes = structure_of(one) is Structure.COMPUTES
        if is_constant(one) or (computes and of_folded):
            names.update(value.name for value in one.results)
    return frozenset(names)


def evaluated(program: Program, inputs: Sequence[Array]) -> dict[str, Any]:
    """Return the reference's values of main by name: its arguments, and what its operations make.

    Those of regions and of the functions that it calls are left out.

    Raises:
        EvaluationError: when the program cannot be evaluated.
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
    """Whether a value can be a result of main on any backend: a plain tensor of known size."""
    of = value.type
    return isinstance(of, TensorType) and of.is_static and isinstance(of.element_type, ElementType)


def elements(value: Value) -> int:
    """How many elements a value has that `can_be_result`."""
    assert isinstance(value.type, TensorType)
    return math.prod(value.type.static_shape)

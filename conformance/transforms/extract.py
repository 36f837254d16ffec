"""Parts of programs of one function: fewer results, fewer operations, a region by itself.

The values that a part takes from what is left out become its parameters.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from conformance.transforms.inline import free_values
from reference.ir.program import Function, Operation, Program, Region, TensorType, Value
from reference.ir.types import ElementType
from reference.ops.structure import is_constant


def shows(value: Value) -> bool:
    """Whether a value can be a result of main: a plain tensor of known size."""
    of = value.type
    return isinstance(of, TensorType) and of.is_static and isinstance(of.element_type, ElementType)


def size(value: Value) -> int:
    """How many elements a value has that `shows`."""
    assert isinstance(value.type, TensorType)
    return math.prod(value.type.static_shape)


def used_by(operation: Operation) -> Iterator[Value]:
    """The values that an operation takes, those that its regions use from around them included."""
    yield from operation.operands
    for region in operation.regions:
        yield from free_values(region)


def with_main(program: Program, main: Function) -> Program:
    """The program with another main."""
    return Program((main, *(f for f in program.functions if f is not program.main)))


def returning(program: Program, values: Sequence[Value]) -> Program:
    """The program with these values of main as its results."""
    main = program.main
    operations = (*main.body.operations[:-1], Operation("return", tuple(values)))
    types = tuple(value.type for value in values)
    return with_main(program, Function(main.name, Region(main.arguments, operations), types))


def needed(program: Program, values: Sequence[Value]) -> Program:
    """The program that returns these values of main, without operations that they do not need.

    What acts on more than values (tokens, what is sent and received) stays.
    """
    wanted = {value.name for value in values}
    kept: list[Operation] = []
    for operation in reversed(program.main.body.operations[:-1]):
        plain = operation.results and all(isinstance(v.type, TensorType) for v in operation.results)
        if not plain or any(value.name in wanted for value in operation.results):
            kept.append(operation)
            wanted |= {value.name for value in used_by(operation)}
    main = program.main
    body = replace(main.body, operations=(*reversed(kept), main.body.operations[-1]))
    return returning(with_main(program, replace(main, body=body)), values)


def makers_of(program: Program) -> dict[str, int]:
    """The number of the operation of main that makes each value, by the value's name."""
    operations = program.main.body.operations[:-1]
    return {value.name: number for number, one in enumerate(operations) for value in one.results}


def part(
    program: Program,
    kept: Collection[int],
    values: Sequence[Value],
    makers: Mapping[str, int] | None = None,
) -> Program:
    """The operations of main of these numbers, returning some of their values.

    What they take from elsewhere, parameters of the program included, are the part's parameters,
    in the order of their first use. Constants are taken along. `makers` are the program's, where
    they are at hand.
    """
    operations = program.main.body.operations[:-1]
    makers = makers_of(program) if makers is None else makers
    chosen = set(kept)
    for number in kept:
        for value in used_by(operations[number]):
            maker = makers.get(value.name)
            if maker is not None and is_constant(operations[maker]):
                chosen.add(maker)
    inside = [operations[number] for number in sorted(chosen)]
    known = {value.name for one in inside for value in one.results}
    free = {v.name: v for one in inside for v in used_by(one) if v.name not in known}
    free |= {v.name: v for v in values if v.name not in known}
    types = tuple(value.type for value in values)
    body = Region(tuple(free.values()), (*inside, Operation("return", tuple(values))))
    return with_main(program, Function(program.main.name, body, types))


def as_program(region: Region) -> tuple[Program, tuple[Value, ...]]:
    """A region as a program, and the values around it that it uses: its last parameters."""
    free = free_values(region)
    arguments = (*region.arguments, *free)
    results = tuple(value.type for value in region.operations[-1].operands)
    return Program((Function("main", Region(arguments, region.operations), results),)), free

"""Parts of programs: other results, another main, some of the operations, one alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.transforms.values import can_be_result, makers_of, used_by
from reference.ir.op import Structure
from reference.ir.program import Function, Operation, Program, Region, Value
from reference.ir.types import Array
from reference.ops.structure import is_constant
from reference.ops.table import OPS


def with_main(program: Program, main: Function) -> Program:
    """The program with another main, which comes first."""
    others = (f for f in program.functions if f is not program.main)
    return replace(program, functions=(main, *others))


def with_body(program: Program, operations: Iterable[Operation]) -> Program:
    """Return the program with other operations in its main."""
    main = program.main
    return with_main(program, replace(main, body=replace(main.body, operations=tuple(operations))))


def starting_with(program: Program, name: str) -> Program:
    """The program whose main is the function of that name, in the place of its own main if any.

    Raises:
        KeyError: when there is no such function.
    """
    main = replace(program.function(name), name="main")
    others = (f for f in program.functions if f.name not in ("main", name))
    return replace(program, functions=(main, *others))


def returning(program: Program, values: Sequence[Value]) -> Program:
    """The program with these values of main as its results."""
    main = program.main
    operations = (*main.body.operations[:-1], Operation("return", tuple(values)))
    types = tuple(value.type for value in values)
    return with_main(program, Function(main.name, Region(main.arguments, operations), types))


def prefix(program: Program, length: int) -> Program:
    """The first operations of main; it returns what of their results the others use."""
    operations = program.main.body.operations
    kept, rest = operations[:length], operations[length:]
    used = {value.name for operation in rest for value in used_by(operation)}
    live = [v for one in kept for v in one.results if v.name in used and can_be_result(v)]
    return returning(with_body(program, (*kept, rest[-1])), live)


def part(
    program: Program,
    kept: Collection[int],
    values: Sequence[Value],
    makers: Mapping[str, int] | None = None,
    *,
    with_constants: bool = True,
) -> Program:
    """Return the operations of main of these numbers, with some of their values as results.

    What they take from elsewhere, parameters of the program included, are the part's parameters,
    in the order of their first use. Constants are taken along unless that is not wanted. `makers`
    are the program's (see `makers_of`), where they are at hand.
    """
    operations = program.main.body.operations[:-1]
    makers = makers_of(program) if makers is None else makers
    chosen = set(kept)
    for number in kept if with_constants else ():
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


def alone(
    program: Program,
    operation: Operation,
    values: Mapping[str, Any],
    makers: Mapping[str, int] | None = None,
) -> tuple[Program, tuple[Array, ...]] | None:
    """An operation of main as a program, and the inputs that give its operands their values.

    What is a constant in the program, or another shape of one, is so here;
    other operands are parameters, in the order of their first use, and have the values given by
    name. None where operands or results are no plain tensors, or have no value.
    """
    operations = program.main.body.operations
    makers = makers_of(program) if makers is None else makers
    before: dict[str, Operation] = {}
    arguments: dict[str, Value] = {}
    for value in dict.fromkeys(used_by(operation)):
        made = _made_of_constants(value, operations, makers)
        if made is not None:
            before |= made
        elif can_be_result(value) and value.name in values:
            arguments[value.name] = value
        else:
            return None
    if not all(map(can_be_result, operation.results)):
        return None
    end = Operation("return", operation.results)
    body = Region(tuple(arguments.values()), (*before.values(), operation, end))
    types = tuple(value.type for value in operation.results)
    whole = with_main(program, Function("main", body, types))
    return whole, tuple(values[name] for name in arguments)


def hands_on_constants(operation: Operation) -> bool:
    """Whether an operation is a constant, or makes another shape of one.

    Compilers fold these, and so treat otherwise the operations that take them.
    """
    record = OPS.get(operation.name)
    return record is not None and (record.structure is Structure.CONSTANT or record.rearranges)


def _made_of_constants(
    value: Value, operations: Sequence[Operation], makers: Mapping[str, int]
) -> dict[str, Operation] | None:
    """The operations by their first result, in order, that make a value out of constants."""
    number = makers.get(value.name)
    maker = None if number is None else operations[number]
    if maker is None or not hands_on_constants(maker):
        return None
    found: dict[str, Operation] = {}
    for operand in maker.operands:
        before = _made_of_constants(operand, operations, makers)
        if before is None:
            return None
        found |= before
    return found | {maker.results[0].name: maker}

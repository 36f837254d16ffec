"""Extraction of parts of programs: other results, another main, a subset of the operations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.transforms.values import can_be_result, definition_index, used_values
from reference.ir.op import Structure
from reference.ir.program import Function, Operation, Program, Region, Value
from reference.ir.types import Array
from reference.ops.structure import is_constant
from reference.ops.table import OPS


def replace_main(program: Program, main: Function) -> Program:
    """Return the program with another main, which comes first."""
    others = (f for f in program.functions if f is not program.main)
    return replace(program, functions=(main, *others))


def replace_body(program: Program, operations: Iterable[Operation]) -> Program:
    """Return the program with other operations in its main."""
    main = program.main
    return replace_main(
        program, replace(main, body=replace(main.body, operations=tuple(operations)))
    )


def select_main(program: Program, name: str) -> Program:
    """Return the program whose main is the function of that name, replacing its own main.

    Raises:
        KeyError: when there is no such function.
    """
    main = replace(program.function(name), name="main")
    others = (f for f in program.functions if f.name not in ("main", name))
    return replace(program, functions=(main, *others))


def replace_results(program: Program, values: Sequence[Value]) -> Program:
    """Return the program with these values of main as its results."""
    main = program.main
    operations = (*main.body.operations[:-1], Operation("return", tuple(values)))
    types = tuple(value.type for value in values)
    return replace_main(program, Function(main.name, Region(main.arguments, operations), types))


def prefix(program: Program, length: int) -> Program:
    """Return the program of the first operations of main, with the values that later operations use
    as its results.
    """
    operations = program.main.body.operations
    kept, rest = operations[:length], operations[length:]
    used = {value.name for operation in rest for value in used_values(operation)}
    live = [v for one in kept for v in one.results if v.name in used and can_be_result(v)]
    return replace_results(replace_body(program, (*kept, rest[-1])), live)


def extract(
    program: Program,
    kept: Collection[int],
    values: Sequence[Value],
    makers: Mapping[str, int] | None = None,
    *,
    with_constants: bool = True,
) -> Program:
    """Return the operations of main with these indices, with some of their values as results.

    Values from outside, parameters of the program included, become parameters, in the order of
    their first use. Constants are copied if `with_constants`. `makers` is the program's
    `definition_index`, if it is available.
    """
    operations = program.main.body.operations[:-1]
    makers = definition_index(program) if makers is None else makers
    chosen = set(kept)
    for number in kept if with_constants else ():
        for value in used_values(operations[number]):
            maker = makers.get(value.name)
            if maker is not None and is_constant(operations[maker]):
                chosen.add(maker)
    inside = [operations[number] for number in sorted(chosen)]
    known = {value.name for one in inside for value in one.results}
    free = {v.name: v for one in inside for v in used_values(one) if v.name not in known}
    free |= {v.name: v for v in values if v.name not in known}
    types = tuple(value.type for value in values)
    body = Region(tuple(free.values()), (*inside, Operation("return", tuple(values))))
    return replace_main(program, Function(program.main.name, body, types))


def extract_operation(
    program: Program,
    operation: Operation,
    values: Mapping[str, Any],
    makers: Mapping[str, int] | None = None,
) -> tuple[Program, tuple[Array, ...]] | None:
    """Return an operation of main as a program, with the inputs that give its operands their
    values.

    Operands that a compiler folds to constants stay constants. Other operands become parameters, in
    the order of their first use, with the given values. Return None if an operand or a result is no
    plain tensor, or an operand has no value.
    """
    operations = program.main.body.operations
    makers = definition_index(program) if makers is None else makers
    before: dict[str, Operation] = {}
    arguments: dict[str, Value] = {}
    for value in dict.fromkeys(used_values(operation)):
        made = _constant_operations(value, operations, makers)
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
    whole = replace_main(program, Function("main", body, types))
    return whole, tuple(values[name] for name in arguments)


def is_folded_constant(operation: Operation) -> bool:
    """Return whether an operation is a constant or reshapes a constant.

    Compilers fold these, and therefore treat their users differently.
    """
    record = OPS.get(operation.name)
    return record is not None and (record.structure is Structure.CONSTANT or record.rearranges)


def _constant_operations(
    value: Value, operations: Sequence[Operation], makers: Mapping[str, int]
) -> dict[str, Operation] | None:
    """Return the operations that make a value out of constants, in order, by their first result."""
    number = makers.get(value.name)
    maker = None if number is None else operations[number]
    if maker is None or not is_folded_constant(maker):
        return None
    found: dict[str, Operation] = {}
    for operand in maker.operands:
        before = _constant_operations(operand, operations, makers)
        if before is None:
            return None
        found |= before
    return found | {maker.results[0].name: maker}

"""Several programs as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reference.ir.program import Function, Operation, Program, Region, Value, attributes
from reference.ops.structure import redirect_calls


def merge(programs: Sequence[Program]) -> Program:
    """One program that does what all of these do.

    Parameters and results of its `main` are those of the programs, concatenated in order. Each
    program becomes functions of its own (`p0`, `p1`, ...; others `p0_name`), called once: the
    compiler inlines them, and they compile as fast as operations written into `main`.
    """
    functions: list[Function] = []
    parameters: list[Value] = []
    results: list[Value] = []
    calls: list[Operation] = []
    for number, program in enumerate(programs):
        functions += _renamed(program, f"p{number}")
        entry = program.main
        given = [Value(f"p{number}_{a.name}", a.type) for a in entry.arguments]
        taken = [Value(f"p{number}_r{i}", t) for i, t in enumerate(entry.result_types)]
        callee = attributes(callee=f"p{number}")
        calls.append(Operation("func.call", tuple(given), tuple(taken), callee))
        parameters += given
        results += taken
    calls.append(Operation("return", tuple(results)))
    body = Region(tuple(parameters), tuple(calls))
    main = Function("main", body, tuple(value.type for value in results))
    return Program((main, *functions), programs[0].process_grid)


def _renamed(program: Program, prefix: str) -> list[Function]:
    """The functions of a program under new names, references to them included."""
    main = program.main
    names = {function.name: f"{prefix}_{function.name}" for function in program.functions}
    names[main.name] = prefix
    return [
        replace(function, name=names[function.name], body=_redirected(function.body, names))
        for function in program.functions
    ]


def _redirected(region: Region, names: dict[str, str]) -> Region:
    return replace(region, operations=tuple(_redirect(op, names) for op in region.operations))


def _redirect(operation: Operation, names: dict[str, str]) -> Operation:
    operation = redirect_calls(operation, names)
    if operation.regions:
        inner = tuple(_redirected(region, names) for region in operation.regions)
        operation = replace(operation, regions=inner)
    return operation

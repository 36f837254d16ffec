"""Merging of several programs into a single program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reference.ir.program import Function, Operation, Program, Region, Value, attributes
from reference.ops.structure import redirect_calls


def merge(programs: Sequence[Program]) -> Program:
    """Return a program that computes the results of all the programs.

    Parameters and results of its `main` are those of the programs, concatenated in order. Each
    program becomes functions (`p0`, `p1`, ...; others `p0_name`) that are called once: the compiler
    inlines them, and they compile as fast as operations written into `main`.
    """
    functions: list[Function] = []
    parameters: list[Value] = []
    results: list[Value] = []
    calls: list[Operation] = []
    for number, program in enumerate(programs):
        functions += _prefix_functions(program, f"p{number}")
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


def _prefix_functions(program: Program, prefix: str) -> list[Function]:
    """Return the functions of a program under prefixed names, with references to them adjusted."""
    main = program.main
    names = {function.name: f"{prefix}_{function.name}" for function in program.functions}
    names[main.name] = prefix
    return [
        replace(function, name=names[function.name], body=_redirect_region(function.body, names))
        for function in program.functions
    ]


def _redirect_region(region: Region, names: dict[str, str]) -> Region:
    return replace(region, operations=tuple(_redirect(op, names) for op in region.operations))


def _redirect(operation: Operation, names: dict[str, str]) -> Operation:
    operation = redirect_calls(operation, names)
    if operation.regions:
        inner = tuple(_redirect_region(region, names) for region in operation.regions)
        operation = replace(operation, regions=inner)
    return operation

"""Calls replaced by what they call: then a program is one function, and every value has one name.

Perturbing a program and looking for the operation that goes wrong both follow values by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from conformance.transforms.extract import with_main
from reference.interpreter.inlining import Inlining, NotInlined, Origin, inline_calls
from reference.ir.program import Program, Region
from reference.ops.structure import named_functions

__all__ = ["Inlined", "NotInlined", "Origin", "inlined", "with_plain_bodies"]


@dataclass(frozen=True, slots=True)
class Inlined:
    """A program of one function, and for each value of it (by name) where that comes from."""

    program: Program
    origins: Mapping[str, Origin]


def inlined(program: Program) -> Inlined:
    """The program with all calls and composites written out.

    Functions that other operations name are kept. Values of main keep their names, those of a
    called function get its name and a number before theirs.

    Raises:
        NotInlined: when a function calls itself or an unknown one, or too much comes of it.
        ValueError: when no function is main.
    """
    work = Inlining(program)
    main = program.main
    values = {argument.name: argument for argument in main.arguments}
    body = work.region(main.body, values, main.name, "", (main.name,))
    used = _named(body, program)
    others = tuple(f for f in program.functions if f is not main and f.name in used)
    flat = replace(program, functions=(replace(main, body=body), *others))
    return Inlined(flat, work.origins)


def with_plain_bodies(program: Program) -> Program:
    """The program with bodies of its subject that call no function: what they compute is seen.

    It is returned as it is where there are no calls, or where they cannot be written out.
    """
    if len(program.functions) == 1:
        return program
    main, subject = program.main, program.subject
    try:
        plain = inline_calls(subject, program)
    except NotInlined:
        return program
    if plain is subject:
        return program
    *before, _, end = main.body.operations
    body = replace(main.body, operations=(*before, plain, end))
    return with_main(program, replace(main, body=body))


def _named(region: Region, program: Program) -> set[str]:
    """The functions that operations other than calls refer to, directly or through those."""
    found: set[str] = set()
    waiting = [region]
    while waiting:
        for operation in waiting.pop().operations:
            waiting += operation.regions
            for name in named_functions(operation):
                if name not in found:
                    found.add(name)
                    waiting += [f.body for f in program.functions if f.name == name]
    return found

"""Inlining of calls: the program becomes a single function in which every value has its own name.

Perturbation and localisation follow values by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from conformance.transforms.extract import replace_main
from reference.interpreter.inlining import Inlining, NotInlined, Origin, inline_calls
from reference.ir.program import Program, Region
from reference.ops.structure import named_functions

__all__ = ["InlinedProgram", "NotInlined", "Origin", "inline", "inline_subject_bodies"]


@dataclass(frozen=True, slots=True)
class InlinedProgram:
    """A program of a single function, and the origin of each of its values by name."""

    program: Program
    origins: Mapping[str, Origin]


def inline(program: Program) -> InlinedProgram:
    """Return the program with all calls and composites inlined.

    Functions that other operations refer to are kept. Values of main keep their names; values of a
    called function are prefixed with its name and a number.

    Raises:
        NotInlined: a function calls itself or an unknown function, or the result is too large.
        ValueError: no function is main.
    """
    work = Inlining(program)
    main = program.main
    values = {argument.name: argument for argument in main.arguments}
    body = work.region(main.body, values, main.name, "", (main.name,))
    used = _referenced_functions(body, program)
    others = tuple(f for f in program.functions if f is not main and f.name in used)
    flat = replace(program, functions=(replace(main, body=body), *others))
    return InlinedProgram(flat, work.origins)


def inline_subject_bodies(program: Program) -> Program:
    """Return the program with calls in the bodies of its subject inlined, so that their computation
    is visible.

    Return it unchanged if there are no calls, or if they cannot be inlined.
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
    return replace_main(program, replace(main, body=body))


def _referenced_functions(region: Region, program: Program) -> set[str]:
    """Return the functions that operations other than calls refer to, directly or indirectly."""
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

"""Parameters of main under names that MLIR's printer keeps."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count

from conformance.transforms.extract import replace_main
from conformance.transforms.values import defined_values
from reference.ir.program import Program, Value
from reference.ir.substitution import replace_operands

_KEPT = re.compile(r"[A-Za-z_][\w$.-]*", re.ASCII)


def name_parameters(program: Program) -> Program:
    """Return the program with a name instead of the number of each parameter.

    A value that becomes a parameter keeps its number, and MLIR renumbers values when it prints
    them: an archive of inputs by name would not fit the printed program.
    """
    main = program.main
    taken = {value.name for value in defined_values(main.body)}
    fresh = (name for number in count() if (name := f"p{number}") not in taken)
    others = {
        argument.name: Value(next(fresh), argument.type)
        for argument in main.arguments
        if not _KEPT.fullmatch(argument.name)
    }
    if not others:
        return program
    arguments = tuple(others.get(argument.name, argument) for argument in main.arguments)
    operations = tuple(replace_operands(operation, others) for operation in main.body.operations)
    body = replace(main.body, arguments=arguments, operations=operations)
    return replace_main(program, replace(main, body=body))

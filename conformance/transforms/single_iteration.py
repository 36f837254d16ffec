"""Replacement of loops by one iteration of the body, as in compilers that know the trip count."""

from __future__ import annotations

from dataclasses import replace

from conformance.transforms.extract import replace_main
from reference.ir.program import Operation, Program
from reference.ir.substitution import replace_operands


def replace_loop_by_body(program: Program, loop: Operation) -> Program:
    """Return the program with a loop of main replaced by its body, without testing the
    condition.
    """
    body = loop.regions[-1]
    given = dict(zip((argument.name for argument in body.arguments), loop.operands, strict=True))
    *inside, end = (replace_operands(operation, given) for operation in body.operations)
    gives = dict(zip((result.name for result in loop.results), end.operands, strict=True))
    main = program.main
    place = next(n for n, operation in enumerate(main.body.operations) if operation is loop)
    before, after = main.body.operations[:place], main.body.operations[place + 1 :]
    operations = (*before, *inside, *(replace_operands(one, gives) for one in after))
    return replace_main(program, replace(main, body=replace(main.body, operations=operations)))

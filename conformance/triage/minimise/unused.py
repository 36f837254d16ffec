"""Programs that fail by operations whose results are unused; all other operations are dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.transforms.extract import replace_main, replace_results
from conformance.transforms.values import can_be_result, used_values
from conformance.triage.minimise.attempts import Minimisation
from conformance.triage.minimise.surgery import prune_parameters, tidy
from reference.ir.program import Program


def is_unused_to_blame(attempts: Minimisation) -> bool:
    """Return whether the program stops failing without its unused operations.

    If it still fails without them, the smaller program replaces it.
    """
    smaller = tidy(attempts.program, attempts.inputs)
    has_none = smaller[0] == attempts.program
    return not (has_none or attempts.try_program(*smaller))


def reduce_unused(attempts: Minimisation) -> bool:
    """Make main return a parameter, and drop unused operations from the last to the first.

    Return whether the program became smaller.
    """
    program = attempts.program
    given = next(filter(can_be_result, program.main.arguments), None)
    shrunk = given is not None and attempts.try_program(
        *prune_parameters(replace_results(program, [given]), attempts.inputs)
    )
    return attempts.try_repeatedly(_programs_without_one, prune_parameters) or shrunk


def _programs_without_one(program: Program) -> Iterator[Program]:
    """Yield the program without each operation whose results are unused."""
    body = program.main.body
    wanted = {value.name for one in body.operations for value in used_values(one)}
    for number in reversed(range(len(body.operations) - 1)):
        if any(value.name in wanted for value in body.operations[number].results):
            continue
        operations = body.operations[:number] + body.operations[number + 1 :]
        yield replace_main(
            program, replace(program.main, body=replace(body, operations=operations))
        )

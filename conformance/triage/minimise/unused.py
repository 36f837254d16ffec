"""Programs that fail by operations whose results nothing uses: all others are dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.transforms.extract import returning, with_main
from conformance.transforms.values import can_be_result, used_by
from conformance.triage.minimise.attempts import Attempts
from conformance.triage.minimise.surgery import pruned, tidy
from reference.ir.program import Program


def is_unused_to_blame(attempts: Attempts) -> bool:
    """Return whether the program does not fail without the operations that nothing uses.

    If it does fail without them, or has none, it is the smaller one from now on.
    """
    smaller = tidy(attempts.program, attempts.inputs)
    has_none = smaller[0] == attempts.program
    return not (has_none or attempts.take(*smaller))


def fewer_unused(attempts: Attempts) -> bool:
    """Return a parameter and drop what nothing uses, the last operation first; whether the program
    became smaller."""
    program = attempts.program
    given = next(filter(can_be_result, program.main.arguments), None)
    shrunk = given is not None and attempts.take(
        *pruned(returning(program, [given]), attempts.inputs)
    )
    return attempts.take_repeatedly(_without_one, pruned) or shrunk


def _without_one(program: Program) -> Iterator[Program]:
    """Yield the program without each operation whose results nothing uses."""
    body = program.main.body
    wanted = {value.name for one in body.operations for value in used_by(one)}
    for number in reversed(range(len(body.operations) - 1)):
        if any(value.name in wanted for value in body.operations[number].results):
            continue
        operations = body.operations[:number] + body.operations[number + 1 :]
        yield with_main(program, replace(program.main, body=replace(body, operations=operations)))

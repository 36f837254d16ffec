"""Programs that a backend refuses because of the shape that it gives to a value on the way.

What it says of them is about whatever takes that value, in many words. So the operations that are
known to give, alone, a result of another type are left out, their results given as parameters: is
the program compiled then, these are why it was not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.backends.base import BackendError
from conformance.judging.compare import MALFORMED, judge_alone, malformed
from conformance.transforms.extract import alone, part
from conformance.transforms.values import evaluated
from conformance.triage.isolate import Run
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array

Knows = Callable[[Operation, str, str], str]
"""knows(operation, class, message): the id of what knows that its result is of another type."""


def misshaping(
    run: Run, program: Program, inputs: Sequence[Array], knows: Knows
) -> tuple[Operation, str] | None:
    """The first operation of main for which a program is refused, and the id of what knows it;
    None where it is refused without such operations too, or has none."""
    if program.process_count > 1:
        return None
    operations = program.main.body.operations[:-1]
    try:
        values = evaluated(program, inputs)
        found = {
            number: id_
            for number, one in enumerate(operations)
            if (id_ := _known(run, program, one, values, knows))
        }
        if not found:
            return None
        rest = [number for number in range(len(operations)) if number not in found]
        without = part(program, rest, program.main.body.operations[-1].operands)
        next(run(without, [[values[one.name] for one in without.main.arguments]]))
    except (BackendError, EvaluationError, KeyError):
        return None
    number, id_ = next(iter(found.items()))
    return operations[number], id_


def misshaping_in_isolation(
    run: Run, program: Program, inputs: Sequence[Array]
) -> tuple[Program, tuple[Array, ...]] | None:
    """Return the first operation whose result has another type, as a program on its inputs.

    None if the program is refused without such operations too, or has none.
    """
    found = misshaping(run, program, inputs, lambda _, kind, __: kind)
    return None if found is None else alone(program, found[0], evaluated(program, inputs))


def _known(
    run: Run, program: Program, operation: Operation, values: Mapping[str, Any], knows: Knows
) -> str:
    """What knows that an operation gives a result of another type, "" where nothing does."""
    if not any(knows(operation, kind, "") for kind in MALFORMED):
        return ""
    taken = alone(program, operation, values)
    if taken is None:
        return ""
    expected, actual = evaluate(*taken), next(run(taken[0], [taken[1]]))
    if malformed(expected, actual) is None:
        return ""
    judged = judge_alone(*taken, expected, actual)
    return knows(operation, judged.kind, judged.message)

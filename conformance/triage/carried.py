"""Rewritings of an operation within a program: seen in what comes of its result, not in that.

Where a result is shown, a compiler may compute it apart from what takes it, and right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.judging.perturbation.evaluations import Permitted
from conformance.judging.perturbation.judge import judge_program
from conformance.known.rewritings.table import rewritings_of
from reference.interpreter.evaluate import EvaluationError
from reference.ir.program import Operation, Program
from reference.ir.types import Array


def carried(
    program: Program,
    inputs: Sequence[Array],
    actual: Sequence[Array],
    operations: Sequence[Operation],
    values: Mapping[str, Array],
    platform: str,
) -> tuple[Operation, str] | None:
    """The last of the operations of which a rewriting makes all of the program's results what they
    are, and the rewriting's class; None where there is none.

    `values` are those that the backend has, `actual` the program's results.
    """
    for operation in reversed(operations):
        if len(operation.results) != 1:
            continue
        for label, rewriting in rewritings_of(operation):
            for predicted in rewriting(program, operation, values):
                taken = {operation.results[0].name: predicted.result}
                if _gives(program, inputs, actual, taken, platform):
                    return operation, label
    return None


def _gives(
    program: Program,
    inputs: Sequence[Array],
    actual: Sequence[Array],
    taken: Mapping[str, Array],
    platform: str,
) -> bool:
    """Whether a program may give these results if these values stand in the place of its own."""
    try:
        permitted = Permitted(program, inputs, platform, taken=taken)
    except EvaluationError:
        return False
    return not judge_program(permitted, actual).verdict.fails

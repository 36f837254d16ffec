"""Rewritings of an operation that only show in later results.

Where a result is shown, a compiler may compute it separately for the output, and correctly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.known.rewritings.simplified.simplify import simplify
from conformance.known.rewritings.table import rewriting_predictions
from conformance.known.rewritings.values import ObservedProgram
from reference.interpreter.evaluate import EvaluationError
from reference.ir.program import Operation, Program
from reference.ir.types import Array


def explain_downstream(
    program: Program,
    inputs: Sequence[Array],
    actual: Sequence[Array],
    operations: Sequence[Operation],
    values: Mapping[str, Array],
    platform: str,
) -> tuple[Operation, str] | None:
    """Return the last operation whose rewriting explains all of the program's results.

    The rewriting's class comes with it; None if there is no such operation. `values` are the
    backend's, `actual` the program's results.
    """
    shown, simplified = ObservedProgram(program, values), simplify(program)
    for operation in reversed(operations):
        if len(operation.results) != 1:
            continue
        found = rewriting_predictions(shown, operation, simplified=simplified)
        for label, predictions in found:
            for predicted in predictions:
                taken = {operation.results[0].name: predicted.result}
                if _is_permitted_given(program, inputs, actual, taken, platform):
                    return operation, label
    return None


def _is_permitted_given(
    program: Program,
    inputs: Sequence[Array],
    actual: Sequence[Array],
    taken: Mapping[str, Array],
    platform: str,
) -> bool:
    """Return whether a program may give these results with the values in `taken` replaced."""
    try:
        permitted = PermittedResults(program, inputs, platform, taken=taken)
    except EvaluationError:
        return False
    return not judge_program(permitted, actual).verdict.fails

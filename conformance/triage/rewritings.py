"""Operations whose results are what a known rewriting makes of the backend's own values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from conformance.judging.compare import Judgement, as_one
from conformance.known.rewritings.table import Rewriting, rewritings_of
from conformance.known.rewritings.values import Predicted, given_to
from conformance.triage.prediction import near
from conformance.verdict import Verdict
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.numerics.alike import equal_elements
from reference.unspecified.table import unspecified_mask


def rewritten(
    program: Program,
    operation: Operation,
    values: Mapping[str, Array],
    expected: tuple[Array, ...],
    got: tuple[Array, ...],
    judgement: Judgement,
    among: Callable[[Operation], Iterable[tuple[str, Rewriting]]] = rewritings_of,
) -> Judgement:
    """The judgement on an operation, with the class of the rewriting that explains all of it.

    `among` gives the rewritings that are asked, in order. Elements that are as expected, but for
    the operation's own tolerance, need no explanation, nor do those that the specification leaves
    open.
    """
    if len(got) != 1 or got[0].shape != expected[0].shape:
        return judgement
    unlike = ~equal_elements(expected[0], got[0])
    operands = given_to(operation, values)
    if operands is not None:
        unlike &= ~unspecified_mask(operation, operands, expected[0])
    if not unlike.any():
        return judgement
    beyond = unlike & ~near(operation, values, Predicted(expected[0]), got[0])
    for label, rewriting in among(operation):
        wrong = beyond.copy() if beyond.any() else unlike.copy()
        for predicted in rewriting(program, operation, values):
            if beyond.any() or predicted.ulps is not None:
                wrong &= ~near(operation, values, predicted, got[0])
            else:  # such as zeros of the other sign, which are near each other
                wrong &= ~equal_elements(predicted.result, got[0])
            if not wrong.any():
                return of_class(judgement, label)
    return judgement


def of_class(judgement: Judgement, label: str) -> Judgement:
    """The judgement, of a class."""
    message = f"{label}: {judgement.message}"
    return as_one(replace(judgement, verdict=Verdict.DIVERGENT, kind=label, message=message))

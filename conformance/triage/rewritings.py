"""Operations whose results a known rewriting gives from the backend's own values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from conformance.judging.judgement import Judgement, collapse_failing
from conformance.known.rewritings.simplified.simplify import SimplifiedProgram
from conformance.known.rewritings.table import Among, rewriting_predictions, rewritings_of
from conformance.known.rewritings.values import ObservedProgram, ValuePrediction, given_to
from conformance.triage.prediction import is_near
from conformance.verdict import Verdict
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.numerics.alike import equal_elements
from reference.unspecified.table import unspecified_mask


def add_rewriting_class(
    program: Program,
    operation: Operation,
    values: Mapping[str, Array],
    expected: tuple[Array, ...],
    got: tuple[Array, ...],
    judgement: Judgement,
    among: Among = rewritings_of,
    *,
    simplified: SimplifiedProgram | None = None,
) -> Judgement:
    """Return the judgement on an operation with the first class of `rewriting_classes`, if any."""
    given = program, operation, values, expected, got, among
    for label in rewriting_classes(*given, simplified=simplified):
        return set_class(judgement, label)
    return judgement


def rewriting_classes(
    program: Program,
    operation: Operation,
    values: Mapping[str, Array],
    expected: tuple[Array, ...],
    got: tuple[Array, ...],
    among: Among = rewritings_of,
    *,
    simplified: SimplifiedProgram | None = None,
) -> Iterator[str]:
    """Yield the classes of the rewritings that explain all of an operation's results.

    `simplified` is the simplified program; None if it has not been simplified yet.
    Elements within the operation's own tolerance and unspecified elements need no explanation.
    """
    if len(got) != 1 or got[0].shape != expected[0].shape:
        return
    unlike = ~equal_elements(expected[0], got[0])
    operands = given_to(operation, values)
    if operands is not None:
        unlike &= ~unspecified_mask(operation, operands, expected[0])
    if not unlike.any():
        return
    beyond = unlike & ~is_near(operation, values, ValuePrediction(expected[0]), got[0])
    shown = ObservedProgram(program, values)
    for label, predictions in rewriting_predictions(shown, operation, among, simplified):
        wrong = beyond.copy() if beyond.any() else unlike.copy()
        for predicted in predictions:
            if beyond.any() or predicted.ulps is not None:
                wrong &= ~is_near(operation, values, predicted, got[0])
            else:  # such as zeros of the other sign, which are near
                wrong &= ~equal_elements(predicted.result, got[0])
            if not wrong.any():
                yield label
                break


def set_class(judgement: Judgement, label: str) -> Judgement:
    """Return the judgement as divergent, with this class."""
    message = f"{label}: {judgement.message}"
    return collapse_failing(
        replace(judgement, verdict=Verdict.DIVERGENT, kind=label, message=message)
    )

"""A model's prediction of an operation's result, compared with the actual result."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from conformance.catalog import rule_of
from conformance.judging.judgement import Judgement
from conformance.judging.perturbation.error_model import tolerances
from conformance.judging.perturbation.hull import is_within
from conformance.known.entry_prediction import prediction_distances
from conformance.known.in_force import stated_hypotheses
from conformance.known.rewritings.values import ValuePrediction, given_to
from conformance.verdict import Verdict
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements
from reference.numerics.rounding import to_float64


def is_near(
    operation: Operation, values: Mapping[str, Array], predicted: ValuePrediction, got: Array
) -> Array:
    """Return a mask of a result's elements that match a prediction; `values` has the operands."""
    return _is_predicted(operation, values, predicted, got) | predicted.undefined


def _is_predicted(
    operation: Operation, values: Mapping[str, Array], predicted: ValuePrediction, got: Array
) -> Array:
    other, of = predicted.result, element_type_of(got)
    if predicted.ulps is not None:
        return prediction_distances(other, got) <= predicted.ulps
    if not (of.is_float or of.is_complex):
        return equal_elements(other, got)
    error = _own_tolerance(operation, values, other) if predicted.error is None else predicted.error
    if error is None:
        return equal_elements(other, got)
    with np.errstate(all="ignore"):
        samples = [other, *(_move(other, way * error) for way in (1, -1))]
    return equal_elements(other, got) | is_within(samples, got, of, margin=0.0)


def is_stated(operation: Operation, judgement: Judgement) -> bool:
    """Return whether expectations in force predict everything wrong with an operation's results.

    Flushed elements are not counted. Such an operation may be right in isolation, where compilers
    may compute it in another way.
    """
    kinds = {kind for verdict, kind in judgement.findings if verdict is not Verdict.FLUSHED}
    return bool(kinds) and {one.label for one in stated_hypotheses(operation)} >= kinds


def _own_tolerance(operation: Operation, values: Mapping[str, Array], other: Array) -> Array | None:
    rule, operands = rule_of(operation), given_to(operation, values)
    if rule is None or operands is None:
        return None
    with np.errstate(all="ignore"):
        (error,) = tolerances(operation, operands, (other,), rule, "cpu")
    return error


def _move(array: Array, by: Array) -> Array:
    if element_type_of(array).is_complex:
        return (array + (by + 1j * by)).astype(array.dtype)
    return (to_float64(array) + by).astype(array.dtype)

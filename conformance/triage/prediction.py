"""What a model says that an operation's result becomes, and whether a result is that."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from conformance.catalog import rule_of
from conformance.judging.compare import Judgement
from conformance.judging.perturbation.error_model import tolerances
from conformance.judging.perturbation.hull import within
from conformance.known.computed import distances
from conformance.known.in_force import models_of
from conformance.known.rewritings.values import Predicted, given_to
from conformance.verdict import Verdict
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements
from reference.numerics.rounding import to_float64


def near(
    operation: Operation, values: Mapping[str, Array], predicted: Predicted, got: Array
) -> Array:
    """Which elements of a result are as predicted, `values` being what the operation was given."""
    return _as_predicted(operation, values, predicted, got) | predicted.undefined


def _as_predicted(
    operation: Operation, values: Mapping[str, Array], predicted: Predicted, got: Array
) -> Array:
    other, of = predicted.result, element_type_of(got)
    if predicted.ulps is not None:
        return distances(other, got) <= predicted.ulps
    if not (of.is_float or of.is_complex):
        return equal_elements(other, got)
    error = _own(operation, values, other) if predicted.error is None else predicted.error
    if error is None:
        return equal_elements(other, got)
    with np.errstate(all="ignore"):
        samples = [other, *(_moved(other, way * error) for way in (1, -1))]
    return equal_elements(other, got) | within(samples, got, of, margin=0.0)


def is_modelled(operation: Operation, judgement: Judgement, platform: str) -> bool:
    """Whether models of the op itself predict all that is wrong with its results, beside what is
    flushed: it need not go wrong alone then, where compilers may choose another way to compute
    it."""
    kinds = {kind for verdict, kind in judgement.findings if verdict is not Verdict.FLUSHED}
    return bool(kinds) and {one.label for one in models_of(operation, platform)} >= kinds


def _own(operation: Operation, values: Mapping[str, Array], other: Array) -> Array | None:
    rule, operands = rule_of(operation), given_to(operation, values)
    if rule is None or operands is None:
        return None
    with np.errstate(all="ignore"):
        (error,) = tolerances(operation, operands, (other,), rule, "cpu")
    return error


def _moved(array: Array, by: Array) -> Array:
    if element_type_of(array).is_complex:
        return (array + (by + 1j * by)).astype(array.dtype)
    return (to_float64(array) + by).astype(array.dtype)

"""Hypotheses: classes of elements, each with the results that a backend may compute instead.

A hypothesis permits nothing. An element that a rule does not permit, and that a hypothesis
predicts, is of its class. Expectation files state on which backends a class is a known divergence.
A hypothesis about an operation has `errors`. A hypothesis about a program has `rewrite`, which
yields the programs that may be computed instead (`conformance/known/candidates.py` evaluates them),
or an `arithmetic`, by which the judge of programs evaluates it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np

from conformance.tolerance.rule import Bound, Measure
from conformance.tolerance.ulp import bound_units_from_prediction, ulps_from_prediction
from conformance.transforms.values import nested_operations
from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.program import Operation, Program
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements, equal_results
from reference.numerics.conversion import convert_to

Results = tuple[Array, ...]
Operands = tuple[Array, ...]

Otherwise = Callable[[Operation, Operands, Results], Results | None]
"""A function otherwise(operation, operands, expected): the results computed instead, None if they
are the same.
"""
Rewrite = Callable[[Operation, Operands, Results], tuple[Operation, Operands] | None]
"""A function rewrite(operation, operands, expected): the operation executed instead, and its
operands; None if it is the same.
"""
Others = Callable[[Operation, Operands], Iterator[Results]]
"""A function others(operation, operands) that yields the alternative results."""
Rewriting = Callable[[Program], Iterator[Sequence[Program]]]
"""A function rewriting(program) that yields the programs that may be computed instead.

Alternatives that differ only in the contents of foreign memory are yielded together: what they
agree on is predicted.
"""


class Arithmetic(Enum):
    """The arithmetic of some or all operations of a program."""

    FLUSHED = auto()
    """Subnormal numbers are flushed to zero."""
    UNROUNDED = auto()
    """Roundings are omitted."""


Concerns = Callable[[Operation], bool]
"""A function that returns whether a hypothesis is about the operation, or about an operation in its
regions.
"""

NEAR = 2.0
"""Largest distance, in ulp, of an element that counts as predicted."""


def is_any(operation: Operation) -> bool:
    """Return True for every operation, for hypotheses about any operation."""
    del operation
    return True


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A class of elements, and the test that an element belongs to it.

    An element belongs to the class if its error by `errors` is at most 1: it is within rounding
    errors of the value computed instead. With `signs`, `errors` checks signs of zeros; without, an
    element must have a sign of zero that the rule permits. If `flushes`, the class is the specified
    computation with subnormal numbers flushed. If `unsteady`, the elements may differ in every
    execution, as they depend on memory outside of the program. If `refutes`, its elements are wrong
    even where the specification leaves the result unspecified. If `moves`, it puts values at other
    positions, which flushed comparisons of the values of one position may explain by chance. If
    `represents`, the class is about how numbers of a type are represented: its elements are not
    refuted by other classes. If `stated`, an expectation in force states it, and it is tried before
    all others. `constants` are the operands, by name or glob, that must be constants to a compiler.

    `ulps` returns the errors in ulp of the values computed instead, infinite where there are none;
    None if `errors` only bounds the distance. `otherwise` returns the results computed instead, if
    elements equal these exactly.

    A hypothesis with `rewrite` or `arithmetic` is about programs, of a single process or of
    `several` (None: either), on any `Hardware` or on `platform`. `concerns` selects the operations
    of main that are computed otherwise.
    """

    label: str
    errors: Measure | None = None
    flushes: bool = False
    signs: bool = False
    unsteady: bool = False
    refutes: bool = False
    moves: bool = False
    represents: bool = False
    stated: bool = False
    constants: tuple[str, ...] = ()
    ulps: Measure | None = None
    otherwise: Otherwise | None = None
    rewrite: Rewriting | None = None
    arithmetic: Arithmetic | None = None
    concerns: Concerns = is_any
    several: bool | None = False
    platform: str = ""


def value_hypothesis(label: str, errors: Measure, *, flushes: bool = False) -> Hypothesis:
    """Return the class of elements whose `errors` are 0, signs of zeros included.

    Errors of other elements are infinite.
    """
    return Hypothesis(label, errors, flushes, signs=True, ulps=errors)


def predict_nothing(results: Results) -> Results:
    """Return infinite errors: no element is predicted."""
    return tuple(np.full(result.shape, np.inf) for result in results)


def predict_where(*masks: Array) -> Results:
    """Return errors that are 0 where masks are true and infinite at other positions."""
    return tuple(np.where(mask, 0.0, np.inf) for mask in masks)


def predict_all(expected: Results, is_predicted: bool) -> Results:
    """Return errors that are 0 for all elements if they are predicted, else infinite."""
    return predict_where(*(np.full(result.shape, is_predicted) for result in expected))


def predict_slices(right: Array, expected: Results, dimension: int = -1) -> Results:
    """Return errors that are 0 in the right slices along a dimension and infinite in others."""
    mask = np.expand_dims(right, dimension)
    return predict_where(*(np.broadcast_to(mask, result.shape) for result in expected))


def equal_slices(others: Results, actual: Results) -> Array:
    """Return a mask of the slices along the last dimension that are equal in all results."""
    pairs = zip(others, map(np.ascontiguousarray, actual), strict=True)
    return np.logical_and.reduce([equal_elements(one, got).all(axis=-1) for one, got in pairs])


def exact_hypothesis(
    label: str,
    otherwise: Otherwise,
    *,
    flushes: bool = False,
    refutes: bool = False,
    equal: Callable[[Array, Array], Array] = equal_elements,
) -> Hypothesis:
    """Return the class of elements equal to the results of `otherwise`.

    `equal` returns a mask of the elements in which a result and the backend's are equal. If the
    class `refutes`, an element that `otherwise` computes as specified, such as one NaN for another,
    does not belong to it.
    """

    def errors(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        try:
            others = otherwise(operation, operands, expected)
        except EvaluationError:  # of an operation in a region that uses values around it
            others = None
        if others is None:
            return predict_nothing(expected)
        masks = map(equal, others, actual)
        if refutes:
            same = map(equal, others, expected)
            masks = (found & ~known for found, known in zip(masks, same, strict=True))
        return predict_where(*masks)

    found = value_hypothesis(label, errors, flushes=flushes)
    return replace(found, otherwise=otherwise, refutes=refutes)


def region_hypothesis(label: str, known: Mapping[str, tuple[Hypothesis, ...]]) -> Hypothesis:
    """Return the class of an op with regions that contain operations of that class.

    `known` has the hypotheses by op.
    """
    by_op = {
        op: one.otherwise
        for op, hypotheses in known.items()
        for one in hypotheses
        if one.label == label and one.otherwise
    }

    def predict_results(
        operation: Operation, operands: Operands, results: Results
    ) -> Results | None:
        otherwise = by_op.get(operation.name)
        return otherwise and otherwise(operation, operands, results)

    def whole(operation: Operation, operands: Operands, expected: Results) -> Results | None:
        del expected
        if not any(one.name in by_op for one in nested_operations(operation)):
            return None
        return apply(operation, operands, otherwise=predict_results)

    return exact_hypothesis(label, whole)


def rewriting_hypothesis(
    label: str, rewrite: Rewrite, bound: Bound, *, others: tuple[Rewrite, ...] = ()
) -> Hypothesis:
    """Return the class of elements that are right for another operation, within its `bound`.

    Results of the other operation are converted to the types of the stated results. `others` give
    further operations that may be executed instead.
    """

    def measure(distances: Callable[[Array, Array, Array | None], Array]) -> Measure:
        def errors(
            operation: Operation, operands: Operands, expected: Results, actual: Results
        ) -> Results:
            found = predict_nothing(expected)
            for one in (rewrite, *others):
                other = one(operation, operands, expected)
                if other is None:
                    continue
                results = apply(*other)
                pairs = zip(results, expected, strict=True)
                converted = (convert_to(got, element_type_of(want)) for got, want in pairs)
                apart = map(distances, converted, actual, bound(*other, results))
                found = tuple(map(np.minimum, found, apart))
            return found

        return errors

    in_ulps = measure(lambda other, got, _: ulps_from_prediction(other, got))
    return Hypothesis(label, measure(bound_units_from_prediction), ulps=in_ulps)


def successive_rewrites(first: Rewrite, second: Rewrite) -> Rewrite:
    """Return the rewriting of what another rewriting gives; None where either changes nothing."""

    def rewritten(
        operation: Operation, operands: Operands, expected: Results
    ) -> tuple[Operation, Operands] | None:
        found = first(operation, operands, expected)
        return None if found is None else second(*found, expected)

    return rewritten


def any_outcome_hypothesis(
    label: str, others: Others, *, constants: tuple[str, ...] = ()
) -> Hypothesis:
    """Return the class of results that equal any of `others` in all elements.

    `constants` are the operands that must be constants to a compiler.
    """

    def errors(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        found = any(equal_results(one, actual) for one in others(operation, operands))
        return predict_all(expected, found)

    return replace(value_hypothesis(label, errors), constants=constants)

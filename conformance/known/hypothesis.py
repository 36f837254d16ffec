"""What a backend is supposed to compute in place of what is asked: a class, and what it predicts.

A hypothesis permits nothing. An element that a rule does not permit, and that a hypothesis
predicts, is of its class; expectation files say on which backends a class is known.

One about an operation has `errors`. One about a program has `rewrite`, which makes the programs
that are computed instead (`conformance/known/candidates.py` evaluates them), or an `arithmetic`, by
which the judge of programs evaluates it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np

from conformance.tolerance.rule import Bound, Measure
from conformance.tolerance.ulp import bound_units_from_prediction
from conformance.transforms.values import nested
from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.numerics.alike import equal_elements

Results = tuple[Array, ...]
Operands = tuple[Array, ...]

Otherwise = Callable[[Operation, Operands, Results], Results | None]
"""otherwise(operation, operands, expected): what is computed instead; None where it is the same."""
Rewrite = Callable[[Operation, Operands, Results], tuple[Operation, Operands] | None]
"""rewrite(operation, operands, expected): the operation that is executed instead, and its operands;
None where it is the same."""
Others = Callable[[Operation, Operands], Iterator[Results]]
"""others(operation, operands): each of the things that may be computed instead."""
Rewriting = Callable[[Program], Iterator[Sequence[Program]]]
"""rewriting(program): each of the programs that may be computed instead. Several in place of one
differ in what lies in memory that is not the program's own: what they agree on is predicted."""


class Arithmetic(Enum):
    """How the operations of a program may be computed otherwise, some of them or all."""

    FLUSHED = auto()
    """With subnormal numbers taken for zeros."""
    UNROUNDED = auto()
    """Without what is only rounded."""


Concerns = Callable[[Operation], bool]
"""concerns(operation): whether a hypothesis is about the operation, or about one in it."""

NEAR = 2.0
"""How many ulp an element may be off a prediction to count as predicted."""


def is_any(operation: Operation) -> bool:
    """Return True: a hypothesis is about whatever operation."""
    del operation
    return True


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A class of elements, and what tells that a result's elements are of it.

    An element is, if its error by `errors` is at most 1: it is as good as rounded arithmetic makes
    what is computed instead. With `signs` that has signs of zeros of its own, which `errors` looks
    at; without, an element has a sign of zero that the rule permits. Where it `flushes`, what is
    computed is what is asked, with subnormal numbers taken for zeros. Where it is `unsteady` the
    elements may be others every time, as they are made of memory that is not the program's. Where
    it `refutes`, its elements are wrong however much the specification leaves open. Where it is
    `stated`, an expectation in force says so, and it is asked before all others. One `of_constants`
    is about operations whose operands are all constants to a compiler.

    `ulps` gives the errors in ulp of the values that are computed instead, infinite where there are
    none; None where `errors` says no more than how far results may be off. `otherwise` is what is
    computed instead, where elements are just that.

    One with `rewrite` or `arithmetic` is about programs, of one process or of `several`, on any
    `Hardware` or on `platform`; `concerns` tells operations of main that are computed otherwise.
    """

    label: str
    errors: Measure | None = None
    flushes: bool = False
    signs: bool = False
    unsteady: bool = False
    refutes: bool = False
    stated: bool = False
    of_constants: bool = False
    ulps: Measure | None = None
    otherwise: Otherwise | None = None
    rewrite: Rewriting | None = None
    arithmetic: Arithmetic | None = None
    concerns: Concerns = is_any
    several: bool = False
    platform: str = ""


def value_hypothesis(label: str, errors: Measure, *, flushes: bool = False) -> Hypothesis:
    """Return the class of elements whose `errors` are 0 if they are just what is computed instead,
    zeros' signs included, and infinite if not."""
    return Hypothesis(label, errors, flushes, signs=True, ulps=errors)


def predict_nothing(results: Results) -> Results:
    """Return the errors of results of which no element is predicted."""
    return tuple(np.full(result.shape, np.inf) for result in results)


def predict_where(*masks: Array) -> Results:
    """Return the errors of results of which just these elements are predicted."""
    return tuple(np.where(mask, 0.0, np.inf) for mask in masks)


def exact_hypothesis(label: str, otherwise: Otherwise, *, flushes: bool = False) -> Hypothesis:
    """Return the class of elements that are just what is computed in place of what is asked."""

    def errors(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        try:
            others = otherwise(operation, operands, expected)
        except EvaluationError:  # of an operation in a region that uses values around it
            others = None
        return (
            predict_nothing(expected)
            if others is None
            else predict_where(*map(equal_elements, others, actual))
        )

    return replace(value_hypothesis(label, errors, flushes=flushes), otherwise=otherwise)


def hypothesis_in_regions(label: str, known: Mapping[str, tuple[Hypothesis, ...]]) -> Hypothesis:
    """Return the class of elements of an op with regions, operations in which are computed by a
    hypothesis of that class, of those that are `known` by op."""
    by_op = {
        op: one.otherwise
        for op, hypotheses in known.items()
        for one in hypotheses
        if one.label == label and one.otherwise
    }

    def instead(operation: Operation, operands: Operands, results: Results) -> Results | None:
        otherwise = by_op.get(operation.name)
        return otherwise and otherwise(operation, operands, results)

    def whole(operation: Operation, operands: Operands, expected: Results) -> Results | None:
        del expected
        if not any(one.name in by_op for one in nested(operation)):
            return None
        return apply(operation, operands, otherwise=instead)

    return exact_hypothesis(label, whole)


def rewriting_hypothesis(label: str, rewrite: Rewrite, bound: Bound) -> Hypothesis:
    """Return the class of elements that are right for another operation, within its `bound`."""

    def errors(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        other = rewrite(operation, operands, expected)
        if other is None:
            return predict_nothing(expected)
        results = apply(*other)
        limits = bound(*other, results)
        return tuple(map(bound_units_from_prediction, results, actual, limits))

    return Hypothesis(label, errors)


def any_outcome_hypothesis(label: str, others: Others) -> Hypothesis:
    """Return the class of results that are, all elements of them, one of those computed instead."""

    def errors(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        found = any(all(map(_same, one, actual)) for one in others(operation, operands))
        return predict_where(*(np.full(result.shape, found) for result in expected))

    return value_hypothesis(label, errors)


def _same(other: Array, got: Array) -> bool:
    return bool(equal_elements(other, got).all())

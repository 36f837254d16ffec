"""Rewritings of one operation, as hypotheses about its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from conformance.known.entry_prediction import prediction_distances
from conformance.known.hypothesis import Hypothesis, Results, predict_nothing
from conformance.known.rewritings.patterns import Rewriting, predictions
from conformance.known.rewritings.values import ObservedProgram
from reference.ir.program import Dense, Function, Operation, Program, Region, TensorType, Value


def pattern_hypothesis(
    rewritings: Sequence[Rewriting], folded: Sequence[bool] = (), *, stated: bool = False
) -> Hypothesis:
    """Return the class of results that any of several rewritings of an operation predicts.

    The rewritings have the same class, and predict within `ulps`, or bit for bit if there are no
    `ulps`. `folded` says which operands are constants to a compiler.
    """
    within = rewritings[0].ulps or 0.0

    def ulps(
        operation: Operation, operands: Results, expected: Results, actual: Results
    ) -> Results:
        return _distances(rewritings, operation, operands, expected, actual, folded, within)

    def errors(
        operation: Operation, operands: Results, expected: Results, actual: Results
    ) -> Results:
        found = ulps(operation, operands, expected, actual)
        return tuple(np.where(one <= within, 0.0, np.inf) for one in found)

    return Hypothesis(rewritings[0].label, errors, ulps, stated=stated)


def _distances(
    rewritings: Sequence[Rewriting],
    operation: Operation,
    operands: Results,
    expected: Results,
    actual: Results,
    folded: Sequence[bool],
    within: float,
) -> Results:
    """Return the distance in ulp from the prediction that explains most of the result."""
    program = _extract_program(operation, operands, folded)
    if program is None or len(actual) != 1:
        return predict_nothing(expected)
    shown = ObservedProgram(
        program, dict(zip((one.name for one in operation.operands), operands, strict=True))
    )
    found = [
        prediction_distances(one.result, actual[0])
        for rewriting in rewritings
        if rewriting.acts_on(operation)
        for one in predictions(shown, rewriting, (), operation)
        if one.result.dtype == actual[0].dtype
    ]
    if not found:
        return predict_nothing(expected)
    return (max(found, key=lambda one: np.count_nonzero(one <= within)),)


def _extract_program(
    operation: Operation, operands: Sequence[Any], folded: Sequence[bool]
) -> Program | None:
    """Return a program of one operation, with constants among its operands; None if an operand is
    not a plain tensor.
    """
    if not all(isinstance(one, np.ndarray) for one in operands):
        return None
    made: list[Operation] = []
    arguments: dict[str, Value] = {}
    for number, (value, array) in enumerate(zip(operation.operands, operands, strict=True)):
        if number < len(folded) and folded[number] and isinstance(value.type, TensorType):
            attributes = (("value", Dense.of(array, value.type)),)
            made.append(Operation("constant", (), (value,), attributes))
        else:
            arguments[value.name] = value
    end = Operation("return", operation.results)
    body = Region(tuple(arguments.values()), (*made, operation, end))
    types = tuple(value.type for value in operation.results)
    return Program((Function("main", body, types),))

"""Scatters with one value as two inputs, whose results share a buffer.

XLA's CPU compiler updates inputs in place. Two inputs that are the same value, or equal constants,
share one buffer, and its code writes both results there, the first input's result last. So both
results are the same. This damages the heap: further elements may be wrong, or the process may
crash.

Source: jaxlib 0.10.2, measured. 0.12 fails to compile such scatters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    predict_all,
    predict_nothing,
    predict_where,
)
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.numerics.alike import equal_elements

LABEL = "two results in one buffer"


def _refute_shared_buffer(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for all elements if results that share a buffer are the same, and should not be."""
    del operation
    return predict_all(expected, any(True for _ in _shared_pairs(operands, expected, actual)))


def _ulps(operation: Operation, operands: Operands, expected: Results, actual: Results) -> Results:
    """Return 0 for elements equal to the results with one buffer, without further damage."""
    for one, other in _shared_pairs(operands, expected, actual):
        return predict_where(
            *map(equal_elements, apply(_share_buffer(operation, one, other), operands), actual)
        )
    return predict_nothing(expected)


def _shared_pairs(
    operands: Operands, expected: Results, actual: Results
) -> Iterator[tuple[int, int]]:
    """Yield pairs of equal inputs whose results are the same and should not be."""
    for one, other in combinations(range(len(expected)), 2):
        inputs = operands[one], operands[other]
        if inputs[0].dtype != inputs[1].dtype or not equal_elements(*inputs).all():
            continue
        is_right = equal_elements(expected[one], expected[other]).all()
        if not is_right and equal_elements(actual[one], actual[other]).all():
            yield one, other


def _share_buffer(operation: Operation, one: int, other: int) -> Operation:
    """Return the scatter whose body returns the same value for both inputs."""
    (region,) = operation.regions
    *body, end = region.operations
    given = list(end.operands)
    given[other] = given[one]
    end = replace(end, operands=tuple(given))
    return replace(operation, regions=(replace(region, operations=(*body, end)),))


SHARED = Hypothesis(
    LABEL, _refute_shared_buffer, signs=True, unsteady=True, refutes=True, ulps=_ulps
)

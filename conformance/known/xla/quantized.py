"""Quantized operations as compilers compute them."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from conformance.known.hypothesis import Hypothesis, Operands, Results, predict_nothing
from conformance.tolerance.bounds.quantization import permitted_results
from conformance.tolerance.rule import Rule
from reference.interpreter import quantized
from reference.ir.program import Operation
from reference.ir.types import Array


@cache
def quantized_hypotheses(rule: Rule) -> tuple[Hypothesis, ...]:
    """Return the classes of an op on quantized tensors, given the rule for the op on numbers."""
    return (Hypothesis("reciprocal", partial(_predict_merged_scales, rule)),)


def _predict_merged_scales(
    rule: Rule, operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for codes that one more rounding may give, else infinity.

    Compilers multiply by the reciprocal of a scale, or by the quotient of two scales, where the
    specification divides.
    """
    if not quantized.computes_on_numbers(operation) or rule.is_backward:
        return predict_nothing(expected)
    found: list[Array] = []
    reaches = permitted_results(rule, operation, operands, expected, roundings=3)
    for want, got, reach in zip(expected, actual, reaches, strict=True):
        near = np.zeros(want.shape, np.bool_)
        if isinstance(reach, tuple):
            codes = got.astype(np.float64)
            near = (codes >= reach[0]) & (codes <= reach[1])
        found.append(np.where(near, 0.0, np.inf))
    return tuple(found)

"""Sums with flushed subnormal intermediate numbers."""

from __future__ import annotations

import numpy as np

from conformance.known.hypothesis import Hypothesis, Operands, Results
from conformance.tolerance.rule import Rule
from conformance.tolerance.ulp import bound_distances
from reference.ir.program import Operation


def flushing_class(rule: Rule) -> Hypothesis:
    """Return the hypothesis that subnormal intermediate numbers were flushed.

    It explains results within the rule's bound plus its `flush_loss`; the rule must have both.
    """

    def errors(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        assert rule.bound is not None
        assert rule.flush_loss is not None
        bounds = rule.bound(operation, operands, expected)
        losses = rule.flush_loss(operation, operands, expected)
        return tuple(
            np.full(want.shape, np.inf)
            if near is None or less is None
            else np.where(less > 0, bound_distances(want, got, near + less), np.inf)
            for want, got, near, less in zip(expected, actual, bounds, losses, strict=True)
        )

    return Hypothesis("subnormal intermediate", errors, flushes=True)

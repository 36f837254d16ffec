"""Sums on whose way subnormal numbers are taken for zeros: what they lose, and the class of it.

Flushed are elements, and partial sums in whatever order: a sum of normal numbers may be wrong in
its first digits then, where these nearly cancel out on the way.
"""

from __future__ import annotations

import numpy as np

from conformance.tolerance.bounds.underflow import has_flushing_modes
from conformance.tolerance.rule import Bound, Deviation
from conformance.tolerance.ulp import bound_distances
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics import accumulation
from reference.numerics.contributions import Leaves


def lost(values: Array, init: Array, leaves: Leaves) -> Array | None:
    """What each sum of the leaves loses at most; None of types whose subnormal numbers no hardware
    takes for zeros."""
    of = element_type_of(values)
    if not (of.is_float or of.is_complex) or not has_flushing_modes(of.part):
        return None
    lose = accumulation.complex_sum_lost if of.is_complex else accumulation.sum_lost
    return lose(values, init, leaves)


def flushing(bound: Bound, loss: Bound) -> Deviation:
    """Results that are off by no more than the bound and the loss, where there is a loss."""

    def measure(
        operation: Operation,
        operands: tuple[Array, ...],
        expected: tuple[Array, ...],
        actual: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        bounds = bound(operation, operands, expected)
        losses = loss(operation, operands, expected)
        return tuple(
            np.full(want.shape, np.inf)
            if near is None or less is None
            else np.where(less > 0, bound_distances(want, got, near + less), np.inf)
            for want, got, near, less in zip(expected, actual, bounds, losses, strict=True)
        )

    return Deviation("subnormal intermediate", measure, flushes=True)

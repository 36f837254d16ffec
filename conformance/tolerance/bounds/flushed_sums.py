"""Sums on whose way subnormal numbers are taken for zeros: what they lose.

Flushed are elements, and partial sums in whatever order: a sum of normal numbers may be wrong in
its first digits then, where these nearly cancel out on the way.
"""

from __future__ import annotations

from conformance.tolerance.bounds.underflow import has_flushing_modes
from reference.ir.types import Array, element_type_of
from reference.numerics import accumulation
from reference.numerics.contributions import Leaves


def lost(values: Array, init: Array, leaves: Leaves) -> Array | None:
    """What each sum of the leaves loses at most; None of types whose subnormal numbers no hardware
    takes for zeros."""
    of = element_type_of(values)
    if not (of.is_float or of.is_complex) or not has_flushing_modes(of.part):
        return None
    lose = accumulation.complex_sum_flush_loss if of.is_complex else accumulation.sum_flush_loss
    return lose(values, init, leaves)

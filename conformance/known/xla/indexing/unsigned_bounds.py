"""Slices whose constant limits are of an unsigned type and read as signed: 15 in ui4 as -1.

A dimension whose limit is then not beyond its start contributes only the element at its start.
These elements are repeated until the result is full.

Source: jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.known.hypothesis import Results, exact_hypothesis
from conformance.known.interpreter import indices
from reference.ir.program import Operation
from reference.ir.types import Array


def _predict_signed_slice(
    _: Operation, operands: tuple[Array, ...], expected: Results
) -> Results | None:
    """Return the slice with signed limits; None where they are the same, or a start is negative."""
    operand, *bounds = operands
    starts, limits, strides = (
        indices.reinterpret_as_signed(bound).astype(np.int64) for bound in bounds
    )
    if (limits == bounds[1].astype(object)).all() or (starts < 0).any() or (strides <= 0).any():
        return None
    ends = np.maximum(limits, starts + 1)
    found = operand[
        tuple(slice(*one) for one in np.stack([starts, ends, strides], axis=-1).tolist())
    ]
    return (np.resize(found, expected[0].shape),) if found.size else None


SIGNED_LIMITS = replace(
    exact_hypothesis(indices.LABEL, _predict_signed_slice), constants=("*_indices", "strides")
)

"""Updates whose start index is clamped to a bound that does not fit in the index type.

The bound is the operand's size less the update's. It is truncated to the index type, and may be
negative then: the update is written at another address, possibly outside of the result.

Source: jaxlib 0.10.2, measured.
"""

from __future__ import annotations

import numpy as np

from conformance.known.hypothesis import Results, exact_hypothesis
from conformance.known.xla.indexing.out_of_bounds import BOUND
from reference.ir.program import Operation
from reference.ir.types import Array


def _predict_update(_: Operation, operands: tuple[Array, ...], expected: Results) -> Results | None:
    """Return the update with truncated bounds; None if the type holds all bounds."""
    del expected
    operand, update, *starts = operands
    if not starts:
        return None
    bounds = [n - m for n, m in zip(operand.shape, update.shape, strict=True)]
    cut = [
        int(np.int64(bound).astype(start.dtype))
        for bound, start in zip(bounds, starts, strict=True)
    ]
    if cut == bounds:
        return None
    first = [min(max(int(start), 0), bound) for start, bound in zip(starts, cut, strict=True)]
    places = np.indices(update.shape).reshape(update.ndim, -1) + np.array(first)[:, None]
    strides = np.cumprod([1, *operand.shape[:0:-1]])[::-1]
    flat = (places * strides[:, None]).sum(axis=0)
    inside = (flat >= 0) & (flat < operand.size)
    result = operand.reshape(-1).copy()
    result[flat[inside]] = update.reshape(-1)[inside]
    return (result.reshape(operand.shape),)


CUT = exact_hypothesis(BOUND, _predict_update)

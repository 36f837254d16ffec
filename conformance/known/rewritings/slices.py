"""Slices of slices that are merged into one slice, whose start is the sum of both starts.

The start of a dynamic slice is moved to where the slice fits. Compilers replace a slice of a slice
by a slice that begins at the sum of both starts. They move the first start to where the last slice
would fit by itself, and do not move the second.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.known.rewritings.values import ObservedProgram, ValuePrediction
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, Program, TensorType
from reference.ir.types import Array
from reference.ops.table import OPS

ADDED_STARTS = "starts added up"


def merged_slices(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[ValuePrediction]:
    """Yield dynamic_slice(dynamic_slice(x, i), j) as dynamic_slice(x, i + j) with i clamped for the
    last slice.
    """
    shown = ObservedProgram(program, values)
    inner = shown.maker(operation.operands[0])
    if inner is None or inner.name != operation.name:
        return
    x, *inner_starts = (shown.known_value(value) for value in inner.operands)
    starts = [shown.known_value(value) for value in operation.operands[1:]]
    if x is None:
        return
    result = operation.results[0].type
    assert isinstance(result, TensorType)
    added: list[Array] = []
    for one, other, size, taken in zip(inner_starts, starts, x.shape, result.shape, strict=True):
        if one is None or other is None or one.dtype != other.dtype or taken is None:
            return
        moved = np.clip(one.astype(np.int64), 0, size - taken).astype(one.dtype)
        with np.errstate(over="ignore"):
            added.append(OPS["add"].evaluate(moved, other))
    yield ValuePrediction(apply(operation, (x, *added))[0])

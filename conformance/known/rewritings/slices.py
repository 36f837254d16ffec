"""Slices of slices that are merged into one slice, whose start is the sum of both starts.

The start of a dynamic slice is moved to where the slice fits. Compilers replace a slice of a slice
by a slice that begins at the sum of both starts. They move the first start to where the last slice
would fit by itself, and do not move the second. A gather by a single index vector is such a slice.
Starts of two types are added in the second type.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from conformance.known.rewritings.values import ObservedProgram, Predictions, ValuePrediction
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, TensorType
from reference.ir.types import Array
from reference.ops.table import OPS

ADDED_STARTS = "starts added up"


def merged_slices(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield dynamic_slice(dynamic_slice(x, i), j) as dynamic_slice(x, i + j) with i clamped for the
    last slice.
    """
    inner = shown.maker(operation.operands[0])
    if inner is None or inner.name != operation.name:
        return
    x, *inner_starts = (shown.known_value(value) for value in inner.operands)
    starts = [shown.known_value(value) for value in operation.operands[1:]]
    if x is None:
        return
    result = operation.results[0].type
    assert isinstance(result, TensorType)
    added = _combined_starts(x.shape, result.shape, inner_starts, starts)
    if added is not None:
        yield ValuePrediction(apply(operation, (x, *added))[0])


def merged_gathers(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield gather(dynamic_slice(x, i), [j]) as a slice of x at i + j with i clamped for the
    gather's slice.
    """
    inner, indices = shown.maker(operation.operands[0]), shown.known_value(operation.operands[1])
    if inner is None or inner.name != "dynamic_slice" or indices is None:
        return
    x, *inner_starts = (shown.known_value(value) for value in inner.operands)
    result = operation.results[0].type
    assert isinstance(result, TensorType)
    mapped, sizes = operation.attribute("start_index_map"), operation.attribute("slice_sizes")
    assert isinstance(mapped, tuple)
    assert isinstance(sizes, tuple)
    if x is None or indices.size != len(mapped) or operation.attribute("operand_batching_dims", ()):
        return
    starts = [np.zeros((), indices.dtype) for _ in x.shape]
    for dimension, start in zip(mapped, indices.reshape(-1), strict=True):
        starts[int(dimension)] = np.asarray(start)
    added = _combined_starts(x.shape, sizes, inner_starts, starts)
    if added is None:
        return
    places = tuple(
        slice(begin := int(np.clip(int(start), 0, size - taken)), begin + taken)
        for start, size, taken in zip(added, x.shape, sizes, strict=True)
    )
    yield ValuePrediction(x[places].reshape(result.static_shape))


def _combined_starts(
    shape: Sequence[int],
    taken: Sequence[int | None],
    inner: Sequence[Array | None],
    starts: Sequence[Array | None],
) -> list[Array] | None:
    """Return the starts i + j, with i clamped for a slice of sizes `taken`; None if one is unknown.

    The bound of i wraps around in the type of i. The clamped i is converted to the type of j.
    """
    added: list[Array] = []
    for one, other, size, part in zip(inner, starts, shape, taken, strict=True):
        if one is None or other is None or part is None:
            return None
        least, most = (np.asarray(limit).astype(one.dtype) for limit in (0, size - part))
        moved = OPS["clamp"].evaluate(least, one, most).astype(np.int64).astype(other.dtype)
        with np.errstate(over="ignore"):
            added.append(OPS["add"].evaluate(moved, other))
    return added

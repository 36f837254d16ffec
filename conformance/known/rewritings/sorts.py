"""Slices of sorts that become a TopK, which compares numbers in total order.

The first elements of a descending sort are the largest. XLA's CPU finds them by the bits of f32: a
NaN with a sign is less than all numbers, one without is greater, and -0 is less than +0. For the
comparator of the sort they are equal to what they are compared with.

Source: openxla/xla, topk_rewriter.cc; jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.known.rewritings.values import ObservedProgram, Predictions, ValuePrediction
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.numerics.comparison import total_order_key

_IS_ASCENDING = {"LT": True, "GT": False}

IN_TOTAL_ORDER = "first of a sort in total order"


def leading_sorted_elements(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield the first elements of sort(x), with x sorted in total order."""
    (sorted_value,) = operation.operands
    sort = shown.maker(sorted_value)
    if sort is None or sort.name != "sort":
        return
    number, key = sort.results.index(sorted_value), _sorting_key(sort)
    if key is None or key[1]:  # ascending
        return
    keys, taken = (shown.known_value(sort.operands[n]) for n in (key[0], number))
    if keys is None or keys.dtype != np.float32 or taken is None:
        return
    dimension = dict[str, Any](sort.attributes).get("dimension", -1) % keys.ndim
    if dimension not in (0, keys.ndim - 1) or not _takes_first(operation, keys, dimension):
        return
    if number != key[0] and not _is_numbered(np.moveaxis(taken, dimension, -1)):
        return
    order = np.argsort(-total_order_key(keys), axis=dimension, kind="stable")
    yield ValuePrediction(apply(operation, (np.take_along_axis(taken, order, dimension),))[0])


def _takes_first(operation: Operation, keys: Array, dimension: int) -> bool:
    """Return whether a slice takes the first elements along a dimension, and all along others."""
    given: dict[str, Any] = dict(operation.attributes)
    limits = tuple(
        limit if d == dimension else n
        for d, (limit, n) in enumerate(zip(given["limit_indices"], keys.shape, strict=True))
    )
    is_dense = not any(given["start_indices"]) and set(given["strides"]) <= {1}
    is_less = given["limit_indices"][dimension] < keys.shape[dimension]
    return is_dense and is_less and tuple(given["limit_indices"]) == limits


def _is_numbered(array: Array) -> bool:
    """Return whether elements are their indices along the last dimension."""
    return bool((array == np.arange(array.shape[-1])).all())


def _sorting_key(operation: Operation) -> tuple[int, bool] | None:
    """Return the operand of the sort's single comparison, and whether it is ascending."""
    region = operation.regions[0]
    if [one.name for one in region.operations] != ["compare", "return"]:
        return None
    compare, end = region.operations
    given = dict[str, Any](compare.attributes)
    ascending = _IS_ASCENDING.get(given["comparison_direction"])
    if ascending is None or given.get("compare_type") == "TOTALORDER":
        return None
    places = [region.arguments.index(v) if v in region.arguments else -1 for v in compare.operands]
    first = min(places)
    if end.operands != compare.results or first < 0 or first % 2 or max(places) != first + 1:
        return None
    return first // 2, ascending == (places[0] == first)

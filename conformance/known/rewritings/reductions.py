"""Reductions of reductions that are merged into a single reduction.

Each of the two may take its elements in any order, but the second begins after the first has ended.
So the partial results of the merged reduction may overflow or become zero in some orders, though
the two reductions' partial results are finite in all orders.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from conformance.known.rewritings.values import ObservedProgram, Predictions, ValuePrediction
from conformance.tolerance.bounds.reduction import reduction_bound
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, attributes
from reference.ir.regions import monoid_of
from reference.ir.types import element_type_of
from reference.unspecified.table import unspecified_mask

MADE_ONE = "reductions made one"


def merged_reductions(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield reduce(reduce(x)) by one op as one reduction of x, undefined where its order
    decides.
    """
    inner = shown.maker(operation.operands[0])
    if inner is None or not _are_alike(operation, inner):
        return
    x, init = shown.known_value(inner.operands[0]), shown.known_value(operation.operands[1])
    if x is None or init is None or not element_type_of(x).is_float:
        return
    made_one = replace(
        operation,
        operands=(inner.operands[0], operation.operands[1]),
        attributes=attributes(dimensions=_dimensions(x.ndim, inner, operation)),
    )
    (result,) = apply(made_one, (x, init))
    (error,) = reduction_bound(made_one, (x, init), (result,))
    anything = unspecified_mask(made_one, (x, init), result)
    for number in (np.nan, np.inf, -np.inf, 0.0, -0.0):
        other = np.where(anything, number, result).astype(result.dtype)
        yield ValuePrediction(other, np.zeros(result.shape) if error is None else error)


def _are_alike(outer: Operation, inner: Operation) -> bool:
    """Return whether two operations are single-operand reductions by the same op."""
    if inner.name != outer.name or not len(outer.operands) == len(inner.operands) == 2:
        return False
    monoid = monoid_of(outer.regions[0])
    return monoid is not None and monoid is monoid_of(inner.regions[0])


def _dimensions(rank: int, inner: Operation, outer: Operation) -> tuple[int, ...]:
    """Return the dimensions of the inner operand that either operation reduces."""
    first, second = (dict[str, Any](one.attributes)["dimensions"] for one in (inner, outer))
    kept = [d for d in range(rank) if d not in first]
    return tuple(sorted((*first, *(kept[d] for d in second))))

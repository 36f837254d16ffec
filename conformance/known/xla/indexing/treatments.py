"""Scatters that treat indices differently, recognised by their results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.known.hypothesis import Hypothesis, Operands, Results, predict_where
from conformance.known.interpreter.indices import reinterpret_as_signed
from conformance.known.xla.indexing.out_of_bounds import (
    BOUND,
    NO_INDICES,
    SIGNED,
    TREATMENTS,
    WINDOW,
)
from conformance.tolerance.bounds.reduction import count_rounding_operations
from conformance.tolerance.bounds.scatter import sum_or_product_bound
from conformance.tolerance.ulp import bound_distances
from reference.interpreter.evaluate import body_of
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements, flush_subnormals
from reference.numerics.rounding import to_float64
from reference.ops.indexed.update_orders import Scattering, decompose_scatter
from reference.unspecified.table import unspecified_mask


def _scatter_hypothesis(label: str) -> Hypothesis:
    """Return the class of elements that a treatment of indices gives, also in results with
    unspecified elements.
    """

    def errors(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        body = body_of(operation.regions[0])
        found = [np.zeros(one.shape, np.bool_) for one in expected]
        for given, places in _treated_updates(label, operation, operands):
            parts = decompose_scatter(operation, given, body, places)
            masks = _explained_masks(label, parts, operation, operands, expected, actual)
            found = [before | mask for before, mask in zip(found, masks, strict=True)]
        return predict_where(*found)

    return Hypothesis(label, errors, signs=True, refutes=True, moves=True)


def _treated_updates(
    label: str, operation: Operation, operands: Operands
) -> Iterator[tuple[Operands, Array]]:
    """Yield the operands and the positions that the updates write, for each treatment.

    The updates are in the reference's order, then window by window, as XLA applies them.
    """
    count = len(operands) // 2
    shape = operands[-1].shape
    within: tuple[int, ...] = dict[str, Any](operation.attributes).get("update_window_dims", ())
    axes = (*(axis for axis in range(len(shape)) if axis not in within), *within)
    for places in TREATMENTS[label](operation, operands):
        yield operands, places
        if axes != tuple(range(len(shape))) and places.size == operands[-1].size:
            updates = (one.transpose(axes) for one in operands[count + 1 :])
            yield (*operands[: count + 1], *updates), places.reshape(shape).transpose(axes)


def _explained_masks(
    label: str,
    parts: Scattering,
    operation: Operation,
    operands: Operands,
    expected: Results,
    actual: Results,
) -> list[Array]:
    """Return the masks of each result's elements that updates at other positions explain.

    All results must be explained at a position; flushed numbers count, but are of another class.
    """
    results = parts.results()
    explained = np.ones(results[0].shape, np.bool_)
    equal: list[Array] = []
    differs = np.zeros(results[0].shape, np.bool_)
    rounding = count_rounding_operations(operation.regions[0])
    for want, got, other, rounds in zip(expected, actual, results, rounding, strict=True):
        differs |= ~equal_elements(other, want.reshape(-1))
        same = equal_elements(other, got.reshape(-1))
        if rounds and not parts.is_sum_or_product:  # then a zero may have either sign
            zeros = (other == 0) & (got.reshape(-1) == 0)
            same |= zeros
            differs |= zeros & ~equal_elements(want, got).reshape(-1)
        if parts.is_sum_or_product:
            bound = sum_or_product_bound(parts, other)
            same |= bound_distances(other, got.reshape(-1), bound) <= 1
        if label == SIGNED:
            same |= _overflowing_elements(operation, operands, other.reshape(got.shape), got)
        equal.append(same)
        explained &= same | equal_elements(flush_subnormals(other), got.reshape(-1))
    found = differs & explained
    return [(found & same).reshape(actual[0].shape) for same in equal]


def _overflowing_elements(
    operation: Operation, operands: Operands, result: Array, got: Array
) -> Array:
    """Return flat elements that become infinite or NaN in some order of the updates.

    Indices are read as signed.
    """
    count, of = len(operands) // 2, element_type_of(result)
    if not (of.is_float or of.is_complex):
        return np.zeros(result.size, np.bool_)
    moved = (*operands[:count], reinterpret_as_signed(operands[count]), *operands[count + 1 :])
    infinite = ~np.isfinite(got) if of.is_complex else ~np.isfinite(to_float64(got))
    return unspecified_mask(operation, moved, result).reshape(-1) & infinite.reshape(-1)


XLA_LABELS = frozenset({WINDOW, BOUND, NO_INDICES})
"""Treatments of XLA's compilers.

The interpreter follows the specification here: it drops only updates out of bounds, and has a
window for each index vector.
"""

SCATTERED = tuple(map(_scatter_hypothesis, TREATMENTS))

"""Tolerance rule of scatter: data, except for scattered sums and products.

The order of the updates is unspecified (reference/unspecified/gathering.py marks the elements that
depend on it). A result that no order gives is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from conformance.tolerance.bounds.reduction import (
    NO_ORDER,
    count_rounding_operations,
    weigh_rounding_operations,
)
from conformance.tolerance.bounds.underflow import flush_loss
from conformance.tolerance.rule import Rule
from reference.interpreter.evaluate import body_of
from reference.ir.monoid import ADD, MULTIPLY
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics import accumulation
from reference.numerics.rounding import to_float64
from reference.numerics.zeros import is_zero
from reference.ops.indexed.update_orders import (
    MAX_ORDERED_UPDATES,
    Scattering,
    decompose_scatter,
    unexplained_elements,
)
from reference.unspecified.gathering import update_leaves
from reference.unspecified.table import unspecified_mask

_ORDER = "order of the updates"


def _bound(
    operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
) -> tuple[Array | None, ...]:
    """Return absolute errors.

    Sums and products: rounding errors of several updates in any order; none with a single update,
    except for complex products. Other computations: one rounding for each rounding operation and
    update; data if none rounds.
    """
    parts = decompose_scatter(operation, operands, body_of(operation.regions[0]))
    if not parts.is_sum_or_product:
        roundings = count_rounding_operations(operation.regions[0])
        pairs = zip(roundings, expected, strict=True)
        return tuple(_rounding_bound(count * parts.counts, result) for count, result in pairs)
    bound = sum_or_product_bound(parts, expected[0].reshape(-1))
    exact = 0 if element_type_of(expected[0]).is_complex and parts.body.monoid is MULTIPLY else 1
    bound = np.where(parts.counts > exact, bound, 0.0)
    return (bound.reshape(expected[0].shape),)


def _rounding_bound(counts: Array, expected: Array) -> Array | None:
    element_type = element_type_of(expected)
    if not (element_type.is_float or element_type.is_complex) or not counts.any():
        return None
    wide = expected.astype(np.complex128) if element_type.is_complex else to_float64(expected)
    return counts.reshape(expected.shape) * accumulation.unit_roundoff(element_type) * np.abs(wide)


def sum_or_product_bound(parts: Scattering, expected: Array) -> Array:
    """Return the largest rounding error of each element (flat), updates in any order."""
    values, leaves = update_leaves(parts)
    element_type = element_type_of(values)
    if parts.body.monoid is ADD:
        bound = (
            accumulation.complex_sum_bound if element_type.is_complex else accumulation.sum_bound
        )
        init = np.zeros((), np.float64).astype(element_type.storage)
    else:
        bound = (
            accumulation.complex_product_bound
            if element_type.is_complex
            else accumulation.product_bound
        )
        init = np.ones((), np.float64).astype(element_type.storage)
    return bound(values, init, leaves, expected)


def _flush_loss(
    operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
) -> tuple[Array | None, ...]:
    """Return the largest errors of sums of an element and its updates if subnormals are flushed."""
    parts = decompose_scatter(operation, operands, body_of(operation.regions[0]))
    if not parts.is_sum_or_product or parts.body.monoid is not ADD:
        return (None,) * len(expected)
    values, leaves = update_leaves(parts)
    zero = np.zeros((), np.float64).astype(element_type_of(values).storage)
    loss = flush_loss(values, zero, leaves)
    return (None if loss is None else loss.reshape(expected[0].shape),)


def _either_zero(
    operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
) -> tuple[Array | None, ...]:
    """Mark the zeros that may have either sign.

    These are products of complex numbers, and computations that round and are no sum or product. A
    sum of the element and its updates, without an init value, is -0 only if all of them are -0. An
    element without updates is unchanged.
    """
    if not any(is_zero(result).any() for result in expected):
        return (None,) * len(expected)
    parts = decompose_scatter(operation, operands, body_of(operation.regions[0]))
    touched = (parts.counts > 0).reshape(expected[0].shape)
    free = [bool(count) for count in count_rounding_operations(operation.regions[0])]
    if parts.is_sum_or_product:
        free = [parts.body.monoid is MULTIPLY and element_type_of(expected[0]).is_complex]
    return tuple(
        is_zero(result) & (touched[..., None] if element_type_of(result).is_complex else touched)
        if is_free
        else None
        for is_free, result in zip(free, expected, strict=True)
    )


def _exclude_unexplained(
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    actual: tuple[Array, ...],
) -> tuple[Sequence[tuple[str, Array]], ...]:
    """Mark elements with several updates that no order of the updates gives."""
    region = operation.regions[0]
    parts = decompose_scatter(operation, operands, body_of(region))
    if parts.is_order_independent or parts.is_sum_or_product or parts.groups.max_updates <= 1:
        return ((),) * len(expected)
    if any(count_rounding_operations(region)):
        wrong = _beyond_orders(parts, actual)
    else:
        wrong = unexplained_elements(parts, actual)
    wrong = wrong.reshape(actual[0].shape)
    for index, result in enumerate(expected):
        wrong = wrong & ~unspecified_mask(operation, operands, result, index, apart_from=_ORDER)
    return (((NO_ORDER, wrong),),) * len(expected)


def _beyond_orders(parts: Scattering, actual: Sequence[Array]) -> Array:
    """Return a flat mask of the elements of which a real result is beyond those of all orders, by
    more than the rounding errors of the body. Elements with too many updates are not included.
    """
    found = np.zeros(len(parts.inputs[0]), np.bool_)
    for index, weight in enumerate(weigh_rounding_operations(parts.body.region)):
        element_type = element_type_of(actual[index])
        if not element_type.is_float:
            continue
        wide = to_float64(actual[index]).reshape(-1)
        sizes = [np.abs(to_float64(one[index])) for one in (parts.inputs, parts.updates)]
        for count in range(2, MAX_ORDERED_UPDATES + 1):
            outcomes = [(at, to_float64(one[index])) for at, one in parts.outcomes(count)]
            if not outcomes:
                continue
            targets, values = outcomes[0][0], np.stack([one for _, one in outcomes])
            low, high = values.min(axis=0), values.max(axis=0)
            updates = sizes[1][parts.colliding_updates(count)[1]].max(axis=0)
            size = np.maximum.reduce((sizes[0][targets], updates, np.abs(values).max(axis=0)))
            error = weight * (count + 1) * accumulation.unit_roundoff(element_type) * size
            got, known = wide[targets], np.isfinite(low) & np.isfinite(high)
            found[targets] |= known & ~((got >= low - error) & (got <= high + error))
    return found


SCATTERED_UPDATES = Rule(
    "scattered updates",
    "sums and products of n updates within n u times the sum of magnitudes, or ((1 + u)^n - 1) "
    "times the product, without error if all partial results are exact; anything else bit for "
    "bit as in some order of the updates",
    "StableHLO specification, scatter; Higham, Accuracy and Stability of Numerical Algorithms, 3.1",
    bound=_bound,
    excludes=_exclude_unexplained,
    either_zero=_either_zero,
    flush_loss=_flush_loss,
)

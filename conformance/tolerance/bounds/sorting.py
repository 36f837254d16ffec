"""Tolerance rule of sort: any order of equal elements, unless the sort is stable.

The reference's order is not the only right order. A result is right if every slice holds the same
tuples of elements as the inputs' slice, and no element precedes an element that the comparator puts
before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from conformance.tolerance.rule import Rule
from reference.interpreter.evaluate import EvaluationError, body_of
from reference.ir.program import Operation
from reference.ir.regions import Body
from reference.ir.types import Array, element_type_of, to_bits
from reference.numerics.rounding import to_float64
from reference.unspecified.sorting import NO_ORDER, unspecified_slices

_NAN = np.uint64((1 << 64) - 1)


def _permit_sorted_permutations(
    operation: Operation,
    _: tuple[Array, ...],
    expected: tuple[Array, ...],
    actual: tuple[Array, ...],
) -> tuple[Array | None, ...]:
    """Mark all elements of the slices that are sorted permutations.

    A stable sort has a single right order: return None for it.
    """
    given: dict[str, Any] = dict(operation.attributes)
    if given.get("is_stable", False):
        return (None,) * len(expected)
    dimension = given.get("dimension", -1)
    placed, after = (move_axis_last(arrays, dimension) for arrays in (expected, actual))
    try:
        given_back = copy_nan_bits(placed, after)
        right = are_permutations(placed, after) & are_sorted(
            given_back, body_of(operation.regions[0])
        )
    except EvaluationError:  # the comparator uses outer values, which are not available
        return (None,) * len(expected)
    mask = np.broadcast_to(np.expand_dims(right, dimension), expected[0].shape)
    return (mask,) * len(expected)


def _exclude_non_permutations(
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    actual: tuple[Array, ...],
) -> tuple[Sequence[tuple[str, Array]], ...]:
    """Mark the slices whose elements are not a permutation of the inputs' elements."""
    dimension = dict[str, Any](operation.attributes).get("dimension", -1)
    placed, after = (move_axis_last(arrays, dimension) for arrays in (expected, actual))
    wrong = ~are_permutations(placed, after)
    if wrong.any():
        for label, mask in unspecified_slices(operation, operands):
            wrong = wrong & ~mask if label == NO_ORDER else wrong
    mask = np.broadcast_to(np.expand_dims(wrong, dimension), expected[0].shape)
    return ((("no possible order", mask),),) * len(expected)


def move_axis_last(arrays: tuple[Array, ...], dimension: int) -> tuple[Array, ...]:
    """Return the arrays with the sorted dimension as the last dimension."""
    return tuple(np.moveaxis(array, dimension, -1) for array in arrays)


def are_permutations(before: tuple[Array, ...], after: tuple[Array, ...]) -> Array:
    """Return the slices along the last dimension that hold the same tuples equally often.

    A tuple has an element of each array. Any NaN equals any other.
    """
    shape = before[0].shape
    ordered = [
        np.sort(_tuple_bytes(rows).reshape(-1, shape[-1]), axis=-1) for rows in (before, after)
    ]
    return np.asarray((ordered[0] == ordered[1]).all(axis=-1)).reshape(shape[:-1])


def copy_nan_bits(placed: tuple[Array, ...], after: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return the slices `after` with the bits of their NaNs taken from the sorted `placed`.

    A comparator may distinguish NaNs (total order: by their signs), but the specification does not
    determine the bits of a NaN result. Elements that differ only in their NaNs are put in the order
    of `placed`: if any order of them is sorted, that order is. The result is meaningful only if
    both hold the same elements (`are_permutations`).
    """
    if not any(_has_nan(array) for array in placed):
        return after
    shape = placed[0].shape
    mine, theirs = (
        np.argsort(_tuple_bytes(rows).reshape(-1, shape[-1]), axis=-1, kind="stable")
        for rows in (placed, after)
    )
    source = np.empty_like(mine)
    np.put_along_axis(source, theirs, mine, axis=-1)
    source = source.reshape(shape)
    return tuple(np.take_along_axis(array, source, axis=-1) for array in placed)


def _has_nan(array: Array) -> bool:
    element_type = element_type_of(array)
    return (element_type.is_float or element_type.is_complex) and bool(np.isnan(array).any())


def _tuple_bytes(rows: tuple[Array, ...]) -> Array:
    """Return the bits of each tuple of elements at the same position, as a string of bytes."""
    columns = [column for array in rows for column in _bit_columns(array)]
    width = columns[0].dtype.itemsize * len(columns)
    return np.stack(columns, axis=-1).view(f"S{width}")[..., 0]


def _bit_columns(array: Array) -> list[Array]:
    """Return the bits as ui64, two arrays for complex numbers; all bits are set for any NaN."""
    element_type = element_type_of(array)
    if element_type.is_complex:
        return [_bit_columns(part(array).copy())[0] for part in (np.real, np.imag)]
    bits = to_bits(array).astype(np.uint64)
    return [np.where(np.isnan(to_float64(array)), _NAN, bits) if element_type.is_float else bits]


def are_sorted(rows: tuple[Array, ...], comparator: Body) -> Array:
    """Return the slices, along the last dimension, that are in the order of the comparator."""
    if rows[0].shape[-1] < 2:
        return np.ones(rows[0].shape[:-1], np.bool_)
    pairs = ((array[..., 1:], array[..., :-1]) for array in rows)
    (wrong,) = comparator.lanes(*(np.ascontiguousarray(side) for pair in pairs for side in pair))
    return np.asarray(~wrong.any(axis=-1))


SORTED = Rule(
    "sort",
    "a permutation of the inputs' elements, the same for all inputs, that the comparator accepts "
    "as sorted; if is_stable, bit for bit, with equal elements in their order",
    "StableHLO specification, sort",
    permits=_permit_sorted_permutations,
    excludes=_exclude_non_permutations,
)

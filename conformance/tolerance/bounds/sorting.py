"""Tolerance rule of sort: any order of equal elements, unless it is asked to be stable.

What matters is not the order that the reference has found but that there is one: every slice of
the results holds the elements of the inputs' slice, those of all operands still together, and no
element comes before one that the comparator puts before it.
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
    """All elements of those slices that are sorted permutations; of a stable sort, none but
    those that are right anyway."""
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
    except EvaluationError:  # the comparator names values around it, which are not known here
        return (None,) * len(expected)
    mask = np.broadcast_to(np.expand_dims(right, dimension), expected[0].shape)
    return (mask,) * len(expected)


def _exclude_non_permutations(
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    actual: tuple[Array, ...],
) -> tuple[Sequence[tuple[str, Array]], ...]:
    """Return the slices that hold other elements than the inputs' do, whatever is open about their
    order."""
    dimension = dict[str, Any](operation.attributes).get("dimension", -1)
    placed, after = (move_axis_last(arrays, dimension) for arrays in (expected, actual))
    wrong = ~are_permutations(placed, after)
    if wrong.any():
        for label, mask in unspecified_slices(operation, operands):
            wrong = wrong & ~mask if label == NO_ORDER else wrong
    mask = np.broadcast_to(np.expand_dims(wrong, dimension), expected[0].shape)
    return ((("no permutation of the elements", mask),),) * len(expected)


def move_axis_last(arrays: tuple[Array, ...], dimension: int) -> tuple[Array, ...]:
    """The arrays with the dimension that is sorted as the last one."""
    return tuple(np.moveaxis(array, dimension, -1) for array in arrays)


def are_permutations(before: tuple[Array, ...], after: tuple[Array, ...]) -> Array:
    """Which slices along the last dimension hold the same elements, those of all arrays together,
    as often as before. Any NaN stands for any other."""
    shape = before[0].shape
    ordered = [
        np.sort(_tuple_bytes(rows).reshape(-1, shape[-1]), axis=-1) for rows in (before, after)
    ]
    return np.asarray((ordered[0] == ordered[1]).all(axis=-1)).reshape(shape[:-1])


def copy_nan_bits(placed: tuple[Array, ...], after: tuple[Array, ...]) -> tuple[Array, ...]:
    """The slices `after`, the bits of their NaNs as the sorted slices `placed` have them.

    A comparator may tell NaNs apart, in total order by their signs, but which NaN comes out where
    one is due nothing says. Elements that differ in their NaNs alone are taken to come in the order
    in which `placed` has them: if in any order they are sorted, they are in that one. Only what
    holds the same elements (`same_elements`) has a meaning.
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
    of = element_type_of(array)
    return (of.is_float or of.is_complex) and bool(np.isnan(array).any())


def _tuple_bytes(rows: tuple[Array, ...]) -> Array:
    """A string of bytes for each tuple of elements that meet in the arrays: their bits."""
    columns = [column for array in rows for column in _bit_columns(array)]
    width = columns[0].dtype.itemsize * len(columns)
    return np.stack(columns, axis=-1).view(f"S{width}")[..., 0]


def _bit_columns(array: Array) -> list[Array]:
    """The bits as ui64, of complex numbers two; those of NaNs are all set, whatever the NaN."""
    of = element_type_of(array)
    if of.is_complex:
        return [_bit_columns(part(array).copy())[0] for part in (np.real, np.imag)]
    bits = to_bits(array).astype(np.uint64)
    return [np.where(np.isnan(to_float64(array)), _NAN, bits) if of.is_float else bits]


def are_sorted(rows: tuple[Array, ...], comparator: Body) -> Array:
    """In which slices along the last dimension no element belongs before its predecessor."""
    if rows[0].shape[-1] < 2:
        return np.ones(rows[0].shape[:-1], np.bool_)
    pairs = ((array[..., 1:], array[..., :-1]) for array in rows)
    (wrong,) = comparator.lanes(*(np.ascontiguousarray(side) for pair in pairs for side in pair))
    return np.asarray(~wrong.any(axis=-1))


SORTED = Rule(
    "sort",
    "sorted by the comparator itself, a permutation of the inputs' elements, those of all operands "
    "together; where is_stable, equal elements in their order: then bit for bit",
    "StableHLO specification, sort",
    permits=_permit_sorted_permutations,
    excludes=_exclude_non_permutations,
)

"""Sorting by a comparator.

If a comparator is recognised as comparing keys (reference/ops/sorts/comparators.py), the keys'
codes are sorted without calling it. Any other comparator is called for whole arrays of pairs, by a
merge sort of all slices at once. Both are stable, even if `is_stable` is false.
"""

from __future__ import annotations

import numpy as np

from reference.ir.constraints import require
from reference.ir.notation import QuantizedTensors, admit, same_shape
from reference.ir.op import EACH, FIRST_OPERAND, Dialect, Op, QuantizedUse, Rounding, Structure
from reference.ir.program import Region, TensorType
from reference.ir.regions import Body, argument_types, output_types
from reference.ir.types import ALL, BOOLEAN, Array, Kind
from reference.ops.sorts.comparators import Codes, codes_of, order_of

PER_TENSOR = admit(*Kind, quantized=QuantizedTensors.PER_TENSOR)
_WORD = 64


def sort_type(
    inputs: tuple[TensorType, ...],
    *,
    comparator: Region,
    dimension: int = -1,
    is_stable: bool = False,  # noqa: ARG001 - says nothing about types
    results: tuple[TensorType, ...] | None = None,
) -> tuple[TensorType, ...]:
    """Return the result types of `sort`, equal to the inputs' types.

    Raises:
        ConstraintViolation: I1 (per-axis quantized), C1 (nothing to sort), C2, C3 (types and shapes
            differ), C4 (no such dimension), C5 (the comparator's type).
    """
    if not require("C1", bool(inputs), "no inputs"):
        return ()
    require("I1", all(of in PER_TENSOR for of in inputs), inputs)
    rank = inputs[0].rank
    require("C3", same_shape(*inputs), inputs)
    require("C4", -rank <= dimension < rank, f"{dimension} of rank {rank}")
    takes = argument_types(comparator)
    asked = tuple(TensorType((), of.element_type) for of in inputs for _ in range(2))
    answers = output_types(comparator) == (TensorType((), BOOLEAN[0]),)
    require("C5", takes == asked and answers, takes)
    if results is not None:
        alike = len(results) == len(inputs) and all(map(_same_type, results, inputs))
        require("C2", alike, results)
    return results or inputs


def _same_type(left: TensorType, right: TensorType) -> bool:
    return same_shape(left, right) and left.element_type == right.element_type


def sort(
    inputs: tuple[Array, ...],
    *,
    comparator: Body,
    dimension: int = -1,
    is_stable: bool = False,  # noqa: ARG001 - it always is
) -> tuple[Array, ...]:
    """Return the slices of all inputs along `dimension`, sorted by the same permutation.

    Args:
        inputs: arrays of one shape, of any element types.
        comparator: takes an element of each input for lhs and rhs, alternating (lhs0, rhs0, lhs1,
            ...); returns whether lhs precedes rhs. Unless it is a strict weak ordering, the result
            is an arbitrary permutation.
        dimension: the dimension to sort; negative numbers count from the end.
        is_stable: whether equal elements keep their order. Here they always do.

    Returns:
        New arrays, an array for each input.
    """
    rows = tuple(np.moveaxis(array, dimension, -1) for array in inputs)
    order = sorting_permutation(rows, comparator)
    placed = (np.take_along_axis(array, order, axis=-1) for array in rows)
    return tuple(
        np.ascontiguousarray(np.moveaxis(array, -1, dimension)).reshape(array_in.shape)
        for array, array_in in zip(placed, inputs, strict=True)
    )


def sorting_permutation(rows: tuple[Array, ...], comparator: Body) -> Array:
    """Return the permutation (int64) that sorts the slices along the last dimension."""
    shape = rows[0].shape
    if rows[0].size < 2 or shape[-1] < 2:
        return np.broadcast_to(np.arange(shape[-1]), shape)
    codes = keys_of(rows, comparator)
    return sort_by_comparator(rows, comparator) if codes is None else sort_by_codes(codes, shape)


def keys_of(rows: tuple[Array, ...], comparator: Body) -> list[Codes] | None:
    """Return codes of the elements by priority, or None if the comparator must be called.

    It must be called if it is not recognised as comparing keys, or does not order some elements.
    """
    order = order_of(comparator.region)
    if order is None:
        return None
    found: list[Codes] = []
    values = comparator.make_sibling(order.region).lanes(*rows)
    for array, key in zip(values, order.keys, strict=True):
        codes = codes_of(array, key)
        if codes is None:
            return None
        found += codes
    return found


def sort_by_codes(codes: list[Codes], shape: tuple[int, ...]) -> Array:
    """Return the stable order by codes.

    If all codes and the position fit into one word, words are sorted, which is several times faster
    than sorting positions.
    """
    if not codes:
        return np.broadcast_to(np.arange(shape[-1]), shape)
    index_bits = max(1, (shape[-1] - 1).bit_length())
    if sum(code.bits for code in codes) + index_bits > _WORD:
        if len(codes) == 1:
            return np.argsort(codes[0].codes, axis=-1, kind="stable")
        return np.lexsort([code.codes for code in reversed(codes)], axis=-1)
    words = np.zeros(shape, np.uint64)
    for code in codes:
        words = (words << np.uint64(code.bits)) | code.codes
    words = (words << np.uint64(index_bits)) | np.arange(shape[-1], dtype=np.uint64)
    words.sort(axis=-1)
    return (words & np.uint64((1 << index_bits) - 1)).astype(np.int64)


def sort_by_comparator(rows: tuple[Array, ...], comparator: Body) -> Array:
    """Return the stable order by calls of the comparator: a merge sort of all slices at once."""
    size = rows[0].shape[-1]
    flat = tuple(array.reshape(-1) for array in rows)
    order = np.arange(rows[0].size).reshape(-1, size)
    width = 1
    while width < size:
        order = _merge_runs(order, width, flat, comparator)
        width *= 2
    return (order % size).reshape(rows[0].shape)


def _merge_runs(order: Array, width: int, flat: tuple[Array, ...], comparator: Body) -> Array:
    """Merge pairs of runs: one round.

    Binary search finds, for every element of a left run, the elements of the run to its right that
    precede it; elements of the right run fill the remaining positions.

    `order` has the indices of the elements, a row for each slice, sorted in runs of `width`.
    """
    slices, size = order.shape
    place = np.arange(size)
    run = place - place % (2 * width)
    left = np.flatnonzero((place - run < width) & (run + width < size))
    start = np.broadcast_to(run[left] + width, (slices, len(left)))
    end = np.minimum(start + width, size)
    low, high = start.copy(), end.copy()
    row = np.arange(slices)[:, None]
    mine = order[:, left]
    for _ in range(width.bit_length()):
        searching = low < high
        middle = (low + high) // 2
        theirs = order[row, np.minimum(middle, size - 1)]
        before = _comes_before(theirs, mine, flat, comparator) & searching
        low = np.where(before, middle + 1, low)
        high = np.where(before | ~searching, high, middle)
    # Without a strict weak ordering the counts may decrease within a run; each position must be
    # assigned once.
    behind = (low - start).reshape(slices, -1)
    behind = _running_maxima(behind, run[left])
    to = left + behind
    free = np.ones((slices, size), np.bool_)
    free[row, to] = False
    merged = np.empty_like(order)
    merged[row, to] = mine
    others = np.ones(size, np.bool_)
    others[left] = False
    merged[free] = order[:, others].reshape(-1)
    return merged


def _running_maxima(counts: Array, runs: Array) -> Array:
    """Return running maxima of the counts within each run."""
    offset = runs * (counts.max(initial=0) + 1)  # each run is offset further to the right
    return np.maximum.accumulate(counts + offset, axis=-1) - offset


def _comes_before(left: Array, right: Array, flat: tuple[Array, ...], comparator: Body) -> Array:
    """Return the comparator's results for pairs of elements, given by index."""
    pairs = ((array[left], array[right]) for array in flat)
    (answers,) = comparator.lanes(*(side for pair in pairs for side in pair))
    return answers


OPS: tuple[Op, ...] = (
    Op(
        name="sort", dialect=Dialect.STABLEHLO, specified=True, type_function=sort_type,
        evaluate=sort,
        operands=("*inputs",), attributes=("dimension", "is_stable"),
        optional=("dimension", "is_stable"), regions=("comparator",),
        constraints=("C1", "C2", "C3", "C4", "C5"), inputs=("I1",), element_types=ALL,
        principal=FIRST_OPERAND, quantized=QuantizedUse.MOVES, rounding=Rounding.MOVES,
        structure=Structure.COMPUTES, lifts=False, needs_result=False, several=True, carries=EACH,
    ),
)  # fmt: skip
"""The ops of this family."""

"""Sorting by a comparator.

A comparator that is seen to compare by keys (reference/ops/sorts/comparators.py) is not called: the
keys' codes are sorted. Any other one is called for whole arrays of pairs, by a merge sort of all
slices at once. Both are stable, whether that is asked for or not.
"""

from __future__ import annotations

import numpy as np

from reference.ir.constraints import require
from reference.ir.notation import Quantized, admitted, same_shape
from reference.ir.op import EACH, FIRST_OPERAND, Dialect, Op, QuantizedUse, Rounding, Structure
from reference.ir.program import Region, TensorType
from reference.ir.regions import Body, argument_types, output_types
from reference.ir.types import ALL, BOOLEAN, Array, Kind
from reference.ops.sorts.comparators import Codes, codes_of, order_of

PER_TENSOR = admitted(*Kind, quantized=Quantized.PER_TENSOR)
_WORD = 64


def sort_type(
    inputs: tuple[TensorType, ...],
    *,
    comparator: Region,
    dimension: int = -1,
    is_stable: bool = False,  # noqa: ARG001 - says nothing about types
    results: tuple[TensorType, ...] | None = None,
) -> tuple[TensorType, ...]:
    """Result types of `sort`: those of the inputs.

    Raises:
        ConstraintViolation: I1 (per-axis quantized), C1 (nothing to sort), C2, C3 (types and
            shapes differ), C4 (no such dimension), C5 (the comparator's type).
    """
    if not require("C1", bool(inputs), "no inputs"):  # C1
        return ()
    require("I1", all(of in PER_TENSOR for of in inputs), inputs)  # I1
    rank = inputs[0].rank
    require("C3", same_shape(*inputs), inputs)  # C3
    require("C4", -rank <= dimension < rank, f"{dimension} of rank {rank}")  # C4
    takes = argument_types(comparator)
    asked = tuple(TensorType((), of.element_type) for of in inputs for _ in range(2))
    answers = output_types(comparator) == (TensorType((), BOOLEAN[0]),)
    require("C5", takes == asked and answers, takes)  # C5
    if results is not None:
        alike = len(results) == len(inputs) and all(map(_same_type, results, inputs))
        require("C2", alike, results)  # C2
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
    """The slices of all inputs along `dimension`, sorted together.

    Args:
        inputs: arrays of one shape, of any element types.
        comparator: takes an element of each input for lhs and rhs, in turns (lhs0, rhs0, lhs1,
            ...); whether lhs comes before rhs. Unless it is a strict weak ordering, the result is
            a permutation, but which one nobody can tell.
        dimension: of what to sort; negative ones count from the last.
        is_stable: whether the order of equal elements is kept. Here it always is.

    Returns:
        New arrays, one for each input.
    """
    rows = tuple(np.moveaxis(array, dimension, -1) for array in inputs)
    order = permutation(rows, comparator)
    placed = (np.take_along_axis(array, order, axis=-1) for array in rows)
    return tuple(
        np.ascontiguousarray(np.moveaxis(array, -1, dimension)).reshape(array_in.shape)
        for array, array_in in zip(placed, inputs, strict=True)
    )


def permutation(rows: tuple[Array, ...], comparator: Body) -> Array:
    """Which elements of the slices along the last dimension come first, second, ...: int64."""
    shape = rows[0].shape
    if rows[0].size < 2 or shape[-1] < 2:
        return np.broadcast_to(np.arange(shape[-1]), shape)
    codes = keys_of(rows, comparator)
    return by_comparator(rows, comparator) if codes is None else by_codes(codes, shape)


def keys_of(rows: tuple[Array, ...], comparator: Body) -> list[Codes] | None:
    """Codes of the elements, by which they are ordered, the first code first; None where the
    comparator is not seen to compare by keys, or has no order for some of these elements."""
    order = order_of(comparator.region)
    if order is None:
        return None
    found: list[Codes] = []
    values = comparator.another(order.region).lanes(*rows)
    for array, key in zip(values, order.keys, strict=True):
        codes = codes_of(array, key)
        if codes is None:
            return None
        found += codes
    return found


def by_codes(codes: list[Codes], shape: tuple[int, ...]) -> Array:
    """Stable order by codes. If all of them fit into one word together with the position, words
    are sorted, which is several times faster than sorting positions."""
    if not codes:
        return np.broadcast_to(np.arange(shape[-1]), shape)
    index_bits = max(1, (shape[-1] - 1).bit_length())
    if sum(one.bits for one in codes) + index_bits > _WORD:
        if len(codes) == 1:
            return np.argsort(codes[0].codes, axis=-1, kind="stable")
        return np.lexsort([one.codes for one in reversed(codes)], axis=-1)
    words = np.zeros(shape, np.uint64)
    for one in codes:
        words = (words << np.uint64(one.bits)) | one.codes
    words = (words << np.uint64(index_bits)) | np.arange(shape[-1], dtype=np.uint64)
    words.sort(axis=-1)
    return (words & np.uint64((1 << index_bits) - 1)).astype(np.int64)


def by_comparator(rows: tuple[Array, ...], comparator: Body) -> Array:
    """Stable order by calls of the comparator: runs of 1, 2, 4, ... elements are merged, those of
    all slices at once."""
    size = rows[0].shape[-1]
    flat = tuple(array.reshape(-1) for array in rows)
    order = np.arange(rows[0].size).reshape(-1, size)
    width = 1
    while width < size:
        order = _merged(order, width, flat, comparator)
        width *= 2
    return (order % size).reshape(rows[0].shape)


def _merged(order: Array, width: int, flat: tuple[Array, ...], comparator: Body) -> Array:
    """One round: every element of a left run goes behind those of the run to its right that come
    before it, which binary search finds; those of the right run fill what is free.

    `order` has the numbers of the elements, a row for each slice, sorted in runs of `width`.
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
    # Without a strict weak ordering the counts may decrease within a run: no place is given twice.
    behind = (low - start).reshape(slices, -1)
    behind = _never_decreasing(behind, run[left])
    to = left + behind
    free = np.ones((slices, size), np.bool_)
    free[row, to] = False
    merged = np.empty_like(order)
    merged[row, to] = mine
    others = np.ones(size, np.bool_)
    others[left] = False
    merged[free] = order[:, others].reshape(-1)
    return merged


def _never_decreasing(counts: Array, runs: Array) -> Array:
    """Running maxima of the counts within each run."""
    offset = runs * (counts.max(initial=0) + 1)  # runs start further to the right each
    return np.maximum.accumulate(counts + offset, axis=-1) - offset


def _comes_before(left: Array, right: Array, flat: tuple[Array, ...], comparator: Body) -> Array:
    """The comparator's answers for pairs of elements, given by number."""
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

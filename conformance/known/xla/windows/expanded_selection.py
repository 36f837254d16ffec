"""A select_and_scatter as the selections and the scatter that XLA expands it to.

Each window is folded element after element, in some order of the dimensions, and the scatter
applies the elements of the source one after another to an array of initial values. The
specification folds both as trees, which shows where a selection is not transitive, as with NaN, and
where a body is not associative.

Source: XLA's select_and_scatter_expander.cc; the optimised modules of jaxlib 0.10.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations, product
from math import prod
from typing import Any

import numpy as np

from conformance.known.writing import OperationWriter
from reference.ir.program import Operation, Region, TensorType, Value, tensor_of
from reference.ir.types import BOOLEAN, ELEMENT_TYPES
from reference.ops.folds.windows import leaves_of_windows

_INDEX = ELEMENT_TYPES["si64"]
_NOWHERE = -1
"""The index of padding."""

_MOST_ELEMENTS = 256
"""Largest number of elements in a window that is expanded."""
_MOST_DIMENSIONS = 4
"""Largest number of dimensions whose orders are all tried: 24 orders."""

Order = tuple[int, ...]
"""The dimensions of a window from the outermost loop to the innermost."""


def orders_of(operation: Operation) -> Iterator[Order]:
    """Yield the orders in which the elements of a window may be visited, lexicographic first.

    Yields nothing if the windows are too large to be expanded.
    """
    window: tuple[int, ...] = dict[str, Any](operation.attributes)["window_dimensions"]
    if prod(window) > _MOST_ELEMENTS:
        return
    moved = [d for d, n in enumerate(window) if n > 1]
    rest = tuple(d for d in range(len(window)) if d not in moved)
    if len(moved) > _MOST_DIMENSIONS:
        yield (*rest, *moved)
        return
    for order in permutations(moved):
        yield (*rest, *order)


def as_scatter(operation: Operation, order: Order) -> list[Operation]:
    """Return operations in place of a select_and_scatter, a scatter and a reshape at the end."""
    operand, source, init = operation.operands
    shape, sizes = tensor_of(operand).static_shape, tensor_of(source).static_shape
    of, count = tensor_of(operand).element, prod(shape)
    (result,) = operation.results
    writer = OperationWriter(result.name)
    targets = _targets(operation, order, writer)
    flat = writer.add("broadcast_in_dim", (init,), of, (count,), broadcast_dimensions=())
    sums = writer.add(
        "scatter", (flat, targets, source), of, (count,), regions=operation.regions[1:],
        index_vector_dim=len(sizes), input_batching_dims=(), inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,), scatter_indices_batching_dims=(), update_window_dims=(),
    )  # fmt: skip
    made = replace(result, type=TensorType(shape, of))
    return [*writer.operations, Operation("reshape", (sums,), (made,))]


def _targets(operation: Operation, order: Order, writer: OperationWriter) -> Value:
    """Return the flat index of the element that each window selects, `_NOWHERE` for none."""
    operand, source, _ = operation.operands
    shape, of = tensor_of(operand).static_shape, tensor_of(operand).element
    sizes = tensor_of(source).static_shape
    windows = leaves_of_windows(shape, **dict[str, Any](operation.attributes))
    numbers = writer.add("iota", (), _INDEX, (prod(shape),), iota_dimension=0)
    index = writer.add("reshape", (numbers,), _INDEX, shape)
    none, any_number = (
        writer.constant(np.array(number), to) for number, to in ((_NOWHERE, _INDEX), (1, of))
    )
    nowhere = writer.add("broadcast_in_dim", (none,), _INDEX, sizes, broadcast_dimensions=())
    padded = [
        _pad(writer, value, beside, windows.padding)
        for value, beside in ((operand, any_number), (index, none))
    ]
    chosen: tuple[Value, Value] | None = None
    for at in product(*(range(windows.window_dimensions[d]) for d in order)):
        offset = tuple(at[order.index(d)] for d in range(len(order)))
        element, place = (
            _slice(writer, value, offset, sizes, windows.window_strides) for value in padded
        )
        if chosen is None:
            chosen = element, place
        else:
            kept = _is_kept(writer, operation.regions[0], chosen, (element, place), nowhere)
            chosen = (
                writer.add("select", (kept, chosen[0], element), of),
                writer.add("select", (kept, chosen[1], place), _INDEX),
            )
    assert chosen is not None  # no window is empty
    return chosen[1]


def _is_kept(
    writer: OperationWriter,
    select: Region,
    chosen: tuple[Value, Value],
    other: tuple[Value, Value],
    nowhere: Value,
) -> Value:
    """Return where the chosen elements are kept: those that are selected, and not padding, and all
    beside padding.

    Elements are pairs of values and places.
    """
    dimensions, flag = tuple(range(tensor_of(nowhere).rank)), BOOLEAN[0]
    first = writer.add("map", (chosen[0], other[0]), flag, regions=(select,), dimensions=dimensions)
    is_real, is_alone = (
        writer.add("compare", (place, nowhere), flag, comparison_direction=direction)
        for place, direction in ((chosen[1], "NE"), (other[1], "EQ"))
    )
    both = writer.add("and", (first, is_real), flag)
    return writer.add("or", (both, is_alone), flag)


def _pad(
    writer: OperationWriter, value: Value, beside: Value, padding: Sequence[tuple[int, int]]
) -> Value:
    """Return an array with padding, which may be negative."""
    shape = tensor_of(value).static_shape
    sizes = tuple(n + low + high for n, (low, high) in zip(shape, padding, strict=True))
    return writer.add(
        "pad", (value, beside), tensor_of(value).element, sizes,
        edge_padding_low=tuple(low for low, _ in padding),
        edge_padding_high=tuple(high for _, high in padding),
        interior_padding=(0,) * len(shape),
    )  # fmt: skip


def _slice(
    writer: OperationWriter, value: Value, offset: Sequence[int], sizes: Sequence[int],
    strides: Sequence[int],
) -> Value:  # fmt: skip
    """Return the elements at an offset within all windows."""
    ends = (
        at + max(n - 1, 0) * step + (n > 0)
        for at, n, step in zip(offset, sizes, strides, strict=True)
    )
    return writer.add(
        "slice", (value,), tensor_of(value).element, sizes,
        start_indices=tuple(offset), limit_indices=tuple(ends), strides=tuple(strides),
    )  # fmt: skip

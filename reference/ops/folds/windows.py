"""Windows from attributes, and the element that select_and_scatter selects in each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from reference.ir.program import Dense
from reference.ir.regions import Body
from reference.ir.types import Array
from reference.numerics.contributions import Segments, Windows

Tree = Callable[[Callable[..., Any], tuple[Array, ...]], tuple[Array, ...]]
"""A function tree(lanes, leaves): the leaves, [number of leaves, results], folded without an init
value.
"""

NOWHERE = -1
"""The index that stands for no element of the operand."""


def leaves_of_windows(
    shape: tuple[int, ...],
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    base_dilations: Sequence[int] | None = None,
    window_dilations: Sequence[int] | None = None,
    padding: Dense | None = None,
) -> Windows:
    """Return the windows of an input of this shape; omitted attributes are 1, omitted padding 0."""
    ones = (1,) * len(shape)
    return Windows(
        shape,
        tuple(window_dimensions),
        tuple(window_strides or ones),
        tuple(base_dilations or ones),
        tuple(window_dilations or ones),
        pairs_of(padding, len(shape)),
    )


def pairs_of(padding: Dense | None, rank: int) -> tuple[tuple[int, int], ...]:
    """Return low and high padding of each dimension."""
    if padding is None:
        return ((0, 0),) * rank
    pairs: list[list[int]] = padding.array.reshape(rank, 2).tolist()
    return tuple((low, high) for low, high in pairs)


def selected_index(operand: Array, select: Body, windows: Windows, tree: Tree) -> Array:
    """Return the flat index of the element that `select` selects in each window, by `tree`.

    Padding does not take part: the specification folds windows without init values. A window that
    is all padding selects `NOWHERE` (unspecified, stablehlo#731).
    """

    def choose_index(left: Array, left_index: Array, right: Array, right_index: Array) -> Any:
        (first,) = select.lanes(left, right)
        first = np.where(right_index == NOWHERE, True, first & (left_index != NOWHERE))
        return np.where(first, left, right), np.where(first, left_index, right_index)

    result = np.full(prod(windows.shape), NOWHERE)
    index = np.arange(operand.size).reshape(operand.shape)
    paddings = (np.zeros((), operand.dtype), np.asarray(NOWHERE))
    for where, rows in windows.groups((operand, index), paddings):
        result[where] = tree(choose_index, rows)[1]
    return result.reshape(windows.shape)


def leaves_of_scatter(operand: Array, select: Body, windows: Windows, tree: Tree) -> Segments:
    """Return the position in the operand to which each element of the source is scattered."""
    return Segments(operand.shape, selected_index(operand, select, windows, tree).reshape(-1))

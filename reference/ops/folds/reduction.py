"""Folding with a body: reduce, reduce_window, select_and_scatter, and map."""

from __future__ import annotations

import numpy as np

from reference.ir.op import OpSemantics
from reference.ir.program import Dense
from reference.ir.regions import Body
from reference.ir.types import Array
from reference.numerics.contributions import Slices
from reference.ops.folds import folding
from reference.ops.folds import reduction_types as types
from reference.ops.folds.windows import leaves_of_scatter, leaves_of_windows


def reduce(
    inputs: tuple[Array, ...],
    init_values: tuple[Array, ...],
    *,
    dimensions: tuple[int, ...],
    body: Body,
) -> tuple[Array, ...]:
    """The elements along `dimensions` folded by the body, with one init value before them all."""
    leaves = Slices(inputs[0].shape, tuple(dimensions))
    return folding.fold(body, inputs, init_values, leaves)


def reduce_window(
    inputs: tuple[Array, ...],
    init_values: tuple[Array, ...],
    *,
    body: Body,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...] | None = None,
    base_dilations: tuple[int, ...] | None = None,
    window_dilations: tuple[int, ...] | None = None,
    padding: Dense | None = None,
) -> tuple[Array, ...]:
    """The elements in each window folded by the body; padding is made of init values.

    One more init value comes before each window's elements.
    """
    leaves = leaves_of_windows(
        inputs[0].shape,
        window_dimensions=window_dimensions,
        window_strides=window_strides,
        base_dilations=base_dilations,
        window_dilations=window_dilations,
        padding=padding,
    )
    return folding.fold(body, inputs, init_values, leaves)


def select_and_scatter(
    operand: Array,
    source: Array,
    init_value: Array,
    *,
    select: Body,
    scatter: Body,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...] | None = None,
    padding: Dense | None = None,
) -> Array:
    """Source elements folded by `scatter` into the place that `select` chose from their window.

    Each place starts with one init value; what comes from a window of padding alone is dropped.
    """
    windows = leaves_of_windows(
        operand.shape,
        window_dimensions=window_dimensions,
        window_strides=window_strides,
        padding=padding,
    )
    leaves = leaves_of_scatter(operand, select, windows, folding.tree)
    return folding.fold(scatter, (source,), (init_value,), leaves)[0]


def map_(
    inputs: tuple[Array, ...],
    *,
    dimensions: tuple[int, ...],  # noqa: ARG001 - all of them (C3)
    computation: Body,
) -> Array:
    """The computation applied to the inputs element by element."""
    shape = inputs[0].shape
    (result,) = computation.lanes(*(x.reshape(-1) for x in inputs))
    return np.asarray(result).reshape(shape)


_WINDOWS = ("window_strides", "base_dilations", "window_dilations", "padding")
_REDUCE_WINDOW_IDS = tuple(f"C{number}" for number in range(1, 17))
_SELECT_IDS = tuple(f"C{number}" for number in range(1, 13))

ROWS: tuple[OpSemantics, ...] = (
    OpSemantics(
        "map", types.map_type, map_, ("*inputs",), ("dimensions",), False,
        ("C1", "C2", "C3", "C4"), ("I1",), regions=("computation",),
    ),
    OpSemantics(
        "reduce", types.reduce_type, reduce, ("*inputs", "*init_values"), ("dimensions",), False,
        ("C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8"), ("I1", "I2"), regions=("body",),
        several=True,
    ),
    OpSemantics(
        "reduce_window", types.reduce_window_type, reduce_window, ("*inputs", "*init_values"),
        ("window_dimensions", *_WINDOWS), False, _REDUCE_WINDOW_IDS, ("I1", "I2"),
        optional=_WINDOWS, regions=("body",), several=True,
    ),
    OpSemantics(
        "select_and_scatter", types.select_and_scatter_type, select_and_scatter,
        ("operand", "source", "init_value"), ("window_dimensions", "window_strides", "padding"),
        False, _SELECT_IDS, ("I1", "I2", "I3"), optional=("window_strides", "padding"),
        regions=("select", "scatter"),
    ),
)  # fmt: skip
"""The ops of this family."""

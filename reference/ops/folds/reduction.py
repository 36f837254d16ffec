"""Folds with a body: reduce, reduce_window, select_and_scatter, and map."""

from __future__ import annotations

from functools import partial

import numpy as np

from reference.ir.op import (
    FIRST_OPERAND,
    Dialect,
    Op,
    QuantizedUse,
    Rounding,
    Structure,
    ValuePosition,
)
from reference.ir.program import Dense
from reference.ir.regions import Body
from reference.ir.types import ALL, Array
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
    """Fold the elements along `dimensions` by the body, starting with one init value."""
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
    """Fold the elements in each window by the body, starting with one init value.

    Padding consists of init values.
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
    """Fold source elements by `scatter` at the position that `select` chose in their window.

    Each position starts with one init value; the source of a window of padding only is dropped.
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
    """Apply the computation to the inputs element by element."""
    shape = inputs[0].shape
    (result,) = computation.lanes(*(x.reshape(-1) for x in inputs))
    return np.asarray(result).reshape(shape)


_WINDOWS = ("window_strides", "base_dilations", "window_dilations", "padding")
_REDUCE_WINDOW_IDS = tuple(f"C{number}" for number in range(1, 17))
_SELECT_IDS = tuple(f"C{number}" for number in range(1, 13))

_op = partial(
    Op, dialect=Dialect.STABLEHLO, specified=True, element_types=ALL, principal=FIRST_OPERAND,
    quantized=QuantizedUse.MOVES, rounding=Rounding.ACCUMULATES, structure=Structure.COMPUTES,
    lifts=False, needs_result=False,
)  # fmt: skip

OPS: tuple[Op, ...] = (
    _op(
        name="map", type_function=types.map_type, evaluate=map_, operands=("*inputs",),
        attributes=("dimensions",), regions=("computation",), constraints=("C1", "C2", "C3", "C4"),
        inputs=("I1",), principal=ValuePosition(of_results=False, number=-1),
    ),
    _op(
        name="reduce", type_function=types.reduce_type, evaluate=reduce,
        operands=("*inputs", "*init_values"), attributes=("dimensions",), regions=("body",),
        constraints=("C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8"), inputs=("I1", "I2"),
        body_types=(True, True), several=True,
    ),
    _op(
        name="reduce_window", type_function=types.reduce_window_type, evaluate=reduce_window,
        operands=("*inputs", "*init_values"), attributes=("window_dimensions", *_WINDOWS),
        optional=_WINDOWS, regions=("body",), constraints=_REDUCE_WINDOW_IDS, inputs=("I1", "I2"),
        body_types=(True, True), several=True,
    ),
    _op(
        name="select_and_scatter", type_function=types.select_and_scatter_type,
        evaluate=select_and_scatter, operands=("operand", "source", "init_value"),
        attributes=("window_dimensions", "window_strides", "padding"),
        optional=("window_strides", "padding"), regions=("select", "scatter"),
        constraints=_SELECT_IDS, inputs=("I1", "I2", "I3"), body_types=(False, True, True),
        expensive=True,
    ),
)  # fmt: skip
"""The ops of this family."""

FOLDS = frozenset(record.name for record in OPS if record.body_types)
"""The ops that fold elements and init values with a body, which `map` does not."""

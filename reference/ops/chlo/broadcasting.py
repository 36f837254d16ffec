"""CHLO's elementwise ops of several shapes, which are broadcast as in numpy or by dimensions.

Source: StableHLO, stablehlo/dialect/ChloOps.td. They are ops of the same names without the prefix,
after their operands were broadcast. The constraints are P1 to P3 of XlaBuilder's binary ops.
"""

from __future__ import annotations

from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np

from reference.ir.constraints import require
from reference.ir.notation import join_with_commas
from reference.ir.op import Dialect, Op
from reference.ir.program import TensorType, Value, tensor_of
from reference.ir.types import Array
from reference.ops.xla.building import LOWER, Building, lowered_op
from reference.ops.xla.elementwise import (
    Dimensions,
    broadcast_operand,
    check_compatible,
    lower_binary,
)

PREFIX = "chlo.broadcast_"

_BINARY = (
    "add", "and", "atan2", "compare", "complex", "divide", "maximum", "minimum", "multiply", "or",
    "power", "remainder", "shift_left", "shift_right_arithmetic", "shift_right_logical", "subtract",
    "xor",
)  # fmt: skip
"""Ops of StableHLO with a broadcasting form."""

_FUNCTIONS = ("next_after", "polygamma", "zeta")
"""Ops of CHLO with a broadcasting form."""


def _dimensions(low: int, high: int, given: Dimensions | None) -> Dimensions | None:
    """Return the dimensions of the operand of lower rank: by default the last ones."""
    return tuple(range(high - low, high)) if given is None and low < high else given


def _check_binary(
    lhs: TensorType, rhs: TensorType, *, broadcast_dimensions: Dimensions | None = None, **_: Any
) -> None:
    """Require P1 to P3: see `reference.ops.xla.elementwise.check_compatible`."""
    low, high = sorted((lhs.rank, rhs.rank))
    places = _dimensions(low, high, broadcast_dimensions)
    check_compatible(lhs, rhs, broadcast_dimensions=places)


def _lower_binary(
    twin: str, building: Building, lhs: Value, rhs: Value, *,
    broadcast_dimensions: Dimensions | None = None, **given: Any,
) -> Value:  # fmt: skip
    low, high = sorted((tensor_of(lhs).rank, tensor_of(rhs).rank))
    places = _dimensions(low, high, broadcast_dimensions)
    return lower_binary(twin, building, lhs, rhs, broadcast_dimensions=places, **given)


def _evaluate_binary(
    twin: str, lhs: Array, rhs: Array, *, broadcast_dimensions: Dimensions | None = None,
    **given: Any,
) -> Array:  # fmt: skip
    low, high = sorted((lhs.ndim, rhs.ndim))
    places = _dimensions(low, high, broadcast_dimensions) or tuple(range(low))

    def place(operand: Array) -> Array:
        if operand.ndim == high:
            return operand
        sizes = [1] * high
        for dimension, size in zip(places, operand.shape, strict=True):
            sizes[dimension] = size
        return operand.reshape(sizes)

    return LOWER[twin].evaluate(*np.broadcast_arrays(place(lhs), place(rhs)), **given)


def _select_shape(*operands: TensorType) -> Dimensions | None:
    """Return the shape to which operands are broadcast as in numpy, or None if they cannot be."""
    columns = list(zip_longest(*(of.static_shape[::-1] for of in operands), fillvalue=1))
    sizes = [next((size for size in column if size != 1), 1) for column in columns]
    fits = all(
        size in (1, most) for column, most in zip(columns, sizes, strict=True) for size in column
    )
    return tuple(sizes[::-1]) if fits else None


def _check_select(pred: TensorType, on_true: TensorType, on_false: TensorType, **_: Any) -> None:
    """Require P1 to P3: a boolean predicate, values of one element type, compatible shapes."""
    require("P1", pred.element.is_boolean, pred)
    require("P2", on_true.element_type == on_false.element_type, f"{on_true} and {on_false}")
    shape = _select_shape(pred, on_true, on_false)
    require("P3", shape is not None, join_with_commas(pred, on_true, on_false))


def _lower_select(building: Building, *operands: Value) -> Value:
    shape = _select_shape(*map(tensor_of, operands))
    if shape is None:  # a near miss is written unchanged
        return building.op("select", *operands)
    whole = range(len(shape))
    made = (
        broadcast_operand(
            building, operand, tuple(whole[len(shape) - tensor_of(operand).rank :]), shape
        )
        for operand in operands
    )
    return building.op("select", *made)


def _evaluate_select(pred: Array, on_true: Array, on_false: Array) -> Array:
    return LOWER["select"].evaluate(*np.broadcast_arrays(pred, on_true, on_false))


_op = partial(lowered_op, dialect=Dialect.CHLO, lifts=False, constraints=("P1", "P2", "P3"))


def _binary(name: str, twin: str) -> Op:
    of = LOWER[twin]
    return _op(
        PREFIX + name, twin, partial(_lower_binary, twin), operands=("lhs", "rhs"),
        attributes=("broadcast_dimensions", *of.attributes),
        optional=("broadcast_dimensions", *of.optional), conditions=_check_binary,
        evaluate=partial(_evaluate_binary, twin),
    )  # fmt: skip


OPS: tuple[Op, ...] = (
    *(_binary(name, name) for name in _BINARY),
    *(_binary(name, f"chlo.{name}") for name in _FUNCTIONS),
    _op(
        PREFIX + "select", "select", _lower_select, operands=("pred", "on_true", "on_false"),
        conditions=_check_select, evaluate=_evaluate_select,
    ),
)  # fmt: skip
"""The ops of this family."""

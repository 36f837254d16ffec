"""Data movement regardless of values: slices, pads, broadcasts, reshapes, transposes.

Source: StableHLO specification, the chapters of the ops; `broadcast` is no longer specified and
means Broadcast of XLA's operation semantics. Elements of results equal elements of operands bit for
bit, so the functions here also serve the integers of quantized tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from reference.ir.op import EACH, FIRST_OPERAND, Dialect, Op, QuantizedUse, Rounding, Structure
from reference.ir.program import TensorType
from reference.ir.types import ALL, Array
from reference.ops import data_movement_types as types
from reference.ops import lanes_of_moves as lanes


def broadcast_to(operand: Array, shape: Sequence[int], dimensions: Sequence[int]) -> Array:
    """Return the operand repeated to a shape; its dimension d is `dimensions[d]` of the result."""
    sizes = [1] * len(shape)
    for size, dimension in zip(operand.shape, dimensions, strict=True):
        sizes[dimension] = size
    order = sorted(range(operand.ndim), key=dimensions.__getitem__)
    return np.broadcast_to(operand.transpose(order).reshape(sizes), shape).copy()


def broadcast_in_dim(
    operand: Array, *, broadcast_dimensions: tuple[int, ...], result: TensorType
) -> Array:
    """Return the operand with dimensions of size 1 repeated and new dimensions added."""
    return broadcast_to(operand, result.static_shape, broadcast_dimensions)


def broadcast(operand: Array, *, broadcast_sizes: tuple[int, ...]) -> Array:
    """Return the operand repeated along new leading dimensions."""
    return np.broadcast_to(operand, (*broadcast_sizes, *operand.shape)).copy()


def concatenate(inputs: tuple[Array, ...], *, dimension: int) -> Array:
    """Return the inputs concatenated along a dimension."""
    return np.concatenate(inputs, axis=dimension)


def _window(
    shape: tuple[int, ...], start_indices: Sequence[Array], sizes: Sequence[int]
) -> tuple[slice, ...]:
    """Return the slices of a window at indices clamped so that the window fits."""
    found: list[slice] = []
    for index, size, of in zip(start_indices, sizes, shape, strict=True):
        start = min(max(index.item(), 0), of - size)
        found.append(slice(start, start + size))
    return tuple(found)


def dynamic_slice(
    operand: Array, start_indices: tuple[Array, ...], *, slice_sizes: tuple[int, ...]
) -> Array:
    """Return the slice of these sizes at the start indices, clamped so that it fits."""
    return operand[..., *_window(operand.shape, start_indices, slice_sizes)].copy()


def dynamic_update_slice(operand: Array, update: Array, start_indices: tuple[Array, ...]) -> Array:
    """Return the operand with `update` written at the clamped start indices."""
    updated = operand.copy()
    updated[..., *_window(operand.shape, start_indices, update.shape)] = update
    return updated


def pad(
    operand: Array,
    padding_value: Array,
    *,
    edge_padding_low: tuple[int, ...],
    edge_padding_high: tuple[int, ...],
    interior_padding: tuple[int, ...],
) -> Array:
    """Return the operand with the padding value around and between elements; negative amounts
    crop."""
    paddings = (edge_padding_low, edge_padding_high, interior_padding)
    shape = tuple(size or 0 for size in types.padded_shape(operand.shape, *paddings))
    padded = np.empty(shape, operand.dtype)
    padded[...] = padding_value
    source: list[slice] = []
    target: list[slice] = []
    for size, count, low, between in zip(
        shape, operand.shape, edge_padding_low, interior_padding, strict=True
    ):
        step = between + 1
        first = max(0, -(low // step))  # the first element that a negative low keeps
        last = min(count - 1, (size - 1 - low) // step)
        if first > last:
            return padded
        source.append(slice(first, last + 1))
        target.append(slice(low + first * step, low + last * step + 1, step))
    padded[..., *target] = operand[..., *source]
    return padded


def reshape(operand: Array, *, result: TensorType) -> Array:
    """Return the operand's elements, in row-major order, in another shape."""
    return operand.reshape(result.static_shape)


def reverse(operand: Array, *, dimensions: tuple[int, ...]) -> Array:
    """Return the operand with the order of elements reversed along these dimensions."""
    steps = [slice(None, None, -1 if d in dimensions else None) for d in range(operand.ndim)]
    return operand[..., *steps].copy()


def slice_(
    operand: Array,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...],
) -> Array:
    """Return every `strides`-th element from the start indices up to the limits (exclusive)."""
    return operand[..., *map(slice, start_indices, limit_indices, strides)].copy()


def transpose(operand: Array, *, permutation: tuple[int, ...]) -> Array:
    """Return the operand with its dimensions permuted."""
    return operand.transpose(permutation).copy()


_op = partial(
    Op, dialect=Dialect.STABLEHLO, specified=True, element_types=ALL, principal=FIRST_OPERAND,
    quantized=QuantizedUse.MOVES, rounding=Rounding.MOVES, structure=Structure.COMPUTES,
    lifts=False,
)  # fmt: skip

OPS: tuple[Op, ...] = (
    _op(
        name="broadcast", specified=False, type_function=types.broadcast_type,
        evaluate=broadcast, operands=("operand",), attributes=("broadcast_sizes",), constraints=(),
        needs_result=False, carries=(0,),
    ),
    _op(
        name="broadcast_in_dim", type_function=types.broadcast_in_dim_type,
        evaluate=broadcast_in_dim, operands=("operand",), attributes=("broadcast_dimensions",),
        constraints=("C1", "C2", "C3", "C4", "C5", "C6"), needs_result=True, carries=(0,),
        in_lanes=lanes.broadcast_in_dim,
    ),
    _op(
        name="concatenate", type_function=types.concatenate_type, evaluate=concatenate,
        operands=("*inputs",), attributes=("dimension",),
        constraints=("C1", "C2", "C3", "C4", "C5", "C6"), inputs=("I1",), needs_result=False,
        carries=EACH, in_lanes=lanes.concatenate,
    ),
    _op(
        name="dynamic_slice", type_function=types.dynamic_slice_type, evaluate=dynamic_slice,
        operands=("operand", "*start_indices"), attributes=("slice_sizes",),
        constraints=("C1", "C2", "C3", "C4", "C5"), inputs=("I1", "I2"), needs_result=False,
        carries=(0,), in_lanes=lanes.dynamic_slice,
    ),
    _op(
        name="dynamic_update_slice", type_function=types.dynamic_update_slice_type,
        evaluate=dynamic_update_slice, operands=("operand", "update", "*start_indices"),
        attributes=(), constraints=("C1", "C2", "C3", "C4", "C5", "C6"), inputs=("I1", "I2", "I3"),
        needs_result=False, carries=(0, 1), write_lanes=lanes.write_slices,
    ),
    _op(
        name="pad", type_function=types.pad_type, evaluate=pad,
        operands=("operand", "padding_value"),
        attributes=("edge_padding_low", "edge_padding_high", "interior_padding"),
        constraints=("C1", "C2", "C3", "C4"), inputs=("I1", "I2"), needs_result=False,
        carries=(0, 1),
    ),
    _op(
        name="reshape", type_function=types.reshape_type, evaluate=reshape, operands=("operand",),
        attributes=(), constraints=("C1", "C2", "C3"), needs_result=True, carries=(0,),
        in_lanes=lanes.reshape,
    ),
    _op(
        name="reverse", type_function=types.reverse_type, evaluate=reverse, operands=("operand",),
        attributes=("dimensions",), constraints=("C1", "C2", "C3"), inputs=("I1",),
        needs_result=False, carries=(0,),
    ),
    _op(
        name="slice", type_function=types.slice_type, evaluate=slice_, operands=("operand",),
        attributes=("start_indices", "limit_indices", "strides"),
        constraints=("C1", "C2", "C3", "C4", "C5"), inputs=("I1",), needs_result=False,
        carries=(0,), in_lanes=lanes.slice_,
    ),
    _op(
        name="transpose", type_function=types.transpose_type, evaluate=transpose,
        operands=("operand",), attributes=("permutation",), constraints=("C1", "C2", "C3", "C4"),
        needs_result=False, carries=(0,), in_lanes=lanes.transpose,
    ),
)  # fmt: skip
"""The ops of this family."""

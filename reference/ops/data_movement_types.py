"""Result types of the ops that move data, with every constraint checked under its id.

Source: StableHLO specification, the chapters of the ops; `broadcast` is no longer specified and
means Broadcast of XLA's operation semantics. As in reference/ops/elementwise, `result` is the type
that a program states for the result, checked if it is given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from reference.ir.constraints import require
from reference.ir.notation import (
    are_dimensions,
    is_unique,
    join_with_commas,
    merged_shape,
    quantized_element,
    same_shape,
    sizes_agree,
    stated_types,
)
from reference.ir.program import QuantizedType, TensorType, ValueType
from reference.ir.types import ELEMENT_TYPES
from reference.ops.elementwise.types import ANY_PER_TENSOR, INTEGER

Sizes = tuple[int | None, ...]


# --- Shared by the type functions ----------------------------------------------------------------


def same_element_type(*given: ValueType | None) -> bool:
    """Return whether all stated types have the same `element_type`, including quantization."""
    return len({of.element_type for of in stated_types(*given) if isinstance(of, TensorType)}) <= 1


def same_type(*given: ValueType | None) -> bool:
    """Return whether all stated types are equal, including quantization."""
    return same_shape(*stated_types(*given)) and same_element_type(*given)


def per_axis_element(given: TensorType | None) -> QuantizedType | None:
    """Return the element type of a tensor quantized per axis, None for any other tensor."""
    of = None if given is None else quantized_element(given)
    return None if of is None or of.quantization_dimension is None else of


def is_same_but_axis(operand: TensorType, result: TensorType, *, steps: bool) -> bool:
    """Check constraint C1 of reshape, transpose and the broadcasts on two types.

    Types may only differ in the quantization dimension, if quantized per axis; with `steps`, also
    in scales and zero points.
    """
    one, other = per_axis_element(operand), per_axis_element(result)
    if one is None or other is None:
        return operand.element_type == result.element_type
    if steps:
        one, other = (replace(of, scales=(), zero_points=()) for of in (one, other))
    return replace(one, quantization_dimension=other.quantization_dimension) == other


def has_shape(given: TensorType | None, shape: Sizes) -> bool:
    """Return whether a type has that shape, or is not stated; unknown sizes agree with every
    size."""
    return given is None or same_shape(given, replace(given, shape=shape))


def _index_operands(id: str, given: Sequence[TensorType]) -> None:  # noqa: A002 - spec's word
    scalars = all(of in INTEGER and of.rank == 0 for of in given)
    require(id, scalars, join_with_commas(*given))


# --- Broadcasts ----------------------------------------------------------------------------------


def check_broadcast(
    operand: TensorType, broadcast_dimensions: tuple[int, ...], result: TensorType
) -> None:
    """Check constraints C1 to C6, common to broadcast_in_dim and dynamic_broadcast_in_dim."""
    dimensions = broadcast_dimensions
    kept = require(
        "C1", is_same_but_axis(operand, result, steps=True), join_with_commas(operand, result)
    )
    mapped = require("C2", len(dimensions) == operand.rank, join_with_commas(dimensions, operand))
    inside = require(
        "C3", are_dimensions(dimensions, result.rank), join_with_commas(dimensions, result)
    )
    require("C4", is_unique(dimensions), dimensions)
    if mapped and inside:
        pairs = zip(operand.shape, dimensions, strict=True)
        fits = all(size == 1 or sizes_agree(size, result.shape[d]) for size, d in pairs)
        require("C5", fits, join_with_commas(operand, result, dimensions))
        if kept and per_axis_element(result) is not None:
            _check_quantized_broadcast(operand, dimensions, result)


def _check_quantized_broadcast(
    operand: TensorType, dimensions: tuple[int, ...], result: TensorType
) -> None:
    """Check constraint C6 of both broadcasts, on tensors quantized per axis."""
    before, after = per_axis_element(operand), per_axis_element(result)
    assert before is not None
    assert after is not None
    axis, to = before.quantization_dimension or 0, after.quantization_dimension or 0
    if not axis < operand.rank or not to < result.rank:
        return  # invalid quantized types, for which the op is not responsible
    right = to == dimensions[axis]
    size = result.shape[to]
    if right and operand.shape[axis] == 1 and size is not None:
        right = after.scales[:size] == before.scales[:1] * size
        right = right and after.zero_points[:size] == before.zero_points[:1] * size
    require("C6", right, join_with_commas(operand, result))


def broadcast_in_dim_type(
    operand: TensorType, *, broadcast_dimensions: tuple[int, ...], result: TensorType
) -> TensorType:
    """Return the result type of `broadcast_in_dim`, which the program states.

    Raises:
        ConstraintViolation: C1 (element types), C2 (number of dimensions), C3 (no such dimension),
            C4 (a repeated dimension), C5 (sizes), C6 (quantized axis or its parameters).
    """
    check_broadcast(operand, broadcast_dimensions, result)
    return result


def broadcast_type(
    operand: TensorType, *, broadcast_sizes: tuple[int, ...], result: TensorType | None = None
) -> TensorType:
    """Return the result type of `broadcast`: new dimensions before the operand's.

    Raises:
        ConstraintViolation: "attributes" (a negative size), "result" (not of the implied type).
    """
    require("attributes", min(broadcast_sizes, default=0) >= 0, broadcast_sizes)
    inferred = TensorType((*broadcast_sizes, *operand.shape), operand.element_type)
    require("result", same_type(inferred, result), join_with_commas(inferred, result))
    return result or inferred


# --- Concatenation -------------------------------------------------------------------------------


def concatenate_type(
    inputs: tuple[TensorType, ...], *, dimension: int, result: TensorType | None = None
) -> TensorType:
    """Return the result type of `concatenate`.

    Raises:
        ConstraintViolation: I1 (quantized per axis), C1 (element types), C2 (shapes), C3 (no
            inputs), C4 (no such dimension), C5, C6 (element type and shape of the result).
    """
    if not require("C3", len(inputs) > 0):
        return result or TensorType((0,), ELEMENT_TYPES["f32"])
    first = inputs[0]
    require("I1", all(of in ANY_PER_TENSOR for of in inputs), join_with_commas(*inputs))
    require("C1", same_element_type(*inputs), join_with_commas(*inputs))
    inside = require("C4", 0 <= dimension < first.rank, join_with_commas(dimension, first))
    rest = [_remove_dimension(of, dimension) for of in inputs]
    alike = len({of.rank for of in inputs}) == 1 and same_shape(*rest)
    alike = require("C2", alike, join_with_commas(*inputs))
    if result is not None:
        require("C5", same_element_type(first, result), join_with_commas(first, result))
    if not (inside and alike):
        return result or first
    along = [of.shape[dimension] for of in inputs]
    known = [size for size in along if size is not None]
    shape = list(merged_shape(inputs))
    shape[dimension] = sum(known) if len(known) == len(along) else None
    require("C6", has_shape(result, tuple(shape)), join_with_commas(*inputs, result))
    return result or TensorType(tuple(shape), first.element_type)


def _remove_dimension(given: TensorType, dimension: int) -> TensorType:
    """Return the type without a dimension, or unchanged if it has no such dimension."""
    if not 0 <= dimension < given.rank:
        return given
    return replace(given, shape=given.shape[:dimension] + given.shape[dimension + 1 :])


# --- Slices at indices that are operands ---------------------------------------------------------


def dynamic_slice_type(
    operand: TensorType,
    start_indices: tuple[TensorType, ...],
    *,
    slice_sizes: tuple[int, ...],
    result: TensorType | None = None,
) -> TensorType:
    """Return the result type of `dynamic_slice`.

    Raises:
        ConstraintViolation: I1, I2 (indices that are no integer scalars), C1 (element types), C2
            (numbers of indices and sizes), C3 (types of indices), C4 (sizes), C5 (result's shape).
    """
    require("I1", operand in ANY_PER_TENSOR, operand)
    _index_operands("I2", start_indices)
    require("C1", same_element_type(operand, result), join_with_commas(operand, result))
    counts = (len(start_indices), len(slice_sizes), operand.rank)
    require("C2", len(set(counts)) == 1, join_with_commas(*counts))
    require("C3", len(set(start_indices)) <= 1, join_with_commas(*start_indices))
    pairs = zip(slice_sizes, operand.shape, strict=False)  # surplus sizes violate C2
    fits = all(size >= 0 and (of is None or size <= of) for size, of in pairs)
    require("C4", fits, join_with_commas(slice_sizes, operand))
    require("C5", has_shape(result, slice_sizes), join_with_commas(slice_sizes, result))
    return result or TensorType(slice_sizes, operand.element_type)


def dynamic_update_slice_type(
    operand: TensorType,
    update: TensorType,
    start_indices: tuple[TensorType, ...],
    *,
    result: TensorType | None = None,
) -> TensorType:
    """Return the result type of `dynamic_update_slice`: the operand's.

    Raises:
        ConstraintViolation: I1 to I3, C1 (type of the result), C2, C3, C6 (element type, rank and
            shape of the update), C4, C5 (number and types of the indices).
    """
    require("I1", operand in ANY_PER_TENSOR, operand)
    require("I2", update in ANY_PER_TENSOR, update)
    _index_operands("I3", start_indices)
    require("C1", same_type(operand, result), join_with_commas(operand, result))
    require("C2", same_element_type(update, operand), join_with_commas(operand, update))
    ranked = require("C3", update.rank == operand.rank, join_with_commas(operand, update))
    require("C4", len(start_indices) == operand.rank, join_with_commas(operand, *start_indices))
    require("C5", len(set(start_indices)) <= 1, join_with_commas(*start_indices))
    if ranked:
        pairs = zip(update.shape, operand.shape, strict=True)
        fits = all(size is None or of is None or 0 <= size <= of for size, of in pairs)
        require("C6", fits, join_with_commas(operand, update))
    return result or operand


# --- Padding -------------------------------------------------------------------------------------


def pad_type(
    operand: TensorType,
    padding_value: TensorType,
    *,
    edge_padding_low: tuple[int, ...],
    edge_padding_high: tuple[int, ...],
    interior_padding: tuple[int, ...],
    result: TensorType | None = None,
) -> TensorType:
    """Return the result type of `pad`.

    Raises:
        ConstraintViolation: I1, I2 (padding value no scalar), C1 (element types), C2 (numbers of
            paddings), C3 (negative between elements), C4 (shape of the result).
    """
    paddings = (edge_padding_low, edge_padding_high, interior_padding)
    require("I1", operand in ANY_PER_TENSOR, operand)
    scalar = padding_value in ANY_PER_TENSOR and padding_value.rank == 0
    require("I2", scalar, padding_value)
    types = (operand, padding_value, result)
    require("C1", same_element_type(*types), join_with_commas(*types))
    counted = all(len(padding) == operand.rank for padding in paddings)
    counted = require("C2", counted, join_with_commas(*paddings, operand))
    require("C3", min(interior_padding, default=0) >= 0, interior_padding)
    if not counted:
        return result or operand
    shape = padded_shape(operand.shape, *paddings)
    fits = all(size is None or size >= 0 for size in shape) and has_shape(result, shape)
    require("C4", fits, join_with_commas(*types, *paddings))
    return result or TensorType(shape, operand.element_type)


def padded_shape(
    shape: Sizes, low: Sequence[int], high: Sequence[int], interior: Sequence[int]
) -> Sizes:
    """Return the shape after padding, by constraint C4 of `pad`; negative if impossible."""
    return tuple(
        None if size is None else size + before + max(size - 1, 0) * between + after
        for size, before, after, between in zip(shape, low, high, interior, strict=True)
    )


# --- Other views of the same elements ------------------------------------------------------------


def check_reshape(operand: TensorType, result: TensorType) -> None:
    """Check constraints C1 to C3, common to reshape and dynamic_reshape."""
    kept = require(
        "C1", is_same_but_axis(operand, result, steps=False), join_with_commas(operand, result)
    )
    both = operand.is_static and result.is_static
    equal = not both or math.prod(operand.static_shape) == math.prod(result.static_shape)
    require("C2", equal, join_with_commas(operand, result))
    before, after = per_axis_element(operand), per_axis_element(result)
    if kept and before is not None and after is not None:
        around = zip(_split_counts(operand, before), _split_counts(result, after), strict=True)
        require("C3", all(sizes_agree(*pair) for pair in around), join_with_commas(operand, result))


def _split_counts(given: TensorType, quantized_type: QuantizedType) -> tuple[int | None, ...]:
    """Return the numbers of elements before, along and after the quantized dimension, None if
    unknown."""
    axis = quantized_type.quantization_dimension or 0
    parts = (given.shape[:axis], given.shape[axis : axis + 1], given.shape[axis + 1 :])
    return tuple(_product(part) for part in parts)


def _product(sizes: Sizes) -> int | None:
    known = [size for size in sizes if size is not None]
    return math.prod(known) if len(known) == len(sizes) else None


def reshape_type(operand: TensorType, *, result: TensorType) -> TensorType:
    """Return the result type of `reshape`, which the program states.

    Raises:
        ConstraintViolation: C1 (element types), C2 (numbers of elements), C3 (quantized axis).
    """
    check_reshape(operand, result)
    return result


def reverse_type(
    operand: TensorType, *, dimensions: tuple[int, ...], result: TensorType | None = None
) -> TensorType:
    """Return the result type of `reverse`: the operand's.

    Raises:
        ConstraintViolation: I1, C1 (type of the result), C2 (a dimension twice), C3 (no such
            dimension).
    """
    require("I1", operand in ANY_PER_TENSOR, operand)
    require("C1", same_type(operand, result), join_with_commas(operand, result))
    require("C2", is_unique(dimensions), dimensions)
    rank = (result or operand).rank
    require("C3", are_dimensions(dimensions, rank), join_with_commas(dimensions, result or operand))
    return result or operand


def slice_type(
    operand: TensorType,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...],
    result: TensorType | None = None,
) -> TensorType:
    """Return the result type of `slice`.

    Raises:
        ConstraintViolation: I1, C1 (element types), C2 (numbers of indices), C3 (indices out of
            range or order), C4 (strides not positive), C5 (shape of the result).
    """
    given = (start_indices, limit_indices, strides)
    require("I1", operand in ANY_PER_TENSOR, operand)
    require("C1", same_element_type(operand, result), join_with_commas(operand, result))
    counted = all(len(indices) == operand.rank for indices in given)
    counted = require("C2", counted, join_with_commas(*given, operand))
    rows = zip(
        start_indices, limit_indices, operand.shape, strict=False
    )  # surplus indices violate C2
    ordered = all(0 <= a <= b and (size is None or b <= size) for a, b, size in rows)
    ordered = require("C3", ordered, join_with_commas(*given, operand))
    positive = require("C4", min(strides, default=1) > 0, strides)
    if not (counted and ordered and positive):
        return result or operand
    shape = tuple(-((a - b) // s) for a, b, s in zip(*given, strict=True))
    require("C5", has_shape(result, shape), join_with_commas(operand, result, *given))
    return result or TensorType(shape, operand.element_type)


def transpose_type(
    operand: TensorType, *, permutation: tuple[int, ...], result: TensorType | None = None
) -> TensorType:
    """Return the result type of `transpose`.

    Raises:
        ConstraintViolation: C1 (element types), C2 (no permutation), C3 (shape of the result), C4
            (quantized axis).
    """
    whole = sorted(permutation) == list(range(operand.rank))
    whole = require("C2", whole, join_with_commas(permutation, operand))
    if result is None:
        return _transpose_type(operand, permutation) if whole else operand
    kept = is_same_but_axis(operand, result, steps=False)
    kept = require("C1", kept, join_with_commas(operand, result))
    if whole:
        shape = tuple(operand.shape[d] for d in permutation)
        require("C3", has_shape(result, shape), join_with_commas(operand, result, permutation))
        before, after = per_axis_element(operand), per_axis_element(result)
        if kept and before is not None and after is not None:
            axis = after.quantization_dimension or 0
            moved = axis < len(permutation) and permutation[axis] == before.quantization_dimension
            require("C4", moved, join_with_commas(operand, result, permutation))
    return result


def _transpose_type(operand: TensorType, permutation: tuple[int, ...]) -> TensorType:
    shape = tuple(operand.shape[d] for d in permutation)
    of = per_axis_element(operand)
    if of is None:
        return TensorType(shape, operand.element_type)
    axis = permutation.index(of.quantization_dimension or 0)
    return TensorType(shape, replace(of, quantization_dimension=axis))

"""Ops with shapes as operands: the dynamic_* family and get_dimension_size.

Source: StableHLO specification, the chapters of the ops. `real_dynamic_slice` and
`set_dimension_size` are no longer specified. The first is `slice` with operands in place of
attributes. The second means SetDimensionSize of XLA's operation semantics; elements past the new
size are not part of the result.

A result type may have unknown sizes. The operands must agree with the known sizes, or else the
program cannot be evaluated. Constraint C3 of dynamic_pad is about the values of an operand: it is
checked for constants and during evaluation.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from reference.ir.constraints import name_checked_op, require
from reference.ir.notation import (
    admit,
    are_dimensions,
    is_unique,
    join_with_commas,
    quantized_element,
    sizes_agree,
)
from reference.ir.op import (
    FIRST_OPERAND,
    FIRST_RESULT,
    Dialect,
    Op,
    QuantizedUse,
    Rounding,
    Structure,
)
from reference.ir.program import TensorType
from reference.ir.types import ALL, ELEMENT_TYPES, NUMBERS, Array, Kind
from reference.numerics.conversion import iota
from reference.ops.data_movement import broadcast_to, pad, slice_
from reference.ops.data_movement_types import (
    check_broadcast,
    check_reshape,
    same_element_type,
    same_type,
)
from reference.ops.elementwise.types import ANY_PER_TENSOR, INTEGER

SIZE = TensorType((), ELEMENT_TYPES["si32"])
"""The element type of results that are dimension sizes."""

_COUNTABLE = admit(Kind.SIGNED, Kind.UNSIGNED, Kind.FLOAT, Kind.COMPLEX)


def _numbers(id: str, given: TensorType) -> bool:  # noqa: A002 - the spec's word
    """Check an input that must be a tensor of integers with one dimension."""
    return require(id, given in INTEGER and given.rank == 1, given)


def _count(given: TensorType) -> int | None:
    """Return the number of elements of a one-dimensional tensor, if its type states it."""
    return given.shape[0] if given.rank == 1 else None


def dynamic_broadcast_in_dim_type(
    operand: TensorType,
    output_dimensions: TensorType,
    *,
    broadcast_dimensions: tuple[int, ...],
    known_expanding_dimensions: tuple[int, ...] = (),
    known_nonexpanding_dimensions: tuple[int, ...] = (),
    result: TensorType,
) -> TensorType:
    """Return the result type of `dynamic_broadcast_in_dim`, which the program states.

    Raises:
        ConstraintViolation: I2 (no integers in one dimension), C1 to C6 as for broadcast_in_dim, C7
            (number of sizes), C8 (a repeated known dimension), C9, C10 (no such dimension).
    """
    _numbers("I2", output_dimensions)
    check_broadcast(operand, broadcast_dimensions, result)  # C1 C2 C3 C4 C5 C6
    counted = sizes_agree(_count(output_dimensions), result.rank)
    require("C7", counted, join_with_commas(output_dimensions, result))
    expanding, kept = known_expanding_dimensions, known_nonexpanding_dimensions
    require("C8", is_unique((*expanding, *kept)), join_with_commas(expanding, kept))
    require("C9", are_dimensions(expanding, operand.rank), join_with_commas(expanding, operand))
    require("C10", are_dimensions(kept, operand.rank), join_with_commas(kept, operand))
    return result


def dynamic_broadcast_in_dim(
    operand: Array,
    output_dimensions: Array,
    *,
    broadcast_dimensions: tuple[int, ...],
    known_expanding_dimensions: tuple[int, ...] = (),  # noqa: ARG001 - says what need not be said
    known_nonexpanding_dimensions: tuple[int, ...] = (),  # noqa: ARG001
    result: TensorType,  # noqa: ARG001 - its sizes are checked by the evaluation
) -> Array:
    """Evaluate `broadcast_in_dim` to a shape that is an operand."""
    return broadcast_to(operand, output_dimensions.tolist(), broadcast_dimensions)


def dynamic_iota_type(
    output_shape: TensorType, *, iota_dimension: int, result: TensorType
) -> TensorType:
    """Return the result type of `dynamic_iota`, which the program states.

    Raises:
        ConstraintViolation: I1 (no integers in one dimension), C1 (no such dimension), C2 (number
            of sizes), "result" (of booleans, or quantized per axis).
    """
    _numbers("I1", output_shape)
    rank = _count(output_shape)
    inside = iota_dimension >= 0 and (rank is None or iota_dimension < rank)
    require("C1", inside, join_with_commas(iota_dimension, output_shape))
    require("C2", sizes_agree(rank, result.rank), join_with_commas(output_shape, result))
    counts = result in _COUNTABLE or (
        result in ANY_PER_TENSOR and quantized_element(result) is not None
    )
    require("result", counts, result)
    return result


def dynamic_iota(output_shape: Array, *, iota_dimension: int, result: TensorType) -> Array:
    """Evaluate `iota` with a shape that is an operand.

    Raises:
        ValueError: if the sizes are not those that the program states.
    """
    sizes = tuple(output_shape.tolist())
    if any(known not in (None, size) for known, size in zip(result.shape, sizes, strict=True)):
        raise ValueError(f"output_shape is {join_with_commas(sizes)}, but the result is {result}")
    return iota(iota_dimension=iota_dimension, result=replace(result, shape=sizes))


def dynamic_pad_type(
    operand: TensorType,
    padding_value: TensorType,
    edge_padding_low: TensorType,
    edge_padding_high: TensorType,
    interior_padding: TensorType,
    *,
    result: TensorType,
) -> TensorType:
    """Return the result type of `dynamic_pad`, which the program states.

    Raises:
        ConstraintViolation: I1 to I5, C1 (element types), C2 (numbers of paddings), C4 (rank of the
            result). For C3, on values, see `check_paddings`.
    """
    require("I1", operand in ANY_PER_TENSOR, operand)
    scalar = padding_value in ANY_PER_TENSOR and padding_value.rank == 0
    require("I2", scalar, padding_value)
    paddings = (edge_padding_low, edge_padding_high, interior_padding)
    for index, padding in enumerate(paddings, 3):
        _numbers(f"I{index}", padding)  # I3 I4 I5
    types = (operand, padding_value, result)
    require("C1", same_element_type(*types), join_with_commas(*types))
    counted = all(sizes_agree(_count(padding), operand.rank) for padding in paddings)
    require("C2", counted, join_with_commas(operand, *paddings))
    require("C4", operand.rank == result.rank, join_with_commas(operand, result))
    return result


def check_paddings(
    operand: Array | None,  # noqa: ARG001 - its values do not matter
    padding_value: Array | None,  # noqa: ARG001
    edge_padding_low: Array | None,  # noqa: ARG001 - any will do
    edge_padding_high: Array | None,  # noqa: ARG001
    interior_padding: Array | None,
) -> None:
    """Check the constraint of `dynamic_pad` on values, if these are known.

    Raises:
        ConstraintViolation: C3 (negative between elements).
    """
    if interior_padding is not None:
        interior = interior_padding.tolist()
        require("C3", min(interior, default=0) >= 0, interior)


def dynamic_pad(
    operand: Array,
    padding_value: Array,
    edge_padding_low: Array,
    edge_padding_high: Array,
    interior_padding: Array,
    *,
    result: TensorType,  # noqa: ARG001 - its sizes are checked by the evaluation
) -> Array:
    """Evaluate `pad` with amounts that are operands.

    Raises:
        ConstraintViolation: C3 (negative between elements).
    """
    given = (edge_padding_low, edge_padding_high, interior_padding)
    with name_checked_op("dynamic_pad"):
        check_paddings(operand, padding_value, *given)
    low, high, interior = (tuple(padding.tolist()) for padding in given)
    return pad(
        operand,
        padding_value,
        edge_padding_low=low,
        edge_padding_high=high,
        interior_padding=interior,
    )


def dynamic_reshape_type(
    operand: TensorType, output_shape: TensorType, *, result: TensorType
) -> TensorType:
    """Return the result type of `dynamic_reshape`, which the program states.

    Raises:
        ConstraintViolation: I2 (no integers in one dimension), C1 to C3 as for reshape, C4 (number
            of sizes).
    """
    _numbers("I2", output_shape)
    check_reshape(operand, result)  # C1 C2 C3
    counted = sizes_agree(_count(output_shape), result.rank)
    require("C4", counted, join_with_commas(output_shape, result))
    return result


def dynamic_reshape(
    operand: Array,
    output_shape: Array,
    *,
    result: TensorType,  # noqa: ARG001 - its sizes are checked by the evaluation
) -> Array:
    """Evaluate `reshape` to a shape that is an operand.

    Raises:
        ValueError: if that shape has another number of elements, or a negative size.
    """
    shape: list[int] = output_shape.tolist()
    if min(shape, default=0) < 0:  # numpy would infer the size -1
        raise ValueError(f"negative size in {shape}")
    return operand.reshape(shape)


def get_dimension_size_type(
    operand: TensorType, *, dimension: int, result: TensorType | None = None
) -> TensorType:
    """Return the result type of `get_dimension_size`.

    Raises:
        ConstraintViolation: C1 (no such dimension), "result" (no scalar of si32).
    """
    require("C1", 0 <= dimension < operand.rank, join_with_commas(dimension, operand))
    require("result", result in (None, SIZE), result)
    return SIZE


def get_dimension_size(operand: Array, *, dimension: int) -> Array:
    """Return the operand's size along a dimension."""
    return np.array(operand.shape[dimension], np.int32)


def real_dynamic_slice_type(
    operand: TensorType,
    start_indices: TensorType,
    limit_indices: TensorType,
    strides: TensorType,
    *,
    result: TensorType,
) -> TensorType:
    """Return the result type of `real_dynamic_slice`, which the program states.

    Raises:
        ConstraintViolation: "operands" (indices and strides that are not integers of one type, as
            many as dimensions), "result" (another element type or rank).
    """
    given = (start_indices, limit_indices, strides)
    alike = all(of in INTEGER and of.rank == 1 and same_type(of, strides) for of in given)
    counted = all(sizes_agree(_count(of), operand.rank) for of in given)
    require("operands", alike and counted, join_with_commas(operand, *given))
    right = operand.rank == result.rank and same_element_type(operand, result)
    require("result", right, join_with_commas(operand, result))
    return result


def real_dynamic_slice(
    operand: Array,
    start_indices: Array,
    limit_indices: Array,
    strides: Array,
    *,
    result: TensorType,  # noqa: ARG001 - its sizes are checked by the evaluation
) -> Array:
    """Evaluate `slice` with indices that are operands.

    Raises:
        ValueError: if `slice` does not permit these indices.
    """
    start, limit, steps = (
        tuple(given.tolist()) for given in (start_indices, limit_indices, strides)
    )
    for a, b, s, size in zip(start, limit, steps, operand.shape, strict=True):
        if not 0 <= a <= b <= size or s < 1:
            raise ValueError(f"no slice of {size} elements from {a} to {b} by {s}")
    return slice_(operand, start_indices=start, limit_indices=limit, strides=steps)


def set_dimension_size_type(
    operand: TensorType, size: TensorType, *, dimension: int, result: TensorType
) -> TensorType:
    """Return the result type of `set_dimension_size`, which the program states.

    Raises:
        ConstraintViolation: "operands" (size no scalar of si32), "attributes" (no such dimension),
            "result" (another element type, or another size in another dimension).
    """
    require("operands", size == SIZE, size)
    inside = require(
        "attributes", 0 <= dimension < operand.rank, join_with_commas(dimension, operand)
    )
    if inside:
        shape = tuple(None if d == dimension else of for d, of in enumerate(operand.shape))
        right = same_type(replace(operand, shape=shape), result)
        require("result", right, join_with_commas(operand, result))
    return result


def set_dimension_size(
    operand: Array,
    size: Array,
    *,
    dimension: int,
    result: TensorType,  # noqa: ARG001 - its sizes are checked by the evaluation
) -> Array:
    """Return the first `size` elements of the operand along a dimension.

    Raises:
        ValueError: if the operand has fewer elements.
    """
    count: int = size.item()
    if not 0 <= count <= operand.shape[dimension]:
        raise ValueError(f"size {count} of a dimension of {operand.shape[dimension]}")
    return operand[(slice(None),) * dimension + (slice(count),)].copy()


_op = partial(
    Op, dialect=Dialect.STABLEHLO, specified=True, principal=FIRST_OPERAND,
    structure=Structure.COMPUTES,
    lifts=False,
)  # fmt: skip

OPS: tuple[Op, ...] = (
    _op(
        name="dynamic_broadcast_in_dim", type_function=dynamic_broadcast_in_dim_type,
        evaluate=dynamic_broadcast_in_dim, operands=("operand", "output_dimensions"),
        attributes=(
            "broadcast_dimensions", "known_expanding_dimensions", "known_nonexpanding_dimensions",
        ),
        optional=("known_expanding_dimensions", "known_nonexpanding_dimensions"),
        constraints=("C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10"), inputs=("I2",),
        element_types=ALL, quantized=QuantizedUse.MOVES, rounding=Rounding.MOVES,
        needs_result=True, carries=(0,), size_operands=("output_dimensions",),
    ),
    _op(
        name="dynamic_iota", type_function=dynamic_iota_type, evaluate=dynamic_iota,
        operands=("output_shape",), attributes=("iota_dimension",), constraints=("C1", "C2"),
        inputs=("I1",), element_types=NUMBERS, principal=FIRST_RESULT,
        quantized=QuantizedUse.CONVERTS, rounding=Rounding.CORRECT, needs_result=True,
        size_operands=("output_shape",),
    ),
    _op(
        name="dynamic_pad", type_function=dynamic_pad_type, evaluate=dynamic_pad,
        operands=(
            "operand", "padding_value", "edge_padding_low", "edge_padding_high",
            "interior_padding",
        ),
        attributes=(), constraints=("C1", "C2", "C3", "C4"), inputs=("I1", "I2", "I3", "I4", "I5"),
        check_values=check_paddings, element_types=ALL, quantized=QuantizedUse.MOVES,
        rounding=Rounding.MOVES, needs_result=True, carries=(0, 1),
        size_operands=("edge_padding_low", "edge_padding_high", "interior_padding"),
    ),
    _op(
        name="dynamic_reshape", type_function=dynamic_reshape_type, evaluate=dynamic_reshape,
        operands=("operand", "output_shape"), attributes=(), constraints=("C1", "C2", "C3", "C4"),
        inputs=("I2",), element_types=ALL, quantized=QuantizedUse.MOVES, rounding=Rounding.MOVES,
        needs_result=True, carries=(0,), size_operands=("output_shape",),
    ),
    _op(
        name="get_dimension_size", type_function=get_dimension_size_type,
        evaluate=get_dimension_size, operands=("operand",), attributes=("dimension",),
        constraints=("C1",), element_types=ALL, quantized=QuantizedUse.MOVES,
        rounding=Rounding.EXACT, needs_result=False, returns_sizes=True,
    ),
    _op(
        name="real_dynamic_slice", specified=False, type_function=real_dynamic_slice_type,
        evaluate=real_dynamic_slice,
        operands=("operand", "start_indices", "limit_indices", "strides"), attributes=(),
        constraints=(), element_types=ALL, quantized=QuantizedUse.MOVES, rounding=Rounding.MOVES,
        needs_result=True, carries=(0,),
        size_operands=("start_indices", "limit_indices", "strides"),
    ),
    _op(
        name="set_dimension_size", specified=False, type_function=set_dimension_size_type,
        evaluate=set_dimension_size, operands=("operand", "size"), attributes=("dimension",),
        constraints=(), element_types=ALL, quantized=QuantizedUse.MOVES, rounding=Rounding.MOVES,
        needs_result=True, carries=(0,), size_operands=("size",),
    ),
)  # fmt: skip
"""The ops of this family."""

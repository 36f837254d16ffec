"""XlaBuilder's ops that create, convert and move data.

Source: XLA operation semantics, each op by its name.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import Any

from reference.ir.constraints import require
from reference.ir.op import Op
from reference.ir.program import Dense, TensorType, Value, tensor_of
from reference.ir.types import element_type
from reference.ops.xla.building import Building, lowered_op, renamed_op
from reference.ops.xla.shapes import Shape, type_of

Sizes = tuple[int, ...]
PaddingConfig = tuple[tuple[int, int, int], ...]
"""Tuples (`edge_padding_low`, `edge_padding_high`, `interior_padding`), one per dimension."""


def bitcast_sizes(of: TensorType, bits: int) -> Sizes:
    """Return the sizes after a bitcast to elements of `bits` bits; the last dimension holds
    parts."""
    own = of.element.bits
    if bits < own:
        return (*of.static_shape, own // bits)
    return of.static_shape[:-1] if bits > own else of.static_shape


def _bitcast_conditions(operand: TensorType, *, new_element_type: str, **_: Any) -> None:
    """Require P1 of BitcastConvertType: the last dimension has as many parts as the wider type
    needs."""
    own, bits = operand.element.bits, element_type(new_element_type).bits
    fits = bits <= own or (operand.rank > 0 and operand.static_shape[-1] * own == bits)
    require("P1", fits and not max(own, bits) % min(own, bits), f"{operand}, {new_element_type}")


def _bitcast(building: Building, operand: Value, *, new_element_type: str) -> Value:
    element = element_type(new_element_type)
    result = TensorType(bitcast_sizes(tensor_of(operand), element.bits), element)
    return building.op("bitcast_convert", operand, result=result)


def _convert(building: Building, operand: Value, *, new_element_type: str) -> Value:
    result = TensorType(tensor_of(operand).shape, element_type(new_element_type))
    return building.op("convert", operand, result=result)


def _broadcast_in_dim_conditions(
    operand: TensorType, *, out_dim_size: Sizes, broadcast_dimensions: Sizes, **_: Any
) -> None:
    """Require P1 and P2 of BroadcastInDim.

    P1: each dimension of the operand is mapped to a dimension of the result. P2: both have one
    size, or the operand's size is 1.
    """
    inside = all(0 <= dimension < len(out_dim_size) for dimension in broadcast_dimensions)
    different = len(set(broadcast_dimensions)) == len(broadcast_dimensions)
    if require("P1", len(broadcast_dimensions) == operand.rank and inside and different):
        pairs = zip(operand.static_shape, broadcast_dimensions, strict=True)
        require("P2", all(size in (1, out_dim_size[d]) for size, d in pairs), operand)


def _broadcast_in_dim(
    building: Building, operand: Value, *, out_dim_size: Sizes, broadcast_dimensions: Sizes,
) -> Value:  # fmt: skip
    result = TensorType(out_dim_size, tensor_of(operand).element_type)
    return building.op(
        "broadcast_in_dim", operand, result=result, broadcast_dimensions=broadcast_dimensions
    )


def collapse_sizes(sizes: Sizes, dimensions: Sizes) -> Sizes:
    """Return the sizes with consecutive dimensions merged into one."""
    if not dimensions:
        return sizes
    first, last = dimensions[0], dimensions[-1]
    return (*sizes[:first], math.prod(sizes[first : last + 1]), *sizes[last + 1 :])


def _collapse_conditions(operand: TensorType, *, dimensions: Sizes, **_: Any) -> None:
    """Require P1 of Collapse:

    `dimensions` are dimensions of the operand, consecutive and in order.
    """
    inside = all(0 <= dimension < operand.rank for dimension in dimensions)
    require("P1", inside and all(b == a + 1 for a, b in pairwise(dimensions)), dimensions)


def _collapse(building: Building, operand: Value, *, dimensions: Sizes) -> Value:
    of = tensor_of(operand)
    _collapse_conditions(of, dimensions=dimensions)  # a reshape cannot check this
    result = TensorType(collapse_sizes(of.static_shape, dimensions), of.element_type)
    return building.op("reshape", operand, result=result)


def _reshape_conditions(operand: TensorType, *, dimensions: Sizes, **_: Any) -> None:
    """Require P1 of Reshape: the result has as many elements as the operand."""
    require("P1", math.prod(dimensions) == math.prod(operand.static_shape), dimensions)


def _reshape(building: Building, operand: Value, *, dimensions: Sizes) -> Value:
    result = TensorType(dimensions, tensor_of(operand).element_type)
    return building.op("reshape", operand, result=result)


def _ordered_conditions(
    operand: TensorType, *, new_sizes: Sizes, dimensions: Sizes | None = None, **_: Any
) -> None:
    """Require P1 and P2 of an ordered Reshape.

    P1: `dimensions` is a permutation of the operand's dimensions. P2: the result has as many
    elements as the operand.
    """
    order = range(operand.rank) if dimensions is None else dimensions
    require("P1", sorted(order) == list(range(operand.rank)), dimensions)
    require("P2", math.prod(new_sizes) == math.prod(operand.static_shape), new_sizes)


def _reshape_ordered(
    building: Building, operand: Value, *, new_sizes: Sizes, dimensions: Sizes | None = None
) -> Value:
    """Transpose, unless the order is the operand's, then reshape."""
    of = tensor_of(operand)
    order = tuple(range(of.rank)) if dimensions is None else dimensions
    if order != tuple(range(of.rank)):
        operand = building.op("transpose", operand, permutation=order)
    return building.op("reshape", operand, result=TensorType(new_sizes, of.element_type))


def _explicit_conditions(operand: TensorType, *, shape: Shape, **_: Any) -> None:
    """Require P1 of an explicit Reshape:

    `shape` has the operand's element type and as many elements.
    """
    same = shape.element_type == operand.element.name
    require("P1", same and math.prod(shape.dimensions) == math.prod(operand.static_shape), shape)


def _reshape_explicit(building: Building, operand: Value, *, shape: Shape) -> Value:
    return building.op("reshape", operand, result=type_of(shape))


def _iota_conditions(*, shape: Shape, iota_dimension: int, **_: Any) -> None:
    """Require P1 of Iota: `iota_dimension` is a dimension of the shape."""
    require("P1", 0 <= iota_dimension < len(shape.dimensions), iota_dimension)


def _iota(building: Building, *, shape: Shape, iota_dimension: int) -> Value:
    return building.op("iota", result=type_of(shape), iota_dimension=iota_dimension)


def _pad_conditions(
    operand: TensorType, padding_value: TensorType, *, padding_config: PaddingConfig, **_: Any
) -> None:
    """Require P1 to P3 of Pad.

    P1: the padding value is a scalar of the operand's type. P2: there is a configuration for each
    dimension. P3: interior padding is not negative.
    """
    alike = padding_value.element_type == operand.element_type
    require("P1", padding_value.rank == 0 and alike, padding_value)
    if require("P2", len(padding_config) == operand.rank, padding_config):
        require("P3", all(interior >= 0 for _, _, interior in padding_config), padding_config)


def _pad(
    building: Building, operand: Value, padding_value: Value, *, padding_config: PaddingConfig,
) -> Value:  # fmt: skip
    low, high, interior = (tuple(one[n] for one in padding_config) for n in range(3))
    return building.op(
        "pad", operand, padding_value, edge_padding_low=low, edge_padding_high=high,
        interior_padding=interior,
    )  # fmt: skip


def _bounds(tensor_type: TensorType) -> Sizes:
    """Return the sizes of a type, or their bounds if unknown."""
    bounds = tensor_type.bounds or (None,) * tensor_type.rank
    pairs = zip(tensor_type.shape, bounds, strict=True)
    return tuple((bound or 0) if size is None else size for size, bound in pairs)


def _dynamic_reshape_conditions(
    operand: TensorType, dim_sizes: tuple[TensorType, ...], *, new_size_bounds: Sizes, **_: Any
) -> None:
    """Require P1 and P2 of DynamicReshape.

    P1: there is a size and a bound for each dimension. P2: the bounds have room for the elements.
    """
    require("P1", len(dim_sizes) == len(new_size_bounds), new_size_bounds)
    require("P2", math.prod(new_size_bounds) == math.prod(_bounds(operand)), new_size_bounds)


def _dynamic_reshape(
    building: Building, operand: Value, dim_sizes: tuple[Value, ...], *, new_size_bounds: Sizes,
    dims_are_dynamic: tuple[bool, ...],
) -> Value:  # fmt: skip
    """Reshape to the bounds, except for dimensions that are dynamic."""
    index = tensor_of(dim_sizes[0]).element_type if dim_sizes else element_type("si32")
    sizes = [building.op("reshape", one, result=TensorType((1,), index)) for one in dim_sizes]
    if sizes:
        shape = building.op("concatenate", *sizes, dimension=0)
    else:
        none = TensorType((0,), index)
        shape = building.op("constant", value=Dense(none, b""))
    pairs = tuple(zip(new_size_bounds, dims_are_dynamic, strict=True))
    result = TensorType(
        tuple(None if dynamic else size for size, dynamic in pairs),
        tensor_of(operand).element_type,
        tuple(size if dynamic else None for size, dynamic in pairs)
        if any(dims_are_dynamic)
        else (),
    )
    return building.op("dynamic_reshape", operand, shape, result=result)


_OF_SCATTER: dict[str, tuple[str, ...]] = {
    "P1": ("C6",), "P2": ("C23",), "P3": ("C20",), "P4": ("C5",), "P5": ("C1",), "P6": ("C3",),
    "P7": ("C4",), "P8": ("C7", "C8"), "P9": ("C9", "C10", "C11"), "P10": ("C2",),
    "P11": ("C19", "C21"),
}  # fmt: skip
"""The page's conditions on a Scatter, in its order, as constraints of StableHLO's scatter.

P1: updates have the element types of their operands. P2: the computation takes an element of each
operand and of each update, and returns an element of each operand. P3:
`scatter_dims_to_operand_dims` is injective. P4: at least one operand, each with an array of
updates. P5: operands have the same dimensions. P6: so have the updates. P7: updates have the rank
and the sizes that indices and windows require. P8: `update_window_dims` is in order, without
repetition and in range. P9: so is `inserted_window_dims`. P10: the operand's rank is the sum of
their sizes. P11: `scatter_dims_to_operand_dims` is as long as an index vector, and in range.
"""

_unary_op = partial(lowered_op, operands=("operand",))

OPS: tuple[Op, ...] = (
    _unary_op(
        "BitcastConvertType", "bitcast_convert", _bitcast, attributes=("new_element_type",),
        conditions=_bitcast_conditions, constraints=("P1",), needs_result=False,
    ),
    renamed_op("Broadcast", "broadcast"),
    _unary_op(
        "BroadcastInDim", "broadcast_in_dim", _broadcast_in_dim,
        attributes=("out_dim_size", "broadcast_dimensions"), needs_result=False,
        conditions=_broadcast_in_dim_conditions, constraints=("P1", "P2"),
    ),
    _unary_op(
        "Collapse", "reshape", _collapse, attributes=("dimensions",), needs_result=False,
        conditions=_collapse_conditions, constraints=("P1",),
    ),
    renamed_op("ConcatInDim", "concatenate", operands=("*operands",)),
    renamed_op("Constant", "constant", renames={"literal": "value"}),
    _unary_op(
        "ConvertElementType", "convert", _convert, attributes=("new_element_type",),
        needs_result=False,
    ),
    lowered_op(
        "DynamicReshape", "dynamic_reshape", _dynamic_reshape,
        operands=("operand", "*dim_sizes"), attributes=("new_size_bounds", "dims_are_dynamic"),
        conditions=_dynamic_reshape_conditions, constraints=("P1", "P2"), needs_result=False,
    ),
    renamed_op("DynamicSlice", "dynamic_slice"),
    renamed_op("DynamicUpdateSlice", "dynamic_update_slice"),
    renamed_op("Gather", "gather"),
    renamed_op("GetDimensionSize", "get_dimension_size"),
    lowered_op(
        "Iota", "iota", _iota, operands=(), attributes=("shape", "iota_dimension"),
        conditions=_iota_conditions, constraints=("P1",), needs_result=False,
    ),
    lowered_op(
        "Pad", "pad", _pad, operands=("operand", "padding_value"),
        attributes=("padding_config",), conditions=_pad_conditions,
        constraints=("P1", "P2", "P3"),
    ),
    _unary_op(
        "Reshape", "reshape", _reshape, attributes=("dimensions",), needs_result=False,
        conditions=_reshape_conditions, constraints=("P1",),
    ),
    _unary_op(
        "Reshape (explicit)", "reshape", _reshape_explicit, attributes=("shape",),
        conditions=_explicit_conditions, constraints=("P1",), needs_result=False,
    ),
    _unary_op(
        "Reshape (ordered)", "reshape", _reshape_ordered, attributes=("dimensions", "new_sizes"),
        optional=("dimensions",), conditions=_ordered_conditions, constraints=("P1", "P2"),
        needs_result=False,
    ),
    renamed_op("Rev", "reverse"),
    renamed_op("Scatter", "scatter", constraints=tuple(_OF_SCATTER), restates=_OF_SCATTER),
    renamed_op("SetDimensionSize", "set_dimension_size", operands=("operand", "val")),
    renamed_op("Slice", "slice"),
    renamed_op("Sort", "sort"),
    renamed_op("Transpose", "transpose"),
)  # fmt: skip

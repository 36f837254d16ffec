"""XlaBuilder's product of operands with scales.

Sources: XLA operation semantics, "ScaledDot": like DotGeneral, with a scale for each operand. The
page does not define the effect of scales. XLA's verifier of the instruction requires as many
dimensions of a scale as its operand has, and sizes that divide the operand's: each element of the
scale belongs to a block of the operand. jax's form of the op (`jax.lax.scaled_dot`) defines the
rest: a composite, `xla.scaled_dot`, whose decomposition repeats the scale's elements, converts
these and the operand to bf16, and multiplies both before the matrix product. That defines which
numbers are multiplied and added. The intermediate rounding to bf16 is permitted
(conformance/tolerance/bounds/scaled.py), not required: XLA's own expansion for GPUs works in the
wider of the two types. A missing scale is a scale of 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reference.ir.constraints import require
from reference.ir.notation import join_with_commas
from reference.ir.op import (
    FIRST_OPERAND,
    Composite,
    CompositeAttributes,
    Dialect,
    Op,
    QuantizedUse,
    Rounding,
    Structure,
)
from reference.ir.program import TensorType, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES, FLOATS, Array, ElementType, element_type_of
from reference.numerics.arithmetic import quiet
from reference.numerics.products import matmul
from reference.numerics.rounding import to_float64
from reference.ops.contraction import arrange_matrices
from reference.ops.xla.building import LOWER, Building
from reference.ops.xla.contraction import (
    DotDimensionNumbers,
    dimensions_fit,
    dimensions_of,
    dot_general_attributes,
    product_sizes,
)

Sizes = tuple[int, ...]

BF16 = ELEMENT_TYPES["bf16"]

TYPES = tuple(of for of in FLOATS if of.bits <= BF16.bits)
"""The types of operands and scales that scales are meant for. For wider types the decomposition
keeps at most a third of the significant bits."""

_DEFAULT = ("DEFAULT", "DEFAULT")
_LEFT_OUT = ("precision_config", "preferred_element_type")


# -- types ------------------------------------------------------------------------------------


def _scale_fits(operand: TensorType, scale: TensorType) -> bool:
    """Check P3 and P4 of ScaledDot.

    P3: a scale has as many dimensions as its operand. P4: its sizes divide the operand's.
    """
    if not require("P3", scale.rank == operand.rank, join_with_commas(operand, scale)):
        return False
    pairs = zip(operand.static_shape, scale.static_shape, strict=True)
    divides = all(size == part or (part > 0 and size % part == 0) for size, part in pairs)
    return require("P4", divides, join_with_commas(operand, scale))


def scaled_dot_type(
    lhs: TensorType, lhs_scale: TensorType, rhs: TensorType, rhs_scale: TensorType, *,
    dimension_numbers: DotDimensionNumbers, precision_config: tuple[str, ...] = (),
    preferred_element_type: str | None = None, result: TensorType | None = None,
) -> TensorType:  # fmt: skip
    """Return the result type of `ScaledDot`: of lhs's or the preferred element type.

    Raises:
        ConstraintViolation: P1, P2 (see `dimensions_fit`), P3, P4 (see `_scale_fits`), "operands"
            (unknown sizes, types of more than 16 bits), "attributes", "result".
    """
    operands = lhs, lhs_scale, rhs, rhs_scale
    known = all(of.is_static and of.element_type in TYPES for of in operands)
    preferred = preferred_element_type or lhs.stored.name
    of = ELEMENT_TYPES.get(preferred, lhs.stored)
    sound = (
        require("operands", known, join_with_commas(*operands)),
        require("attributes", preferred in ELEMENT_TYPES and of.is_float, preferred),
        dimensions_fit(lhs, rhs, dimension_numbers=dimension_numbers),
    )
    if not (sound[0] and _scale_fits(lhs, lhs_scale) & _scale_fits(rhs, rhs_scale) and all(sound)):
        return result or lhs
    made = TensorType(product_sizes(lhs, rhs, dimension_numbers), of)
    LOWER["dot_general"].infer(
        TensorType(lhs.shape, BF16), TensorType(rhs.shape, BF16), result=made,
        precision_config=precision_config, **dot_general_attributes(dimension_numbers),
    )  # fmt: skip
    require("result", result in (None, made), made)
    return made


# -- evaluation -------------------------------------------------------------------------------


def spread(scale: Array, sizes: Sizes) -> Array:
    """Return the scale of each element of an operand of these sizes, which the scale's sizes
    divide."""
    for dimension, size in enumerate(sizes):
        if scale.shape[dimension] != size:
            scale = np.repeat(scale, size // scale.shape[dimension], axis=dimension)
    return scale


@quiet
def scale_operand(operand: Array, scale: Array) -> Array:
    """Return an operand times the scales of its blocks, exactly, in float64."""
    return np.asarray(to_float64(operand) * to_float64(spread(scale, operand.shape)))


def scaled_dot(
    lhs: Array, lhs_scale: Array, rhs: Array, rhs_scale: Array, *,
    dimension_numbers: DotDimensionNumbers, preferred_element_type: str | None = None, **_: object,
) -> Array:  # fmt: skip
    """Return sums of products of the scaled operands, as `dot_general`, rounded once."""
    own = element_type_of(lhs)
    to = own if preferred_element_type is None else ELEMENT_TYPES[preferred_element_type]
    left, right = scale_operand(lhs, lhs_scale), scale_operand(rhs, rhs_scale)
    a, b, shape = arrange_matrices(left, right, dimensions_of(dimension_numbers))
    return matmul(a, b, to).reshape(shape)


# -- lowering ---------------------------------------------------------------------------------


def _repeat_scale(building: Building, scale: Value, dimension: int, times: int) -> Value:
    """Return the scale with each element repeated along a dimension, by jax's operations."""
    sizes, of = tensor_of(scale).static_shape, tensor_of(scale).element
    before, (own, *after) = sizes[:dimension], sizes[dimension:]
    places = tuple(range(len(sizes) + 1))
    kept = (*places[: dimension + 1], *places[dimension + 2 :])
    for mapped, repeats in ((kept, 1), (places, times)):
        wider = TensorType((*before, own, repeats, *after), of)
        scale = building.op("broadcast_in_dim", scale, result=wider, broadcast_dimensions=mapped)
    return building.op("reshape", scale, result=TensorType((*before, own * times, *after), of))


def _convert(building: Building, value: Value, element_type: ElementType) -> Value:
    own = tensor_of(value)
    return (
        value
        if own.element == element_type
        else building.op("convert", value, result=TensorType(own.shape, element_type))
    )


def _scale_in_bf16(building: Building, operand: Value, scale: Value, contracting: Sizes) -> Value:
    """Return the operand times its scale, in bf16; contracted dimensions are scaled first, in
    order."""
    sizes = tensor_of(operand).static_shape
    others = (d for d in range(len(sizes)) if d not in contracting)
    for dimension in (*contracting, *others):
        own = tensor_of(scale).static_shape[dimension]
        if own != sizes[dimension]:
            scale = _repeat_scale(building, scale, dimension, sizes[dimension] // own)
    return building.op(
        "multiply", _convert(building, operand, BF16), _convert(building, scale, BF16)
    )


def _decompose_scaled_dot(
    building: Building, lhs: Value, lhs_scale: Value, rhs: Value, rhs_scale: Value, *,
    dimension_numbers: DotDimensionNumbers, precision_config: tuple[str, ...] = _DEFAULT, **_: Any,
) -> Value:  # fmt: skip
    """Lower to the decomposition of `jax.lax.scaled_dot`, which always states a precision."""
    numbers, (result,) = dimension_numbers, building.results
    left = _scale_in_bf16(building, lhs, lhs_scale, numbers.lhs_contracting_dimensions)
    right = _scale_in_bf16(building, rhs, rhs_scale, numbers.rhs_contracting_dimensions)
    (value,) = building.ops(
        "dot_general", left, right, result=result, precision_config=precision_config,
        **dot_general_attributes(numbers),
    )  # fmt: skip
    return value


def _states(result: TensorType, **given: Any) -> CompositeAttributes:
    """Return jax's attributes: contracting and batch dimensions, and the result's type.

    A precision is included only if the op has one: jax's has none.
    """
    numbers: DotDimensionNumbers = given["dimension_numbers"]
    contracting = numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions
    batch = numbers.lhs_batch_dimensions, numbers.rhs_batch_dimensions
    precision = {name: given[name] for name in ("precision_config",) if name in given}
    return (
        ("dimension_numbers", (contracting, batch)), *precision.items(),
        ("preferred_element_type", result.element),
    )  # fmt: skip


def _read_attributes(
    operands: tuple[TensorType, ...], result: TensorType, said: dict[str, Any]
) -> dict[str, Any]:
    contracting, batch = said["dimension_numbers"]
    given: dict[str, Any] = {"dimension_numbers": DotDimensionNumbers(*contracting, *batch)}
    given |= {name: said[name] for name in ("precision_config",) if name in said}
    if result.element_type != operands[0].element_type:
        given["preferred_element_type"] = result.element.name
    return given


OPS: tuple[Op, ...] = (
    Op(
        name="ScaledDot", dialect=Dialect.XLA, specified=False, type_function=scaled_dot_type,
        evaluate=scaled_dot, operands=("lhs", "lhs_scale", "rhs", "rhs_scale"),
        attributes=("dimension_numbers", *_LEFT_OUT), optional=_LEFT_OUT,
        constraints=("P1", "P2", "P3", "P4"), element_types=TYPES, principal=FIRST_OPERAND,
        quantized=QuantizedUse.REFUSES, rounding=Rounding.ACCUMULATES,
        structure=Structure.COMPUTES, lifts=False, needs_result=False,
        composite=Composite(
            name="xla.scaled_dot", order=(0, 2, 1, 3), decompose=_decompose_scaled_dot,
            states=_states, reads=_read_attributes,
        ),
    ),
)  # fmt: skip

"""Sums of products: dot_general, the former dot, einsum and unary_einsum.

The specification defines a dot product as `multiply` in the operands' element type, then `reduce`
in the result's. Here products and sums are as exact as `reference.numerics.products`, in any result
type: products of si8 that contribute to an si32 do not wrap first. `precision_config` and the
algorithms presuppose this (f8 operands, accumulation in f32), and XLA documents it as
`preferred_element_type`. If both types are equal it makes no difference for integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from math import prod
from typing import NamedTuple

import numpy as np

from reference.ir.constraints import require
from reference.ir.notation import (
    QuantizedTensors,
    admit,
    are_dimensions,
    is_quantized,
    is_unique,
    join_with_commas,
    quantized_element,
    same_shape,
    sizes_agree,
)
from reference.ir.op import FIRST_OPERAND, Dialect, Op, QuantizedUse, Rounding, Structure
from reference.ir.program import QuantizedType, TensorType
from reference.ir.types import ALL, ELEMENT_TYPES, Array, Kind, element_type_of
from reference.numerics.arithmetic import quiet
from reference.numerics.conversion import reduce_value_precision
from reference.numerics.products import add_initial_zero, matmul, round_sums, to_wide_type
from reference.numerics.rounding import round_to, to_float64

PER_TENSOR = admit(*Kind, quantized=QuantizedTensors.PER_TENSOR)
"""The types that lhs may have (I1): a hybrid op has a quantized rhs only."""

PRECISIONS = ("DEFAULT", "HIGH", "HIGHEST")
PRECISION_TYPES = ("tf32", *(name for name, of in ELEMENT_TYPES.items() if of.is_float))
"""FloatType and TensorFloat32, as I8 to I10 of `dot_general` require."""

ALGORITHM = (
    "lhs_precision_type", "rhs_precision_type", "accumulation_type", "lhs_component_count",
    "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation",
)  # fmt: skip
"""The fields of a dot algorithm."""

_COUNTS = ALGORITHM[3:6]

_DIMENSIONS = (
    "lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
    "rhs_contracting_dimensions",
)  # fmt: skip


class Dimensions(NamedTuple):
    """The batching and contracting dimensions of both operands, in pairs."""

    lhs_batching: tuple[int, ...]
    rhs_batching: tuple[int, ...]
    lhs_contracting: tuple[int, ...]
    rhs_contracting: tuple[int, ...]

    def lhs_result(self, rank: int) -> tuple[int, ...]:
        """Return the dimensions of lhs that only the result has (`lhs_result_dimensions`)."""
        used = (*self.lhs_batching, *self.lhs_contracting)
        return tuple(d for d in range(rank) if d not in used)

    def rhs_result(self, rank: int) -> tuple[int, ...]:
        """Return the dimensions of rhs that only the result has (`rhs_result_dimensions`)."""
        used = (*self.rhs_batching, *self.rhs_contracting)
        return tuple(d for d in range(rank) if d not in used)


class ProductTypes(NamedTuple):
    """The types of lhs, rhs and result of a product."""

    lhs: TensorType
    rhs: TensorType
    result: TensorType


# -- types ------------------------------------------------------------------------------------


def check_precision_config(given: Sequence[str], size_id: str, input_id: str) -> None:
    """Check `precision_config`; an empty configuration means DEFAULT for both operands.

    Raises:
        ConstraintViolation: `input_id` (no such precision), `size_id` (not two precisions).
    """
    require(input_id, all(one in PRECISIONS for one in given), given)
    require(size_id, len(given) in (0, 2), given)


def check_expressed(
    lhs: QuantizedType | None,
    rhs: QuantizedType,
    types: ProductTypes,
    id: str,  # noqa: A002 - the spec's word
) -> None:
    """Check that expressed types agree, as constraints on quantized operands require.

    Args:
        lhs: the quantized type of lhs, None for a hybrid op.
        rhs: the quantized type of rhs.
        types: the types of lhs, rhs and result.
        id: the id of the constraint.

    Raises:
        ConstraintViolation: `id`, if the expressed types (for a hybrid op: the element types of lhs
            and result and the expressed type of rhs) differ.
    """
    if lhs is None:
        hybrid = {types.lhs.element_type, rhs.expressed_type, types.result.element_type}
        require(id, len(hybrid) == 1, join_with_commas(*types))
        return
    result = quantized_element(types.result)
    expressed = {of.expressed_type for of in (lhs, rhs, result) if of is not None}
    require(id, len(expressed) == 1, join_with_commas(*types))


def _agree(lhs: TensorType, left: Sequence[int], rhs: TensorType, right: Sequence[int]) -> bool:
    return all(sizes_agree(lhs.shape[i], rhs.shape[j]) for i, j in zip(left, right, strict=True))


def dot_general_type(
    lhs: TensorType,
    rhs: TensorType,
    *,
    lhs_batching_dimensions: tuple[int, ...] = (),
    rhs_batching_dimensions: tuple[int, ...] = (),
    lhs_contracting_dimensions: tuple[int, ...] = (),
    rhs_contracting_dimensions: tuple[int, ...] = (),
    precision_config: tuple[str, ...] = (),
    result: TensorType,
    **algorithm: str | int | bool | None,
) -> TensorType:
    """Return the result type of `dot_general`, which the program states: its element type is free.

    Raises:
        ConstraintViolation: I1 (per-axis quantized lhs), I7 to I10 (no such precision), C1 to C10
            and C12 (dimensions), C11 (precision_config), C13 (element types), C14 to C20 (quantized
            types), C21 to C24 (algorithm).
    """
    require("I1", lhs in PER_TENSOR, lhs)
    dimensions = Dimensions(
        lhs_batching_dimensions, rhs_batching_dimensions,
        lhs_contracting_dimensions, rhs_contracting_dimensions,
    )  # fmt: skip
    shape = _shape(lhs, rhs, dimensions)
    if shape is not None:
        inferred = TensorType(shape, result.element_type)
        require("C12", same_shape(inferred, result), join_with_commas(inferred, result))
    check_precision_config(precision_config, "C11", "I7")
    types = ProductTypes(lhs, rhs, result)
    if any(is_quantized(of) for of in types):
        _check_quantized(types, rhs_contracting_dimensions)
    else:
        require("C13", lhs.element_type == rhs.element_type, join_with_commas(lhs, rhs))
    _check_algorithm(precision_config, algorithm)
    return result


def check_dimensions(
    lhs: TensorType,
    rhs: TensorType,
    of: Dimensions,
    ids: Sequence[str] = tuple(f"C{number}" for number in range(1, 11)),
) -> bool:
    """Check the dimensions of a product, by ids in the order of C1 to C10 of `dot_general`; return
    whether the result has a shape.

    Raises:
        ConstraintViolation: with the violated id.
    """
    found = [
        require(ids[0], len(of.lhs_batching) == len(of.rhs_batching), of),
        require(ids[1], len(of.lhs_contracting) == len(of.rhs_contracting), of),
        require(ids[2], is_unique((*of.lhs_batching, *of.lhs_contracting)), of),
        require(ids[3], is_unique((*of.rhs_batching, *of.rhs_contracting)), of),
        require(ids[4], are_dimensions(of.lhs_batching, lhs.rank), f"{of} of {lhs}"),
        require(ids[5], are_dimensions(of.lhs_contracting, lhs.rank), f"{of} of {lhs}"),
        require(ids[6], are_dimensions(of.rhs_batching, rhs.rank), f"{of} of {rhs}"),
        require(ids[7], are_dimensions(of.rhs_contracting, rhs.rank), f"{of} of {rhs}"),
    ]
    if not all(found):
        return False
    same_depth = _agree(lhs, of.lhs_contracting, rhs, of.rhs_contracting)
    require(ids[9], same_depth, f"{of} of {lhs}, {rhs}")
    same_batch = _agree(lhs, of.lhs_batching, rhs, of.rhs_batching)
    return require(ids[8], same_batch, f"{of} of {lhs}, {rhs}")


def _shape(lhs: TensorType, rhs: TensorType, of: Dimensions) -> tuple[int | None, ...] | None:
    """Return the result's shape; None if the dimensions violate C1 to C9."""
    if not check_dimensions(lhs, rhs, of):
        return None
    return (
        *(lhs.shape[i] for i in of.lhs_batching),
        *(lhs.shape[d] for d in of.lhs_result(lhs.rank)),
        *(rhs.shape[d] for d in of.rhs_result(rhs.rank)),
    )


def _check_quantized(types: ProductTypes, rhs_contracting: tuple[int, ...]) -> None:
    """Check C14 to C20 of `dot_general`."""
    lhs, rhs, result = (quantized_element(of) for of in types)
    same = (lhs is None) == (result is None)
    if not require("C14", same and rhs is not None, join_with_commas(*types)) or rhs is None:
        return
    require("C15", not any(rhs.zero_points), rhs.zero_points)
    axis = rhs.quantization_dimension
    require("C16", axis is None or axis not in rhs_contracting, axis)
    if lhs is None or result is None:
        check_expressed(None, rhs, types, "C20")
        return
    require("C17", lhs.storage_type == rhs.storage_type, join_with_commas(*types))
    check_expressed(lhs, rhs, types, "C18")
    per_tensor = result.quantization_dimension is None
    require("C19", axis is not None or per_tensor, join_with_commas(*types))


def _check_algorithm(
    precision_config: tuple[str, ...], algorithm: dict[str, str | int | bool | None]
) -> None:
    """Check I8 to I10 and C21 to C24 of `dot_general`; without fields there is no algorithm."""
    if all(value is None for value in algorithm.values()):
        return
    for id_, name in zip(("I8", "I9", "I10"), ALGORITHM[:3], strict=True):
        require(id_, algorithm.get(name) in PRECISION_TYPES, algorithm.get(name))  # I8, I9, I10
    require("C21", all(one == "DEFAULT" for one in precision_config), precision_config)
    for id_, name in zip(("C22", "C23", "C24"), ALGORITHM[3:6], strict=True):
        count = algorithm.get(name)
        positive = isinstance(count, int) and count > 0
        require(id_, positive, f"{name} = {count}")  # C22, C23, C24


def dot_type(
    lhs: TensorType,
    rhs: TensorType,
    *,
    precision_config: tuple[str, ...] = (),
    result: TensorType,
) -> TensorType:
    """Return the result type of the former `dot`, a product of vectors and matrices.

    Raises:
        ConstraintViolation: "operands" (ranks other than 1 and 2, sizes or element types that
            disagree), "attributes" (precision_config), "result" (shape).
    """
    check_precision_config(precision_config, "attributes", "attributes")
    if not require("operands", {lhs.rank, rhs.rank} <= {1, 2}, join_with_commas(lhs, rhs)):
        return result
    agree = _agree(lhs, (lhs.rank - 1,), rhs, (0,))
    plain = not is_quantized(lhs) and not is_quantized(rhs)
    alike = not plain or lhs.element_type == rhs.element_type
    require("operands", agree and alike, join_with_commas(lhs, rhs))
    inferred = TensorType((*lhs.shape[:-1], *rhs.shape[1:]), result.element_type)
    require("result", same_shape(inferred, result), join_with_commas(inferred, result))
    return result


def einsum_type(
    lhs: TensorType, rhs: TensorType, *, einsum_config: str, result: TensorType
) -> TensorType:
    """Return the result type of the former `einsum`, whose configuration is numpy's.

    Raises:
        ConstraintViolation: "attributes" (a configuration that does not fit the operands), "result"
            (shape).
    """
    return _einsum_type((lhs, rhs), einsum_config, result)


def unary_einsum_type(operand: TensorType, *, einsum_config: str, result: TensorType) -> TensorType:
    """Return the result type of the former `unary_einsum`: transpositions, diagonals and sums.

    Raises:
        ConstraintViolation: as `einsum_type`.
    """
    return _einsum_type((operand,), einsum_config, result)


def _einsum_type(operands: tuple[TensorType, ...], config: str, result: TensorType) -> TensorType:
    if not all(of.is_static for of in (*operands, result)):
        return result
    views = [np.broadcast_to(np.zeros((), np.int8), of.static_shape) for of in operands]
    try:
        shape = np.einsum(config, *views).shape
    except ValueError as error:
        require("attributes", False, f"{config}: {error}")
        return result
    require("result", shape == result.shape, f"{shape} for {result}")
    return result


# -- evaluation -------------------------------------------------------------------------------


def arrange_matrices(
    lhs: Array, rhs: Array, dimensions: Dimensions
) -> tuple[Array, Array, tuple[int, ...]]:
    """Return the operands as (batches of) matrices of wide elements, and the result's shape."""
    left, right = dimensions.lhs_result(lhs.ndim), dimensions.rhs_result(rhs.ndim)
    batch = tuple(lhs.shape[d] for d in dimensions.lhs_batching)
    depth = prod(lhs.shape[d] for d in dimensions.lhs_contracting)
    rows = tuple(lhs.shape[d] for d in left)
    columns = tuple(rhs.shape[d] for d in right)
    batches = (prod(batch),) if batch else ()
    a = lhs.transpose((*dimensions.lhs_batching, *left, *dimensions.lhs_contracting))
    b = rhs.transpose((*dimensions.rhs_batching, *dimensions.rhs_contracting, *right))
    return (
        to_wide_type(a).reshape(*batches, prod(rows), depth),
        to_wide_type(b).reshape(*batches, depth, prod(columns)),
        (*batch, *rows, *columns),
    )


def rounds_operands(algorithm: Mapping[str, object]) -> bool:
    """Return whether the stated algorithm rounds each operand once, without decomposing it.

    The specification does not define how a decomposition compensates for rounding.
    """
    stated = algorithm.get("accumulation_type") is not None
    return stated and all(algorithm.get(name) == 1 for name in _COUNTS)


def round_to_stated_types(
    lhs: Array, rhs: Array, algorithm: Mapping[str, object]
) -> tuple[Array, Array]:
    """Return the operands, rounded to the precision types of an algorithm that rounds them.

    Rounding is to nearest, ties to even, as in `convert`. The type of a rounded operand holds all
    numbers of the precision type. Integers and complex numbers have no precision type and stay.
    """
    if not rounds_operands(algorithm):
        return lhs, rhs
    names = (str(algorithm.get(f"{side}_precision_type")) for side in ("lhs", "rhs"))
    left, right = (
        _round_to_precision(one, name) for one, name in zip((lhs, rhs), names, strict=True)
    )
    return left, right


@quiet
def _round_to_precision(array: Array, name: str) -> Array:
    """Return an array rounded to a precision type, as f32, which holds all numbers of those
    types."""
    if not element_type_of(array).is_float or name == "f64":
        return array
    value = to_float64(array)
    if name == "tf32":  # the exponents of f32, 10 bits of mantissa
        return np.asarray(
            reduce_value_precision(value, ELEMENT_TYPES["f32"].float_format, 8, 10), np.float32
        )
    return np.asarray(to_float64(round_to(value, ELEMENT_TYPES[name])), np.float32)


def dot_general(
    lhs: Array,
    rhs: Array,
    *,
    lhs_batching_dimensions: tuple[int, ...] = (),
    rhs_batching_dimensions: tuple[int, ...] = (),
    lhs_contracting_dimensions: tuple[int, ...] = (),
    rhs_contracting_dimensions: tuple[int, ...] = (),
    result: TensorType,
    **given: object,
) -> Array:
    """Return sums of products along the contracting dimensions, for each batch index.

    An algorithm first rounds the operands. Its other fields, and `precision_config`, only state how
    far a backend's result may be from this result.
    """
    boolean = lhs.dtype == np.bool_
    lhs, rhs = round_to_stated_types(lhs, rhs, given)
    dimensions = Dimensions(
        lhs_batching_dimensions, rhs_batching_dimensions,
        lhs_contracting_dimensions, rhs_contracting_dimensions,
    )  # fmt: skip
    a, b, shape = arrange_matrices(lhs, rhs, dimensions)
    return matmul(a, b, result.element, boolean=boolean).reshape(shape)


def dot_dimensions(lhs_rank: int) -> Dimensions:
    """Return the dimensions of a `dot_general` equivalent to `dot`."""
    return Dimensions((), (), (lhs_rank - 1,), (0,))


def dot(lhs: Array, rhs: Array, *, result: TensorType, **_: object) -> Array:
    """Return the product of vectors or matrices: contracts the last of lhs with the first of
    rhs."""
    a, b, shape = arrange_matrices(lhs, rhs, dot_dimensions(lhs.ndim))
    return matmul(a, b, result.element, boolean=lhs.dtype == np.bool_).reshape(shape)


def einsum(lhs: Array, rhs: Array, *, einsum_config: str, result: TensorType) -> Array:
    """Return sums of products over the indices that the result lacks."""
    return _einsum((lhs, rhs), einsum_config, result)


def unary_einsum(operand: Array, *, einsum_config: str, result: TensorType) -> Array:
    """Return sums over the indices that the result lacks."""
    return _einsum((operand,), einsum_config, result)


def _einsum(operands: tuple[Array, ...], config: str, result: TensorType) -> Array:
    total = einsum_sums(operands, config)
    if operands[0].dtype == np.bool_:
        total = (total != 0).astype(np.float64)
    return round_sums(add_initial_zero(total) if has_sums(config) else total, result.element)


def has_sums(config: str) -> bool:
    """Return whether an einsum has an index that the result lacks, and so contains sums.

    Without an arrow, repeated indices are summed, as in numpy.
    """
    given, arrow, result = config.partition("->")
    indices = [one for one in given if one.isalpha()]
    return any(indices.count(index) > 1 if not arrow else index not in result for index in indices)


def einsum_sums(operands: Sequence[Array], config: str, *, magnitudes: bool = False) -> Array:
    """Return the sums of an einsum before rounding, or float64 sums of their magnitudes.

    Without sums the results are products, or moved elements: -0 stays -0.
    """
    factors = [to_wide_type(array) for array in operands]
    if magnitudes:
        factors = [np.abs(factor).astype(np.float64) for factor in factors]
    if has_sums(config):
        return np.asarray(np.einsum(config, *factors))
    return np.asarray(reduce(np.multiply, _align_factors(config, factors)))


def _align_factors(config: str, factors: Sequence[Array]) -> list[Array]:
    """Return the elements of each factor at their positions in the result; nothing is summed."""
    spread: list[Array] = []
    for index, factor in enumerate(factors):
        places = [np.ones(one.shape, np.int64) for one in factors]
        places[index] = np.arange(factor.size).reshape(factor.shape)
        spread.append(factor.reshape(-1)[np.einsum(config, *places)])
    return spread


_FORMER_TYPES = tuple(
    ELEMENT_TYPES[name] for name in ("si32", "ui8", "bf16", "f32", "f64", "complex<f32>")
)
"""Element types of the ops that are no longer specified: some of each kind."""

_op = partial(
    Op, dialect=Dialect.STABLEHLO, specified=True, principal=FIRST_OPERAND,
    quantized=QuantizedUse.COMPUTES, rounding=Rounding.ACCUMULATES, structure=Structure.COMPUTES,
    lifts=False, needs_result=True,
)  # fmt: skip

OPS: tuple[Op, ...] = (
    _op(
        name="dot", specified=False, type_function=dot_type, evaluate=dot,
        operands=("lhs", "rhs"), attributes=("precision_config",), optional=("precision_config",),
        constraints=(), element_types=_FORMER_TYPES,
    ),
    _op(
        name="dot_general", type_function=dot_general_type, evaluate=dot_general,
        operands=("lhs", "rhs"), attributes=(*_DIMENSIONS, "precision_config", *ALGORITHM),
        optional=(*_DIMENSIONS, "precision_config", *ALGORITHM),
        constraints=tuple(f"C{number}" for number in range(1, 25)),
        inputs=("I1", "I7", "I8", "I9", "I10"), element_types=ALL, unquantized=ALGORITHM,
    ),
    _op(
        name="einsum", specified=False, type_function=einsum_type, evaluate=einsum,
        operands=("lhs", "rhs"), attributes=("einsum_config",), constraints=(),
        element_types=_FORMER_TYPES,
    ),
    _op(
        name="unary_einsum", specified=False, type_function=unary_einsum_type,
        evaluate=unary_einsum, operands=("operand",), attributes=("einsum_config",),
        constraints=(), element_types=_FORMER_TYPES,
    ),
)  # fmt: skip
"""The ops of this family."""

"""Instructions of XLA that StableHLO lacks, to which some of XlaBuilder's ops are lowered.

Source: XLA operation semantics ("Cosh", "Erf", "Scan", "TopK"); names and attributes come from the
MLIR dialect in which XLA accepts them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from reference.ir.constraints import require
from reference.ir.op import FIRST_OPERAND, Dialect, Op, QuantizedUse, Rounding, Structure
from reference.ir.program import Region, TensorType
from reference.ir.regions import Body, argument_types, output_types
from reference.ir.types import (
    COMPLEX,
    ELEMENT_TYPES,
    FLOATS,
    INTEGERS,
    Array,
    element_type_of,
)
from reference.numerics.elementary.functions import FUNCTIONS
from reference.numerics.rounding import to_float64

_SI32 = ELEMENT_TYPES["si32"]
Types = tuple[TensorType, ...]
Arrays = tuple[Array, ...]


def _same_type(operand: TensorType, *, result: TensorType | None = None) -> TensorType:
    require("operands", operand.element in (*FLOATS, *COMPLEX), operand)
    require("result", result in (None, operand), result)
    return operand


def _same_real_type(operand: TensorType, *, result: TensorType | None = None) -> TensorType:
    require("operands", operand.element in FLOATS, operand)
    return _same_type(operand, result=result)


def top_k_type(
    operand: TensorType, *, k: int, ids: tuple[str, str, str] = ("operands", "operands", "result"),
    results: Types | None = None, **_: object,
) -> Types:  # fmt: skip
    """Return the result types of `mhlo.topk` and `chlo.top_k`: values, and their indices along the
    last dimension.

    Raises:
        ConstraintViolation: "operands" (complex numbers, which have no order), then the ids for an
            operand without dimensions, fewer than k elements, and other results.
    """
    require("operands", not operand.element.is_complex, operand)
    last = operand.shape[-1] if operand.rank else 0
    fits = require(ids[0], operand.rank > 0, operand)
    fits = fits and require(ids[1], 0 <= k <= (k if last is None else last), k)
    sizes = (*operand.shape[:-1], k)
    types = TensorType(sizes, operand.element_type), TensorType(sizes, _SI32)
    if fits:
        require(ids[2], not results or results == types, results)
    return types


def top_k(operand: Array, *, k: int, largest: bool = True, is_stable: bool = True) -> Arrays:
    """Return the k largest or smallest elements in order, and their indices.

    Equal elements are ordered by index, also if the order need not be stable. NaN is treated as
    larger than all numbers. Both are unspecified (reference/unspecified/mhlo.py).
    """
    del is_stable
    ranks = _ranks(operand)
    return take_smallest(-1 - ranks if largest else ranks, operand, k)


def take_smallest(keys: Array, operand: Array, k: int) -> Arrays:
    """Return the k elements with the smallest keys along the last dimension, and their indices.

    Equal keys are ordered by index.
    """
    places = np.argsort(keys, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(operand, places, axis=-1), places.astype(np.int32)


def _ranks(operand: Array) -> Array:
    """Return integers in the elements' order; equal for zeros of both signs; NaN is last."""
    numbers = to_float64(operand) if element_type_of(operand).is_float else operand
    _, ranks = np.unique(numbers, return_inverse=True)
    return ranks.reshape(operand.shape)


def _remove_dimension(of: TensorType, dimension: int) -> TensorType:
    sizes = of.static_shape
    return TensorType((*sizes[:dimension], *sizes[dimension + 1 :]), of.element_type)


def _insert_dimension(of: TensorType, dimension: int, size: int) -> TensorType:
    sizes = of.static_shape
    return TensorType((*sizes[:dimension], size, *sizes[dimension:]), of.element_type)


def scan_type(
    operands: Types, *, body: Region, dimension: int, operandSegmentSizes: tuple[int, ...],  # noqa: N803
    resultSegmentSizes: tuple[int, ...], results: Types | None = None, **_: Any,  # noqa: N803
) -> Types:  # fmt: skip
    """Return the result types of `mhlo.scan`: outputs with the body's rank plus 1, then carries."""
    require("operands", sum(operandSegmentSizes) == len(operands), operandSegmentSizes)
    count, made = operandSegmentSizes[0], resultSegmentSizes[0]
    require("operands", _can_be_scanned(operands[:count], dimension), dimension)
    require(
        "body", _accepts_slices(body, operands[:count], operands[count:], dimension), body.arguments
    )
    require("body", _returns_carries(body, operands[count:], made), output_types(body))
    gives = tuple(of for of in output_types(body) if isinstance(of, TensorType))
    size = operands[0].static_shape[dimension]
    types = (*(_insert_dimension(of, dimension, size) for of in gives[:made]), *gives[made:])
    require("result", results in (None, types), results)
    return types


def scan(
    operands: Arrays, *, body: Body, dimension: int, operandSegmentSizes: tuple[int, ...],  # noqa: N803
    resultSegmentSizes: tuple[int, ...], is_reverse: bool = False, **_: Any,  # noqa: N803
) -> Arrays:  # fmt: skip
    """Evaluate `mhlo.scan`: apply the body to slice after slice, propagating its carries."""
    count, made = operandSegmentSizes[0], resultSegmentSizes[0]
    inputs, carries = operands[:count], operands[count:]
    size = inputs[0].shape[dimension]
    outputs: list[list[Array]] = [[] for _ in range(made)]
    for at in reversed(range(size)) if is_reverse else range(size):
        slices = (np.take(one, at, axis=dimension) for one in inputs)
        given = body(*map(np.asarray, slices), *carries)
        for kept, one in zip(outputs, given, strict=False):
            kept.append(one)
        carries = given[made:]
    if not size:
        types = tuple(of for of in output_types(body.region) if isinstance(of, TensorType))
        empty = (
            np.zeros(_insert_dimension(of, dimension, 0).static_shape, of.storage)
            for of in types[:made]
        )
        return (*empty, *carries)
    ordered = (kept[::-1] if is_reverse else kept for kept in outputs)
    return (*(np.stack(kept, axis=dimension) for kept in ordered), *carries)


def check_scan(inputs: Types, carries: Types, body: Region, dimension: int, made: int) -> None:
    """Check P1 to P3 of a scan.

    P1: a dimension that all inputs have, of one size. P2: the body takes slices of the inputs, then
    the carries. P3: it returns outputs, then the carries.
    """
    if require("P1", _can_be_scanned(inputs, dimension), dimension):
        require("P2", _accepts_slices(body, inputs, carries, dimension), argument_types(body))
    require("P3", _returns_carries(body, carries, made), output_types(body))


def _can_be_scanned(inputs: Types, dimension: int) -> bool:
    """Return whether all inputs are static and have equal sizes along that dimension."""
    inside = bool(inputs) and all(of.is_static and 0 <= dimension < of.rank for of in inputs)
    return inside and len({of.static_shape[dimension] for of in inputs}) == 1


def _accepts_slices(body: Region, inputs: Types, carries: Types, dimension: int) -> bool:
    """Return whether a body takes slices of the inputs, then the carries."""
    slices = tuple(_remove_dimension(of, dimension) for of in inputs)
    return argument_types(body) == (*slices, *carries)


def _returns_carries(body: Region, carries: Types, made: int) -> bool:
    """Return whether a body returns `made` outputs, then the carries."""
    return output_types(body)[made:] == carries


_op = partial(
    Op, dialect=Dialect.MHLO, specified=False, principal=FIRST_OPERAND, constraints=(),
    quantized=QuantizedUse.REFUSES, structure=Structure.COMPUTES, needs_result=False,
)  # fmt: skip

OPS: tuple[Op, ...] = (
    _op(
        name="mhlo.cosh", type_function=_same_type, evaluate=FUNCTIONS["cosh"],
        operands=("operand",), attributes=(), element_types=(*FLOATS, *COMPLEX),
        rounding=Rounding.APPROXIMATES, lifts=True,
    ),
    _op(
        name="mhlo.erf", type_function=_same_real_type, evaluate=FUNCTIONS["erf"],
        operands=("operand",), attributes=(), element_types=FLOATS,
        rounding=Rounding.APPROXIMATES, lifts=True,
    ),
    _op(
        name="mhlo.scan", type_function=scan_type, evaluate=scan, operands=("*operands",),
        attributes=(
            "dimension", "is_reverse", "is_associative", "operandSegmentSizes",
            "resultSegmentSizes",
        ),
        optional=("is_reverse", "is_associative"), regions=("body",), several=True,
        element_types=(*INTEGERS, *FLOATS), rounding=Rounding.ACCUMULATES, lifts=False,
    ),
    _op(
        name="mhlo.topk", type_function=top_k_type, evaluate=top_k, operands=("operand",),
        attributes=("k", "largest"), optional=("largest",), several=True,
        element_types=(*INTEGERS, *FLOATS), rounding=Rounding.MOVES, lifts=False,
    ),
)  # fmt: skip

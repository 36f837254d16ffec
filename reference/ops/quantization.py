"""Quantized tensors: constraints on their types, and the ops to and from them.

A quantized tensor holds integers of its storage type, called codes here; a code i represents the
number (i - zero_point) * scale of the expressed type.

Source: StableHLO specification, "Types" (constraints C1 to C13 of quantized types), "Quantization
computations", and the ops `uniform_quantize` and `uniform_dequantize`.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np

from reference.ir.constraints import require
from reference.ir.notation import is_quantized, same_shape
from reference.ir.op import (
    FIRST_OPERAND,
    FIRST_RESULT,
    Dialect,
    Op,
    QuantizedUse,
    Rounding,
    Structure,
)
from reference.ir.program import QuantizedType, TensorType
from reference.ir.types import FLOATS, Array, ElementType
from reference.numerics.arithmetic import add, divide, multiply, quiet
from reference.numerics.conversion import convert_to
from reference.numerics.rounding import round_integers, round_to, to_float64


def uniform_quantize_type(operand: TensorType, *, result: TensorType) -> TensorType:
    """Return the result type of `uniform_quantize`, which the program states.

    Raises:
        ConstraintViolation: I1 (neither of floating-point nor of quantized type), C1 (shapes
            differ), C2 (result and operand have different expressed types; the result is not
            quantized).
    """
    taken = is_quantized(operand) or _is_float(operand)
    require("I1", taken, operand)
    require("C1", same_shape(operand, result), f"{operand}, {result}")
    same = expressed_of(operand) == expressed_of(result)
    require("C2", is_quantized(result) and (same or not taken), f"{operand}, {result}")
    return result


def uniform_dequantize_type(operand: TensorType, *, result: TensorType | None = None) -> TensorType:
    """Return the result type of `uniform_dequantize`: the operand's expressed type.

    Raises:
        ConstraintViolation: I1 (the operand is not quantized), C1 (shapes differ), C2 (element type
            of the result).
    """
    quantized = require("I1", is_quantized(operand), operand)
    inferred = TensorType(operand.shape, expressed_of(operand))
    if result is not None:
        require("C1", same_shape(operand, result), f"{operand}, {result}")
        element_type = inferred.element_type
        require("C2", not quantized or result.element_type == element_type, f"{operand}, {result}")
    return result or inferred


def expressed_of(given: TensorType) -> ElementType:
    """Return the expressed type of a quantized tensor, the element type of any other."""
    element_type = given.element_type
    return element_type.expressed_type if isinstance(element_type, QuantizedType) else element_type


def _is_float(given: TensorType) -> bool:
    return not isinstance(given.element_type, QuantizedType) and given.element_type.is_float


def violated_type_constraints(given: TensorType) -> tuple[str, ...]:
    """Return the ids of the constraints on quantized types that a tensor type violates, in order.

    C1, C2 and C8 hold by construction: bounds and zero points are integers, which are of the
    storage type if they are in its range (C3, C7). C4 is read as requiring scales that the
    expressed type has, or rounds to a positive finite number, because programs write them in
    decimal.
    """
    element_type = given.element_type
    if not isinstance(element_type, QuantizedType):
        return ()
    axis, storage, counts = (
        element_type.quantization_dimension,
        element_type.storage_type,
        len(element_type.scales),
    )
    holds = {
        "C3": storage.is_integer
        and storage.min_integer
        <= element_type.storage_min
        < element_type.storage_max
        <= storage.max_integer,
        "C4": element_type.expressed_type.is_float,
        "C5": all(scale > 0 for scale in element_type.scales),
        "C6": all(math.isfinite(scale) for scale in element_type.scales),
        "C7": all(
            element_type.storage_min <= zero <= element_type.storage_max
            for zero in element_type.zero_points
        ),
        "C9": counts == len(element_type.zero_points),
        "C10": axis is not None or counts == 1,
        "C11": axis is None or axis >= 0,
        "C12": axis is None or axis < given.rank,
        "C13": axis is None or not 0 <= axis < given.rank or given.shape[axis] in (None, counts),
    }
    if holds["C4"] and holds["C5"] and holds["C6"]:
        rounded = to_float64(
            round_to(np.array(element_type.scales, np.float64), element_type.expressed_type)
        )
        holds["C4"] = bool(np.all((rounded > 0) & np.isfinite(rounded)))
    return tuple(name for name, held in holds.items() if not held)


def dequantize(codes: Array, quantized_type: QuantizedType) -> Array:
    """Return the numbers that codes represent: the specification's `dequantize`.

    The zero point is subtracted without wrapping, as in the chapter "Types" (the formula in
    "Quantization computations" subtracts within the storage type, where 127 - -128 does not fit).
    The difference is converted to the expressed type, in which the product is rounded.
    """
    if _is_native(
        quantized_type
    ):  # such short differences are exact, and the machine rounds products
        scales, zeros = _steps(quantized_type, codes.ndim)
        return np.asarray((codes.astype(zeros.dtype) - zeros) * scales)
    difference = _to_int64(codes) - shape_per_axis(
        np.array(quantized_type.zero_points, np.int64), quantized_type, codes.ndim
    )
    return multiply(
        round_integers(difference, quantized_type.expressed_type),
        rounded_scales(quantized_type, codes.ndim),
    )


@quiet
def quantize(numbers: Array, quantized_type: QuantizedType) -> Array:
    """Return the codes nearest to numbers of the expressed type: the specification's `quantize`.

    Every step is rounded in the expressed type: the quotient by the scale, the sum with the zero
    point, the clamp to the range of codes, then the nearest integer, ties to even. A NaN, whose
    conversion to integers is unspecified, becomes 0 as everywhere in this reference, or the code
    nearest to 0.
    """
    to, rank = quantized_type.expressed_type, numbers.ndim
    if _is_native(quantized_type):
        scales, points = _steps(quantized_type, rank)
        moved = np.clip(
            np.rint(numbers / scales + points),
            quantized_type.storage_min,
            quantized_type.storage_max,
        )
        nearest = np.nan_to_num(
            moved, nan=min(max(0, quantized_type.storage_min), quantized_type.storage_max)
        )
        return _narrow(np.asarray(nearest), quantized_type.storage_type)
    zeros = shape_per_axis(np.array(quantized_type.zero_points, np.int64), quantized_type, rank)
    moved = add(divide(numbers, rounded_scales(quantized_type, rank)), round_integers(zeros, to))
    low, high = (
        to_float64(round_integers(np.array(bound, np.int64), to))
        for bound in (quantized_type.storage_min, quantized_type.storage_max)
    )
    whole = np.rint(np.clip(np.nan_to_num(to_float64(moved), nan=0.0), low, high))
    # a bound that the expressed type lacks, such as 2^31 - 1 in f32, may have been rounded up
    codes = np.clip(whole.astype(np.int64), quantized_type.storage_min, quantized_type.storage_max)
    return np.asarray(convert_to(codes, quantized_type.storage_type))


def requantize(codes: Array, given: QuantizedType, to: QuantizedType) -> Array:
    """Return codes of one quantized type as the nearest codes of another."""
    return codes if given == to else quantize(dequantize(codes, given), to)


def _is_native(quantized_type: QuantizedType) -> bool:
    """Return whether numpy's arithmetic rounds as the expressed type does, and has every code."""
    return (
        quantized_type.expressed_type.name in ("f32", "f64")
        and quantized_type.storage_type.bits <= 16
    )


@lru_cache(maxsize=256)
def _steps(quantized_type: QuantizedType, rank: int) -> tuple[Array, Array]:
    """Return scales and zero points as numbers of the expressed type, shaped for broadcasting."""
    zeros = np.array(quantized_type.zero_points, quantized_type.expressed_type.storage)
    return rounded_scales(quantized_type, rank), shape_per_axis(zeros, quantized_type, rank)


def _narrow(codes: Array, to: ElementType) -> Array:
    whole = codes.astype(np.int32)
    return whole.astype(to.storage) if to.bits >= 8 else convert_to(whole, to)


def _to_int64(codes: Array) -> Array:
    """Return codes as int64: no program has storage types of 64 bits (MLIR supports up to 32)."""
    return codes.astype(np.int64)


def rounded_scales(quantized_type: QuantizedType, rank: int) -> Array:
    """Return the scales as numbers of the expressed type, shaped for an array of that rank."""
    return shape_per_axis(
        round_to(np.array(quantized_type.scales, np.float64), quantized_type.expressed_type),
        quantized_type,
        rank,
    )


def shape_per_axis(values: Array, quantized_type: QuantizedType, rank: int) -> Array:
    """Return a value for all elements, or a value for each index of the quantization dimension."""
    axis = quantized_type.quantization_dimension
    if axis is None:
        return values.reshape(())
    return values.reshape(tuple(-1 if d == axis else 1 for d in range(rank)))


def _identity(operand: Array, **_: object) -> Array:
    """Return the operand: both ops are the identity on the numbers of the expressed type."""
    return operand


_EXPRESSED = tuple(of for of in FLOATS if of.float_format.has_zero)
"""Expressed types: all but f8E8M0FNU, which has no number for a code that represents 0."""

_op = partial(
    Op, dialect=Dialect.STABLEHLO, specified=True, attributes=(), element_types=_EXPRESSED,
    principal=FIRST_OPERAND, quantized=QuantizedUse.CONVERTS, rounding=Rounding.MOVES,
    structure=Structure.COMPUTES, lifts=True,
)  # fmt: skip

OPS: tuple[Op, ...] = (
    _op(
        name="uniform_dequantize", type_function=uniform_dequantize_type, evaluate=_identity,
        operands=("operand",), constraints=("C1", "C2"), inputs=("I1",), principal=FIRST_RESULT,
        needs_result=False,
    ),
    _op(
        name="uniform_quantize", type_function=uniform_quantize_type, evaluate=_identity,
        operands=("operand",), constraints=("C1", "C2"), inputs=("I1",), needs_result=True,
    ),
)  # fmt: skip
"""The ops of this family."""

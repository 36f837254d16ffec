"""Conversions between element types, and ops without operands: constant and iota."""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from reference.ir.program import Dense, TensorType
from reference.ir.types import Array, ElementType, FloatFormat, element_type_of, from_bits, to_bits
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import round_integers, round_to, to_float64


def constant(*, value: Dense) -> Array:
    """Return the elements of `value`."""
    return value.array


def iota(*, iota_dimension: int, result: TensorType) -> Array:
    """Return the index along `iota_dimension`, converted to the result's element type."""
    shape = result.static_shape
    count = shape[iota_dimension]
    along = [1] * len(shape)
    along[iota_dimension] = -1
    converted = (_few_indices if count <= _FEW else _indices)(count, result.element)
    return np.broadcast_to(converted.reshape(along), shape).copy()


def _indices(count: int, element_type: ElementType) -> Array:
    return convert_to(np.arange(count, dtype=np.int64), element_type)


_FEW = 1024
_few_indices = lru_cache(maxsize=256)(_indices)
"""`_indices` of few elements, cached: their conversion costs more than the rest of an iota."""


def convert(operand: Array, *, result: TensorType) -> Array:
    """Convert to the element type of `result`, see `convert_to`."""
    return convert_to(operand, result.element)


@quiet
def convert_to(operand: Array, to: ElementType) -> Array:
    """Convert to another element type.

    To a floating-point type: rounded once, to nearest with ties to even. To an integer type:
    integers wrap, floating-point numbers are truncated and saturated (NaN becomes 0). To i1:
    whether the value, or the real part of a complex value, is not zero.
    """
    element_type = element_type_of(operand)
    if to is element_type:
        return operand.copy()
    if to.is_complex:
        if element_type.is_complex:
            return operand.astype(to.storage)  # numpy rounds part by part, to f32 correctly
        real = convert_to(operand, to.part)
        return real.astype(to.storage)
    if element_type.is_complex:
        return convert_to(np.real(operand).copy(), to)
    if to.is_boolean:
        return np.asarray((to_float64(operand) if element_type.is_float else to_bits(operand)) != 0)
    if element_type.is_float:
        value = to_float64(operand)
        return round_to(value, to) if to.is_float else _truncate(value, to)
    wide = operand.astype(np.uint64 if element_type.is_unsigned else np.int64)
    if to.is_float:
        return round_integers(wide, to)
    return from_bits(wide.view(np.uint64), to)


def _truncate(value: Array, to: ElementType) -> Array:
    """Convert floating-point numbers to integers: towards zero, out of range to the nearest
    bound."""
    whole = np.trunc(np.where(np.isnan(value), 0.0, value))
    low, high = float(to.min_integer), float(to.max_integer)  # 2^63 - 1 becomes 2^63
    inside = (whole >= low) & (whole <= high) & (whole < 2.0 ** (to.bits - to.is_signed))
    wide = np.dtype(np.int64 if to.is_signed else np.uint64)
    integers = np.where(inside, whole, 0.0).astype(wide)
    bound = np.where(whole < 0, wide.type(to.min_integer), wide.type(to.max_integer))
    return from_bits(np.where(inside, integers, bound).view(np.uint64), to)


def bitcast_convert(operand: Array, *, result: TensorType) -> Array:
    """Return the same bits as elements of another type, little-endian.

    A wide element becomes (or results from) a row of narrow elements, the first of which has its
    lowest bits; elements under a byte are packed in this order too.
    """
    element_type, to = element_type_of(operand), result.element
    shape = operand.shape
    if element_type.bits > to.bits:
        shape = (*shape, element_type.bits // to.bits)
    elif element_type.bits < to.bits:
        shape = shape[:-1]
    if prod(shape) == 0:
        return np.zeros(shape, to.storage)
    return _from_bit_rows(_bit_rows(operand, element_type).reshape(*shape, to.bits), to)


def _bit_rows(array: Array, element_type: ElementType) -> Array:
    """Return the bits of each element along a new last dimension, lowest first."""
    bits = np.ascontiguousarray(to_bits(array))
    rows = bits.reshape(*array.shape, -1).view(np.uint8)  # complex: real part, then imaginary
    return np.unpackbits(rows, axis=-1, count=element_type.bits, bitorder="little")


def _from_bit_rows(rows: Array, to: ElementType) -> Array:
    packed = np.packbits(rows, axis=-1, bitorder="little")
    if to.is_complex:
        part = np.dtype(f"uint{to.part.bits}")
        return from_bits(packed.view(part), to)
    width = np.dtype(f"uint{max(8, to.bits)}")
    return from_bits(packed.view(width)[..., 0], to)


@quiet
def reduce_precision(operand: Array, *, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round as if to a format with fewer bits; see `reduce_value_precision`. NaN is unchanged."""
    element_type = element_type_of(operand)
    value = to_float64(operand)
    changed = reduce_value_precision(value, element_type.float_format, exponent_bits, mantissa_bits)
    unchanged = ~np.isfinite(value) | (changed == value)
    return np.where(unchanged, operand, round_to(changed, element_type))


def reduce_value_precision(
    value: Array, fmt: FloatFormat, exponent_bits: int, mantissa_bits: int
) -> Array:
    """Return the values (float64) of a format after `reduce_precision`.

    In the order of the specification: (1, 2) the mantissa is rounded to `mantissa_bits`, ties to
    even, at the position where the operand's own format, with that many mantissa bits, would end;
    (3) a magnitude whose exponent does not fit an IEEE format with `exponent_bits` becomes infinity
    or zero of the same sign. So the reduced format has no subnormals, except if it has as many
    exponent bits as the operand: then every exponent fits. With at least as many mantissa bits as
    the operand, the first step changes nothing.
    """
    if mantissa_bits < fmt.mantissa_bits:
        exponent = np.maximum(np.frexp(value)[1] - 1, fmt.min_exponent)
        place = exponent - mantissa_bits
        rounded = np.ldexp(np.rint(np.ldexp(value, -place)), place)
        value = np.where(np.isfinite(value), rounded, value)
    if exponent_bits < fmt.exponent_bits:
        bias = (1 << (exponent_bits - 1)) - 1
        exponent = np.frexp(value)[1] - 1
        finite = np.isfinite(value)
        value = np.where(finite & (exponent < 1 - bias), np.copysign(0.0, value), value)
        overflows = finite & (value != 0) & (exponent > bias)
        value = np.where(overflows, np.copysign(np.inf, value), value)
    return value


def complex_(lhs: Array, rhs: Array) -> Array:
    """Return complex numbers with these real and imaginary parts."""
    parts = np.stack([lhs, rhs], axis=-1)
    to = np.complex64 if lhs.dtype == np.float32 else np.complex128
    return parts.view(to)[..., 0]


def real(operand: Array) -> Array:
    """Return the real part; a floating-point number itself."""
    return np.real(operand).copy() if element_type_of(operand).is_complex else operand.copy()


@quiet
def imag(operand: Array) -> Array:
    """Return the imaginary part; zero for a floating-point number."""
    element_type = element_type_of(operand)
    if element_type.is_complex:
        return np.imag(operand).copy()
    return round_to(np.zeros(operand.shape), element_type)

"""Correct rounding to every floating-point type, and the primitives of ULP arithmetic.

numpy and ml_dtypes convert some pairs of types in two steps and so round twice. Here a value is
first *rounded to odd* in an intermediate precision (truncated, then the last bit set if any
discarded bit was set). A rounding to nearest even then equals a single rounding, provided that the
intermediate has two bits more than the target (Boldo and Melquiond, "Emulation of a FMA and
correctly rounded sums: proved algorithms using rounding to odd", 2008).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from reference.ir.types import (
    ELEMENT_TYPES,
    Array,
    ElementType,
    FloatFormat,
    NonFinite,
    bits_dtype,
    element_type_of,
    from_bits,
    to_bits,
)

_EXTENDED = np.dtype(np.longdouble)
HAS_EXTENDED = 63 <= np.finfo(np.longdouble).nmant <= 112
"""Whether longdouble is an IEEE format wider than float64: not on Windows, Apple arm, PowerPC."""

_F64, _F32 = np.dtype(np.float64), np.dtype(np.float32)
_F16, _BF16 = ELEMENT_TYPES["f16"].storage, ELEMENT_TYPES["bf16"].storage


def round_to(x: Array, to: ElementType) -> Array:
    """Round exact real values to the nearest value of a type, ties to even.

    Magnitudes beyond the type become infinity; without infinity, NaN (f8 FN and FNUZ, f8E8M0FNU) or
    the largest finite value (f4, f6). NaN stays NaN and becomes +0 in f4 and f6. FNUZ types turn -0
    into +0. f8E8M0FNU turns zero and negative values into NaN, positive values under 2^-127 into
    2^-127, and rounds ties up (IEEE 754-2019 4.3.1, as no significand is even).

    Args:
        x: float64 or longdouble, any shape.
        to: a floating-point type.

    Returns:
        An array of `to.storage` of the same shape.

    Raises:
        TypeError: if `x` is neither float64 nor longdouble, or `to` is not a floating-point type.
    """
    if not to.is_float:
        raise TypeError(f"cannot round to {to.name}: not a floating-point type")
    if x.dtype not in (_F64, _EXTENDED):
        raise TypeError(f"round_to takes float64 or longdouble, not {x.dtype}")
    with np.errstate(all="ignore"):
        if to.storage == _F64:
            return np.asarray(x.astype(np.float64))
        if to.storage == _F32:
            return np.asarray(x.astype(np.float32))
        odd = _odd_float32(x)
        if to.storage == _F16:
            return np.asarray(odd.astype(np.float16))
        if to.storage == _BF16:
            return _bfloat16(odd)
        return np.asarray(_byte_table(to).take(_odd_bits16(odd))).view(to.storage)


def overflow_threshold(element_type: ElementType) -> np.longdouble:
    """Return the least magnitude that overflows when it is rounded to nearest in a type."""
    form = element_type.float_format
    half = np.ldexp(np.longdouble(1), form.max_exponent - form.precision)
    return np.longdouble(form.max_finite) + half


def _odd_float64(x: Array) -> Array:
    """Round longdouble to odd in float64; return float64 unchanged."""
    if x.dtype == _F64:
        return x
    near = np.asarray(x.astype(np.float64))
    return _round_to_odd(x, near, near.view(np.int64)).view(np.float64)


def _odd_float32(x: Array) -> Array:
    x = _odd_float64(x)
    near = np.asarray(x.astype(np.float32))
    return _round_to_odd(x, near, near.view(np.int32)).view(np.float32)


def _round_to_odd(x: Array, near: Array, bits: Array) -> Array:
    """Return the bits of x rounded to odd, given x rounded to nearest and that value's bits."""
    back = near.astype(x.dtype)
    truncated = np.asarray(bits - (np.abs(back) > np.abs(x)).astype(bits.dtype))
    return np.asarray(truncated | ((back != x) & (x == x)).astype(bits.dtype))


def _bfloat16(odd: Array) -> Array:
    bits = odd.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.asarray(np.where(odd != odd, quiet, rounded).astype(np.uint16)).view(_BF16)


def _odd_bits16(odd: Array) -> Array:
    """Return the upper half of float32 bits, with the discarded bits merged into its last bit."""
    bits = odd.view(np.uint32)
    sticky = (bits & np.uint32(0xFFFF)) != 0
    return np.asarray((bits >> np.uint32(16)) | sticky.astype(np.uint32))


@cache
def _byte_table(to: ElementType) -> Array:
    """Return the code of a type under 16 bits for each of the 65536 values rounded to odd in
    bf16."""
    values = (np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)).view(np.float32)
    with np.errstate(all="ignore"):
        return _encode(values.astype(np.float64), to)


def _encode(x: Array, to: ElementType) -> Array:
    """Return codes (uint8) of float64 values rounded to nearest even, directly by definition."""
    form = to.float_format
    negative, magnitude = np.signbit(x), np.abs(x)
    finite = np.isfinite(x)
    magnitude = np.where(finite, magnitude, 0.0)
    exponent = np.maximum(np.frexp(magnitude)[1] - 1, form.min_exponent)
    steps = np.rint(np.ldexp(magnitude, form.mantissa_bits - exponent)).astype(np.int64)
    if not form.has_zero:
        steps = np.maximum(steps, 1)
    # A carry into the next binade increments the exponent field.
    field = exponent - form.min_exponent + (1 if form.has_zero else 0)
    unit = 1 << form.mantissa_bits
    code = np.where(steps >= unit, field * unit + (steps - unit), steps)
    if not form.has_zero:
        code = field + (steps - 1)
    code = np.where(finite, code, 1 << 15)
    top = _top_code(form)
    overflow_threshold = code > top
    infinite = overflow_threshold & ~np.isnan(x)
    sign = negative.astype(np.int64) << (to.bits - 1)
    if form.non_finite is NonFinite.NONE:
        code = np.where(np.isnan(x), 0, np.where(infinite, top, code))
        sign = np.where(np.isnan(x), 0, sign)
    elif form.has_infinity:
        code = np.where(np.isnan(x), top + 1 + (unit >> 1), np.where(infinite, top + 1, code))
    else:
        code = np.where(overflow_threshold, _nan_code(form), code)
    if form.non_finite is NonFinite.NAN_NEGATIVE_ZERO:
        sign = np.where(overflow_threshold | (code == 0), 0, sign)
    if not form.signed:
        code = np.where(negative | (magnitude == 0) & finite, _nan_code(form), code)
        sign = np.zeros_like(code)
    return np.asarray(code | sign).astype(np.uint8)


def _nan_code(form: FloatFormat) -> int:
    bits = form.exponent_bits + form.mantissa_bits
    return 1 << bits if form.non_finite is NonFinite.NAN_NEGATIVE_ZERO else (1 << bits) - 1


def _top_code(form: FloatFormat) -> int:
    """Return the code of the largest finite value."""
    everything = (1 << (form.exponent_bits + form.mantissa_bits)) - 1
    if form.non_finite is NonFinite.IEEE:
        return everything - (1 << form.mantissa_bits)
    return everything - (1 if form.non_finite is NonFinite.NAN_ALL_ONES else 0)


def round_integers(x: Array, to: ElementType) -> Array:
    """Round integers to a floating-point type once, as `round_to` does, from any integer array.

    Raises:
        TypeError: if `to` is not a floating-point type.
    """
    wide = x.astype(np.uint64) if x.dtype == np.dtype(np.uint64) else x.astype(np.int64)
    if to.storage == _F64:
        return np.asarray(wide.astype(np.float64))
    negative = np.asarray(wide < 0)
    bits = np.asarray(wide).view(np.uint64)
    magnitude = np.where(negative, np.uint64(0) - bits, bits)
    # Rounding to odd at 2^11 leaves at most 53 bits, and at least 42 bits if truncated.
    large = magnitude >> np.uint64(53) != 0
    odd = (magnitude >> np.uint64(11)) | ((magnitude & np.uint64(0x7FF)) != 0).astype(np.uint64)
    value = np.where(large, odd.astype(np.float64) * 2048.0, magnitude.astype(np.float64))
    return round_to(np.where(negative, -value, value), to)


def to_float64(array: Array) -> Array:
    """Return a floating-point array of at most 64 bits as float64, exactly."""
    element_type = element_type_of(array)
    if element_type.bits <= 8:
        return np.asarray(_byte_values(element_type).take(to_bits(array)))
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return np.asarray(array.astype(np.float64))


@cache
def _byte_values(element_type: ElementType) -> Array:
    codes = np.arange(1 << element_type.bits, dtype=np.uint8)
    with np.errstate(all="ignore"):
        return np.asarray(from_bits(codes, element_type).astype(np.float64))


def ordinal(array: Array) -> Array:
    """Return consecutive integers for consecutive finite values: int64, 0 for both zeros.

    Infinities continue the sequence; the ordinal of NaN has no meaning. For f8E8M0FNU it is the
    exponent field. Differences of f64 ordinals may not fit int64.
    """
    element_type = element_type_of(array)
    if not element_type.float_format.signed:
        return to_bits(array).astype(np.int64)
    if element_type.bits == 64:
        bits = to_bits(array).view(np.int64)
        return np.where(bits < 0, np.int64(-(2**63)) - np.minimum(bits, 0), bits)
    code = to_bits(array).astype(np.int64)
    magnitude = code & ((1 << (element_type.bits - 1)) - 1)
    return np.where(code >> (element_type.bits - 1) != 0, -magnitude, magnitude)


def from_ordinal(number: Array, to: ElementType) -> Array:
    """Return the value of an ordinal, the inverse of `ordinal`; 0 is +0."""
    if not to.float_format.signed:
        return from_bits(number.astype(np.uint8), to)
    if to.bits == 64:
        bits = np.where(number < 0, np.int64(-(2**63)) - np.minimum(number, 0), number)
        return from_bits(bits.view(np.uint64), to)
    sign = np.where(number < 0, 1 << (to.bits - 1), 0)
    return from_bits((np.abs(number) | sign).astype(bits_dtype(to)), to)


def next_up(array: Array) -> Array:
    """Return the least value that compares greater (IEEE 754-2019 nextUp); the top and NaN stay.

    The successor of the largest finite value is infinity, if the type has it. The successor of the
    negative value nearest zero is -0, if the type has it, else 0.
    """
    return _step(array, 1)


def next_down(array: Array) -> Array:
    """Return the greatest value that compares less (IEEE 754-2019 nextDown); the bottom and NaN
    stay."""
    return _step(array, -1)


def _step(array: Array, direction: int) -> Array:
    element_type = element_type_of(array)
    form = element_type.float_format
    top = _top_code(form) + (1 if form.has_infinity else 0)
    bottom = -top if form.signed else 0
    moved = np.clip(ordinal(array) + direction, bottom, top)
    result = from_ordinal(moved, element_type)
    values = to_float64(array)
    with np.errstate(invalid="ignore"):
        if direction > 0 and form.has_negative_zero:
            to_zero = (moved == 0) & (values < 0)
            zero = round_to(np.float64(-0.0) * np.ones(array.shape), element_type)
            result = np.where(to_zero, zero, result)
        return np.asarray(np.where(np.isnan(values), array, result)).astype(element_type.storage)


def ulp_size(x: Array, element_type: ElementType) -> Array:
    """Return the spacing of a type's values at magnitude |x|, in units of 1, in x's own dtype.

    This is the gap above |x| truncated to the type, constant within a binade. It is at least the
    smallest positive value; beyond the largest finite value it is that value's spacing. NaN for
    NaN.

    Args:
        x: float64 or longdouble, any shape.
        element_type: a floating-point type.
    """
    form = element_type.float_format
    with np.errstate(all="ignore"):
        finite = np.isfinite(x)
        exponent = np.frexp(np.where(finite, np.abs(x), form.max_finite))[1] - 1
        exponent = np.where(x == 0, form.min_exponent, exponent)
        exponent = np.clip(exponent, form.min_exponent, form.max_exponent)
        size = np.ldexp(x.dtype.type(1), exponent - form.mantissa_bits)
        return np.asarray(np.where(np.isnan(x), x, size)).astype(x.dtype)

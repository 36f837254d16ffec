"""Unspecified results of elementwise ops.

Each reason gives its source; "spec" is the StableHLO specification. Its chapter "Errors" makes the
effect of an error implementation-defined unless an op says otherwise. Its chapter "Floating-point
exceptions" gives IEEE 754 operations their default results but leaves exceptions of other
operations, including complex arithmetic, to the implementation. All other results are asserted,
including these readings:

- integer overflow of add, subtract, multiply, negate, abs and shift_left wraps: spec "negate" of
  unsigned integers relies on wrapping, and StableHLO's interpreter and all known backends wrap;
- inexact conversions round to nearest, ties to even, and overflow to infinity if the format has it:
  IEEE 754 convertFormat, though spec "convert" does not say so yet (stablehlo#180);
- compare in total order distinguishes -0 from +0 and treats a NaN as equal to itself: StableHLO's
  own tests;
- bitcast_convert is little-endian, also for types under a byte: the example in the specification;
- no op here defines which NaN a NaN result is; comparisons of results must ignore it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reference.ir.op import plain_name
from reference.ir.program import Operation
from reference.ir.types import Array, ElementType, NonFinite, element_type_of, to_bits
from reference.numerics import arithmetic
from reference.numerics.arithmetic import widen_subbyte
from reference.numerics.conversion import reduce_value_precision
from reference.numerics.elementary import functions
from reference.numerics.elementary.complex_functions import SINGULAR_AT_ZERO
from reference.numerics.rounding import to_float64
from reference.ops.elementwise.elementwise import SHIFTS
from reference.unspecified.complex_arithmetic import (
    INVERSE_CUTS,
    branch_cut,
    complex_abs,
    complex_exception,
    complex_remainder,
    complex_sign,
    complex_sum,
    inverse_cut,
)
from reference.unspecified.formats import is_limited, not_encodable
from reference.unspecified.reasons import Unspecified

ElementwiseReason = Callable[[Operation, Sequence[Array], Array], Sequence[Unspecified]]

ORDER_DIRECTIONS = ("GE", "GT", "LE", "LT")
"""Comparison directions that need an order."""


def unspecified_elements(
    operation: Operation, operands: Sequence[Array], result: Array
) -> list[Unspecified]:
    """Return the unspecified elements of an elementwise op's result: (label, mask) pairs."""
    found: list[Unspecified] = []
    name = plain_name(operation.name)
    for reason in _REASONS.get(name, ()):
        found += reason(operation, operands, result)
    if name in _VALUES and is_limited(element_type_of(result)):
        found += not_encodable(_VALUES[name](operation, operands, result), result)
    return found


# --- Integers ------------------------------------------------------------------------------------


def _integer_division(_: Operation, operands: Sequence[Array], __: Array) -> list[Unspecified]:
    """Return divisions by zero and, if signed, of the smallest number by -1.

    Spec, "Errors": neither "divide" nor "remainder" defines division by zero, or the quotient of
    the smallest number and -1, which is too large; "remainder" is defined by this quotient.
    """
    element_type = element_type_of(operands[0])
    if not element_type.is_integer:
        return []
    lhs, rhs = (widen_subbyte(operand) for operand in operands)
    found = [("integer division by zero", rhs == 0)]
    if element_type.is_signed:
        overflow = (lhs == element_type.min_integer) & (rhs == -1)
        found.append(("smallest integer divided by -1", overflow))
    return found


def _negative_power(_: Operation, operands: Sequence[Array], __: Array) -> list[Unspecified]:
    """Return integers to a negative power.

    Spec: "power" of integers is "integer exponentiation". With a negative exponent it is not an
    integer in general, and the text does not define the result.
    """
    rhs = operands[1]
    if not element_type_of(rhs).is_signed:
        return []
    return [("negative power of an integer", widen_subbyte(rhs) < 0)]


def _power_overflow(_: Operation, operands: Sequence[Array], __: Array) -> list[Unspecified]:
    """Return powers that are too large for the integer type (spec, "Errors").

    Known backends do not wrap alike: XLA uses the low bits of the exponent only, because any larger
    exponent overflows.
    """
    lhs, rhs = operands
    element_type = element_type_of(lhs)
    if not element_type.is_integer:
        return []
    base, exponent = lhs.astype(object), rhs.astype(object)
    capped = np.clip(
        exponent, 0, element_type.bits
    )  # 2 to the power of the width is already too large
    exact = np.asarray(base**capped, dtype=object)
    outside = (exact < element_type.min_integer) | (exact > element_type.max_integer)
    return [("power too large for the integer type", np.asarray(outside, np.bool_))]


def _signaling_power(_: Operation, operands: Sequence[Array], result: Array) -> list[Unspecified]:
    """Return powers of signaling NaNs that would be 1 for a quiet NaN.

    IEEE 754-2019, 9.2.1: pow(x, 0) and pow(1, y) are 1 even for a quiet NaN. A signaling NaN is an
    invalid operation (6.2), whose result is NaN; C specifies neither.
    """
    element_type = element_type_of(result)
    if not element_type.is_float or element_type.float_format.non_finite is not NonFinite.IEEE:
        return []
    lhs, rhs = operands
    one = np.ones((), lhs.dtype)
    open_ = (_is_signaling(lhs) & (rhs == 0 * one)) | (_is_signaling(rhs) & (lhs == one))
    return [("power of a signaling NaN", open_)]


def _zeta(_: Operation, operands: Sequence[Array], __: Array) -> list[Unspecified]:
    """Return values of zeta(x, q) where CHLO's series diverges, and at poles of odd order.

    The series diverges if x is less than 1, where some continue it and others return NaN. The sign
    of a pole of odd order depends on the side.
    """
    x, q = map(to_float64, operands)
    pole = (q <= 0) & (np.floor(q) == q) & (np.fmod(x, 2) != 0) & (np.floor(x) == x)
    return [("zeta of a divergent series", x < 1), ("pole with limits of both signs", pole)]


def _polygamma(_: Operation, operands: Sequence[Array], __: Array) -> list[Unspecified]:
    """Return polygamma functions of an order that is no natural number, and at poles of odd order.

    CHLO has no definition. Orders of other kinds have several; the sign of a pole depends on the
    side if the order of the derivative is even, and not 0 (digamma).
    """
    n, x = map(to_float64, operands)
    pole = (x < 0) & (np.floor(x) == x) & (np.fmod(n, 2) == 0) & (n > 0)
    other = (n < 0) | (np.floor(n) != n) | np.isinf(n)
    return [
        ("polygamma of an order that is no natural number", other & ~np.isnan(n)),
        ("pole with limits of both signs", pole),
    ]


def _is_signaling(operand: Array) -> Array:
    element_type = element_type_of(operand)
    bits = to_bits(operand)
    quiet_bit = bits.dtype.type(1 << (element_type.float_format.mantissa_bits - 1))
    return np.isnan(operand) & ((bits & quiet_bit) == 0)


def _wide_shift(_: Operation, operands: Sequence[Array], __: Array) -> list[Unspecified]:
    """Return shifts by amounts outside of [0, width): spec "shift_*", TOSA and LLVM do not define
    them."""
    rhs = operands[1]
    beyond = to_bits(rhs) >= element_type_of(rhs).bits  # negative amounts are large as bits
    return [("shift by the width or more", beyond)]


def _large_count(operation: Operation, operands: Sequence[Array], _: Array) -> list[Unspecified]:
    """Return counts of two bits in an si2, whose largest number is 1 (spec, "Errors")."""
    bits = to_bits(operands[0])
    element_type = element_type_of(operands[0])
    if element_type.bits > 2:
        return []
    count = np.bitwise_count(bits) if operation.name == "popcnt" else np.where(bits == 0, 2, 0)
    return [("count too large for the type", count > element_type.max_integer)]


def _integer_conversion(
    _: Operation, operands: Sequence[Array], result: Array
) -> list[Unspecified]:
    """Return conversions of NaN and of values out of range to integers.

    Spec, "convert": to be decided (#180).
    """
    to = element_type_of(result)
    if not to.is_integer:
        return []
    return [("conversion to an integer out of range", _out_of_range(operands[0], to))]


def _out_of_range(operand: Array, to: ElementType) -> Array:
    element_type = element_type_of(operand)
    if element_type.is_boolean:
        return np.zeros(operand.shape, np.bool_)
    if element_type.is_integer:  # compared with bounds clamped to the source's own range
        wide = operand.astype(np.uint64 if element_type.is_unsigned else np.int64)
        low, high = (
            max(to.min_integer, element_type.min_integer),
            min(to.max_integer, element_type.max_integer),
        )
        return (wide < wide.dtype.type(low)) | (wide > wide.dtype.type(high))
    value = np.trunc(_value_of(operand))
    limit = 2.0 ** (to.bits - to.is_signed)  # exact, unlike the largest integer
    return ~((value >= float(to.min_integer)) & (value < limit))


def _large_index(operation: Operation, _: Sequence[Array], result: Array) -> list[Unspecified]:
    """Return indices that an integer type cannot hold; spec "iota" makes a constant of the
    index."""
    to = element_type_of(result)
    if not to.is_integer:
        return []
    return [("index out of the integer type's range", _index(operation, result) > to.max_integer)]


def _index(operation: Operation, result: Array) -> Array:
    given: dict[str, Any] = dict(operation.attributes)
    dimension = given["iota_dimension"]
    along = [1] * result.ndim
    along[dimension] = -1
    return np.arange(result.shape[dimension]).reshape(along)


# --- Order ---------------------------------------------------------------------------------------


def _total_order(operation: Operation, operands: Sequence[Array], _: Array) -> list[Unspecified]:
    """Return comparisons of two NaNs of one sign, or of a NaN without sign, in total order.

    IEEE 754-2019, 5.10 d: the order of two NaNs of one sign by payload is implementation-defined.
    The only NaN of FNUZ formats has the bits of -0, and IEEE 754 does not define such formats.
    """
    if operation.attribute("compare_type") != "TOTALORDER":
        return []
    lhs, rhs = operands
    element_type = element_type_of(lhs)
    left, right = np.isnan(to_float64(lhs)), np.isnan(to_float64(rhs))
    if element_type.float_format.non_finite is NonFinite.NAN_NEGATIVE_ZERO:
        ordered = operation.attribute("comparison_direction") in ORDER_DIRECTIONS
        return [("total order of a NaN without sign", (left != right) & ordered)]
    sign = 1 << (element_type.bits - 1) if element_type.float_format.signed else 0
    same_sign = (to_bits(lhs) & sign) == (to_bits(rhs) & sign)
    payloads = left & right & same_sign & (to_bits(lhs) != to_bits(rhs))
    return [("total order of two NaNs", payloads)]


def _complex_order(operation: Operation, operands: Sequence[Array], _: Array) -> list[Unspecified]:
    """Return order comparisons of complex numbers whose deciding parts are unordered.

    Spec, "compare": the order is lexicographic. EQ and NE need no order.
    """
    lhs, rhs = operands
    if not element_type_of(lhs).is_complex:
        return []
    if operation.attribute("comparison_direction") not in ORDER_DIRECTIONS:
        return []
    unordered = _has_nan(np.real(lhs), np.real(rhs)) | (
        (np.real(lhs) == np.real(rhs)) & _has_nan(np.imag(lhs), np.imag(rhs))
    )
    return [("order of complex numbers with NaN", unordered)]


def _has_nan(lhs: Array, rhs: Array) -> Array:
    return np.isnan(lhs) | np.isnan(rhs)


def _complex_extremum(_: Operation, operands: Sequence[Array], result: Array) -> list[Unspecified]:
    """Return extrema of complex numbers with NaN parts or zeros of different signs.

    Spec, "maximum", "minimum" (and therefore "clamp"): lexicographic. The text does not say whether
    a NaN part is propagated, or whether -0 precedes +0.
    """
    if not element_type_of(result).is_complex:
        return []
    nan = np.zeros(result.shape, np.bool_)
    for operand in operands:
        nan = nan | np.isnan(operand)
    zeros = np.zeros(result.shape, np.bool_)
    for i, one in enumerate(operands):
        for other in operands[i + 1 :]:
            zeros = zeros | _zeros_differ(one, other)
    return [
        ("order of complex numbers with NaN", nan),
        ("order of complex numbers by the sign of zero", zeros & ~nan),
    ]


def _zeros_differ(lhs: Array, rhs: Array) -> Array:
    """Return a mask of complex numbers whose order depends on whether -0 = +0."""
    real, imag = (
        _opposite_zeros(np.real(lhs), np.real(rhs)),
        _opposite_zeros(np.imag(lhs), np.imag(rhs)),
    )
    return real | ((np.real(lhs) == np.real(rhs)) & imag)


def _opposite_zeros(lhs: Array, rhs: Array) -> Array:
    return (lhs == 0) & (rhs == 0) & (np.signbit(lhs) != np.signbit(rhs))


# --- Bits ----------------------------------------------------------------------------------------


def _signaling_bits(_: Operation, operands: Sequence[Array], result: Array) -> list[Unspecified]:
    """Return bits of signaling NaNs.

    IEEE 754-2019, 6.2, allows quieting a signaling NaN whenever it is loaded or converted between
    formats; bitcast_convert exposes this.
    """
    operand = operands[0]
    element_type = element_type_of(operand)
    if (
        not (element_type.is_float or element_type.is_complex)
        or element_type.float_format.non_finite is not NonFinite.IEEE
    ):
        return []
    bits = to_bits(operand)
    quiet_bit = bits.dtype.type(1 << (element_type.float_format.mantissa_bits - 1))
    nan = np.isnan(
        np.stack([np.real(operand), np.imag(operand)], -1) if element_type.is_complex else operand
    )
    found = nan & ((bits & quiet_bit) == 0)
    if element_type.is_complex:
        found = found.any(axis=-1)
    return [("bits of a signaling NaN", _project_mask(found, element_type, result))]


def _project_mask(mask: Array, element_type: ElementType, result: Array) -> Array:
    """Return a mask of operand elements as a mask of the result elements that hold their bits."""
    to = element_type_of(result)
    if element_type.bits > to.bits:
        return np.broadcast_to(mask[..., None], result.shape)
    return np.asarray(mask.any(axis=-1)) if element_type.bits < to.bits else mask


def _tie_without_mantissa(
    operation: Operation, operands: Sequence[Array], _: Array
) -> list[Unspecified]:
    """Return ties between powers of two in a format without mantissa bits.

    Spec, "reduce_precision", breaks ties to even. Without mantissa bits, the even power of two is
    ambiguous: 1 or 10 (binary), or their exponents. It matters if the exponent of either fits the
    reduced range, or if one power overflows and the other underflows.
    """
    fmt = element_type_of(operands[0]).float_format
    exponent_bits, mantissa_bits = _reduction(operation)
    if mantissa_bits != 0 or fmt.mantissa_bits == 0:
        return []
    fraction, exponent = np.frexp(np.abs(to_float64(operands[0])))
    exponent = exponent - 1
    tie = (fraction == 0.75) & (
        exponent >= fmt.min_exponent
    )  # a subnormal is nearer to one of them
    if exponent_bits < fmt.exponent_bits:
        bias = (1 << (exponent_bits - 1)) - 1
        tie &= (exponent >= -bias) & (exponent <= bias)
    return [("tie between powers of two", tie)]


def _nan_without_mantissa(
    operation: Operation, operands: Sequence[Array], _: Array
) -> list[Unspecified]:
    """Return NaNs in a format without mantissa bits.

    Spec, "reduce_precision", converts to a format of the given bits and back; without mantissa bits
    it has no NaN. StableHLO's interpreter returns infinity (its test of e5m0), XLA keeps NaN.
    """
    if _reduction(operation)[1] != 0:
        return []
    return [("NaN in a format without NaN", np.isnan(to_float64(operands[0])))]


def _reduced_range(operation: Operation, operands: Sequence[Array], _: Array) -> list[Unspecified]:
    """Return subnormal operands, and operands at the limits of a format that IEEE 754 lacks.

    Spec, "reduce_precision", refers to the mantissa bits of the value and to the range provided by
    the exponent bits. For a subnormal number the mantissa bits may be the stored bits, or the
    normalised significand's. For a format with other exponents than IEEE's (its bias, or finite
    numbers in the largest exponent), the range may be its own or an IEEE format's.
    """
    element_type = element_type_of(operands[0])
    fmt = element_type.float_format
    exponent_bits, mantissa_bits = _reduction(operation)
    magnitude = np.abs(to_float64(operands[0]))
    found: list[Unspecified] = []
    kept = fmt.has_zero and exponent_bits >= fmt.exponent_bits  # otherwise it underflows to zero
    if kept and mantissa_bits < fmt.mantissa_bits:
        subnormal = (magnitude > 0) & (magnitude < fmt.smallest_normal)
        found.append(("reduced precision of a subnormal number", subnormal))
    if fmt.non_finite is not NonFinite.IEEE:
        rounded = np.abs(reduce_value_precision(magnitude, fmt, fmt.exponent_bits, mantissa_bits))
        bias = float((1 << (min(exponent_bits, fmt.exponent_bits + 2) - 1)) - 1)
        outside = (rounded < np.exp2(1 - bias)) | (rounded >= np.exp2(bias + 1))
        label = "exponent range of a format that is not IEEE's"
        found.append((label, outside & (rounded > 0) & np.isfinite(rounded)))
    return found


# --- Values before rounding, for formats that cannot encode them
# -----------------------------------


def _value_of(operand: Array) -> Array:
    """Return the values of an operand (real parts if complex) in the widest available type."""
    element_type = element_type_of(operand)
    if element_type.is_complex:
        return np.real(operand).astype(np.float64)
    return (
        to_float64(operand)
        if element_type.is_float
        else widen_subbyte(operand).astype(np.longdouble)
    )


def _converted_value(_: Operation, operands: Sequence[Array], __: Array) -> Array:
    return _value_of(operands[0])


def _index_value(operation: Operation, _: Sequence[Array], result: Array) -> Array:
    return _index(operation, result).astype(np.float64)


def _zero_value(_: Operation, __: Sequence[Array], result: Array) -> Array:
    return np.zeros(result.shape)


def _reduced_value(operation: Operation, operands: Sequence[Array], _: Array) -> Array:
    fmt = element_type_of(operands[0]).float_format
    return reduce_value_precision(to_float64(operands[0]), fmt, *_reduction(operation))


def _reduction(operation: Operation) -> tuple[int, int]:
    """Return the attributes exponent_bits and mantissa_bits."""
    given: dict[str, Any] = dict(operation.attributes)
    return given["exponent_bits"], given["mantissa_bits"]


def _float64_value(apply: Callable[..., Any]) -> Callable[..., Array]:
    def value(_: Operation, operands: Sequence[Array], __: Array) -> Array:
        return np.asarray(apply(*(to_float64(operand) for operand in operands)))

    return value


def _elementary_value(operation: Operation, operands: Sequence[Array], _: Array) -> Array:
    return functions.wide_values(operation.name, *operands)


# --- Reasons by op -------------------------------------------------------------------------------

_REASONS: dict[str, tuple[ElementwiseReason, ...]] = {
    **dict.fromkeys(functions.REAL, (complex_exception,)),
    **dict.fromkeys(SINGULAR_AT_ZERO, (complex_exception, branch_cut)),
    **dict.fromkeys(SHIFTS, (_wide_shift,)),
    "abs": (complex_abs,),
    "add": (complex_sum,),
    "bitcast_convert": (_signaling_bits,),
    **dict.fromkeys(INVERSE_CUTS, (complex_exception, inverse_cut)),
    "clamp": (_complex_extremum,),
    "compare": (_total_order, _complex_order),
    "convert": (_integer_conversion,),
    "count_leading_zeros": (_large_count,),
    "divide": (_integer_division, complex_exception),
    "iota": (_large_index,),
    "maximum": (_complex_extremum,),
    "minimum": (_complex_extremum,),
    "multiply": (complex_exception,),
    "polygamma": (_polygamma,),
    "popcnt": (_large_count,),
    "power": (_negative_power, _power_overflow, _signaling_power, complex_exception, branch_cut),
    "reduce_precision": (_tie_without_mantissa, _nan_without_mantissa, _reduced_range),
    "remainder": (_integer_division, complex_remainder),
    "sign": (complex_sign,),
    "square": (complex_exception,),
    "subtract": (complex_sum,),
    "zeta": (_zeta,),
}
"""The reasons by op; other ops have none, except for formats that cannot encode a value."""

_VALUES: dict[str, Callable[[Operation, Sequence[Array], Array], Array]] = {
    "add": _float64_value(np.add),
    "ceil": _float64_value(np.ceil),
    "convert": _converted_value,
    "divide": _float64_value(np.divide),
    "floor": _float64_value(np.floor),
    "imag": _zero_value,
    "iota": _index_value,
    "multiply": _float64_value(np.multiply),
    "negate": _float64_value(np.negative),
    "reduce_precision": _reduced_value,
    "remainder": _float64_value(np.fmod),
    "round_nearest_afz": _float64_value(arithmetic.round_away_from_zero),
    "round_nearest_even": _float64_value(np.rint),
    "square": _float64_value(np.square),
    "subtract": _float64_value(np.subtract),
    **dict.fromkeys(functions.REAL, _elementary_value),
}
"""By op, a function that returns the result before rounding. Other ops are not listed, because
their types encode every result.
"""

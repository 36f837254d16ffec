"""Rounding to whole numbers, to fewer bits, and after each step of a function.

Source: LLVM's APFloat (`roundToIntegral`, `convertToDouble`), the interpreter's `reducePrecision`
and `logistic`.
"""

from __future__ import annotations

import numpy as np

from conformance.known.hypothesis import Results, exact_hypothesis
from conformance.known.rewritings.patterns import Rewriting
from conformance.known.rewritings.single import pattern_hypothesis
from reference.ir.program import Operation
from reference.ir.types import (
    Array,
    ElementType,
    FloatFormat,
    bits_dtype,
    element_type_of,
    from_bits,
    to_bits,
)
from reference.numerics.rounding import round_to, to_float64

# --- To whole numbers ----------------------------------------------------------------------------


def _to_whole(
    operation: Operation, operands: tuple[Array, ...], expected: Results
) -> Results | None:
    """Return the results of adding and subtracting 2^(p-1), p being the precision in bits.

    In types for which 2^(p-1) is too large, it becomes infinity, or the largest number if there is
    no infinity.
    """
    del operation, expected
    (operand,) = operands
    of = element_type_of(operand)
    form = of.float_format
    if form.max_finite >= 2.0 ** (form.precision - 1):
        return None
    number = to_float64(operand)
    lost = np.where(np.isfinite(number) & (number != 0), _overflowed_sum(number, form), number)
    return (round_to(lost, of),)


def _overflowed_sum(number: Array, form: FloatFormat) -> Array:
    return np.full(number.shape, np.nan) if form.has_infinity else np.copysign(0.0, number)


TO_WHOLE = exact_hypothesis("constant over the largest number", _to_whole)

# --- To fewer bits -------------------------------------------------------------------------------


def _to_fewer_bits(
    operation: Operation, operands: tuple[Array, ...], expected: Results
) -> Results | None:
    """Return results whose bits are read in an IEEE format of the same widths.

    It has the IEEE bias, infinities and a sign.
    """
    del expected
    (operand,) = operands
    of = element_type_of(operand)
    exponent = int(operation.attribute("exponent_bits"))  # pyright: ignore[reportArgumentType]
    mantissa = int(operation.attribute("mantissa_bits"))  # pyright: ignore[reportArgumentType]
    own_mantissa = of.float_format.mantissa_bits
    own_exponent = of.bits - own_mantissa - 1
    bits = to_bits(operand).astype(np.uint64)
    if mantissa < own_mantissa:
        bits = _round_bits(bits, own_mantissa - mantissa)
    if exponent < own_exponent:
        bits = _limit_exponents(bits, of, exponent, own_exponent)
    results = from_bits((bits & np.uint64((1 << of.bits) - 1)).astype(bits_dtype(of)), of)
    nan = np.isnan(to_float64(operand))
    return (np.where(nan, operand, results),) if mantissa else (results,)


def _round_bits(bits: Array, dropped: int) -> Array:
    """Return bits without the lowest bits, rounded to nearest, ties to even."""
    last = (bits >> np.uint64(dropped)) & np.uint64(1)
    bits = bits + last + np.uint64((1 << (dropped - 1)) - 1)
    return bits >> np.uint64(dropped) << np.uint64(dropped)


def _limit_exponents(bits: Array, of: ElementType, exponent: int, own: int) -> Array:
    """Return bits with exponents limited to fewer bits: larger numbers become infinity, smaller
    ones zero.
    """
    mantissa = of.float_format.mantissa_bits
    sign = bits & np.uint64(1 << (of.bits - 1))
    everything = np.uint64(((1 << own) - 1) << mantissa)
    middle, reach = (1 << (own - 1)) - 1, (1 << (exponent - 1)) - 1
    field = bits & everything
    bits = np.where(field > np.uint64((middle + reach) << mantissa), sign | everything, bits)
    return np.where(field <= np.uint64((middle - reach) << mantissa), sign, bits)


TO_FEWER_BITS = exact_hypothesis("bits of another format", _to_fewer_bits)

# --- After each step ------------------------------------------------------------------------------


LOGISTIC = pattern_hypothesis(
    (
        Rewriting(
            "textbook formula",
            "(logistic x) -> (divide 1 (add 1 (exponential (negate x))))",
            flushes=False,
        ),
    )
)
"""1 / (1 + exp(-x)), with each step rounded to the type: intermediate results may overflow."""

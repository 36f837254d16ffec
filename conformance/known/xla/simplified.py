"""Simplifications of an elementwise operation by algebraic simplifiers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    any_outcome_hypothesis,
    predict_nothing,
    region_hypothesis,
)
from conformance.known.rewritings.patterns import Rewriting
from conformance.known.rewritings.single import pattern_hypothesis
from conformance.known.xla.sub_byte.two_bits import negative, packed_before_broadcast
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.ir.types import Kind, element_type_of

_NUMBERS = (Kind.FLOAT, Kind.COMPLEX)
_INTEGERS = (Kind.SIGNED, Kind.UNSIGNED)


def _rounded_product(
    _: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return errors in units of the rounding error of exp(x log(c)).

    The logarithm and the product are rounded to the type: relative errors of 2 u |x log(c)|, and u
    of the result (Higham, Accuracy and Stability, section 1.6). Where these reach the result
    itself, as in types of few digits, they would explain any result.
    """
    element_type = element_type_of(expected[0])
    if element_type.is_complex or not element_type.is_float:
        return predict_nothing(expected)
    base, exponent, right, result = (
        one.astype(np.float64) for one in (*operands, expected[0], actual[0])
    )
    unit = 2.0 ** -(element_type.float_format.mantissa_bits + 1)
    with np.errstate(all="ignore"):
        relative = unit * (2 * np.abs(exponent * np.log(base)) + 1)
        error = np.abs(result - right) / (relative * np.abs(right))
        return (np.where((base > 0) & (relative < 1), error, np.inf),)


_ZERO = "zero left out"
ZERO_LEFT_OUT = pattern_hypothesis(
    tuple(
        Rewriting(_ZERO, text, _NUMBERS, flushes=False)
        for text in (
            "(add x y) -> (select (compare.EQ x 0) y (add x y))",
            "(subtract x y) -> (select (compare.EQ y 0) x (subtract x y))",
            "(subtract x y) -> (select (compare.EQ x 0) (negate y) (subtract x y))",
        )
    )
)
"""The class of results x for 0 + x and x - 0, and -x for 0 - x: they differ only by -0 instead of
+0.
"""


def _negate_zero_differences(_: Operation, operands: Operands, results: Results) -> Results | None:
    """Return the differences of real numbers, and -0 where equal zeros are subtracted.

    This is x for x - 0 if x is -0, and -y for 0 - y if y is +0.
    """
    (x, y), (right,) = operands, results
    if not element_type_of(x).is_float:
        return None
    x, y = np.broadcast_arrays(x, y)
    is_changed = (x == 0) & (y == 0) & (np.signbit(x) == np.signbit(y))
    return (np.where(is_changed, -np.abs(x), right).astype(right.dtype),)


def _leave_zero_out(_: Operation, operands: Operands, results: Results) -> Results | None:
    """Return the sums of real numbers, and -0 for the sum of -0 and 0."""
    (x, y), (right,) = operands, results
    if not element_type_of(x).is_float:
        return None
    x, y = np.broadcast_arrays(x, y)
    is_kept = (x == 0) & (y == 0) & (np.signbit(x) | np.signbit(y))
    return (np.where(is_kept, np.where(np.signbit(x), x, y), right).astype(right.dtype),)


ZERO_LEFT_OUT_OF_BODY = region_hypothesis(
    _ZERO,
    {
        "add": (Hypothesis(_ZERO, otherwise=_leave_zero_out),),
        "subtract": (Hypothesis(_ZERO, otherwise=_negate_zero_differences),),
    },
)
"""The class of sums x + 0 and differences x - 0 that a body computes as x, and of 0 - x as -x. The
zero is a constant of the body."""

ROUNDED_PRODUCT = Hypothesis("rounded product", _rounded_product, constants=("lhs",))
"""The class of results exp(x log(c)) for powers c^x of a constant."""


_CUT = "exponent cut to six bits"
LOW_BITS = pattern_hypothesis(
    (Rewriting(_CUT, "(power x y) -> (power x (and y 63))", _INTEGERS, flushes=False),)
)
"""Powers of integers by squaring that use only six bits of the exponent.

Source: jaxlib 0.10.2, measured.
"""


def _base_itself(operation: Operation, operands: Results) -> Iterator[Results]:
    """Yield the base -2 instead of its power, for two-bit integers.

    jaxlib 0.10 packs it with its signs, in the shape of the exponent before a broadcast; 0.12
    returns it only for nonnegative exponents. Powers of other bases are right.
    """
    base, exponent = operands
    if negative(base) != -2:
        return
    yield (base,)
    yield from ((one,) for one in packed_before_broadcast(base, exponent))
    (power,) = apply(operation, operands)
    yield (np.where(exponent >= 0, base, power).astype(base.dtype),)


BASE_ITSELF = any_outcome_hypothesis("base for the power", _base_itself, constants=("lhs",))
"""The class of two-bit powers that are computed as their base."""

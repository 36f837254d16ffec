"""Values that a format without infinity, NaN, zero or negative numbers cannot encode.

The specification does not define their conversion, and IEEE 754 has no such formats.
"""

from __future__ import annotations

import numpy as np

from reference.ir.types import Array, ElementType, NonFinite, element_type_of
from reference.unspecified.reasons import Unspecified


def is_limited(element_type: ElementType) -> bool:
    """Return whether a floating-point type lacks infinities, unlike IEEE's formats."""
    return element_type.is_float and element_type.float_format.non_finite is not NonFinite.IEEE


def not_encodable(value: Array, result: Array) -> list[Unspecified]:
    """Return a mask of values, float64 or wider before rounding, that `result` cannot encode.

    Overflow gives NaN in some conversions to FN and FNUZ formats and saturates in others (OCP 8-bit
    floating point specification, 5.2 and its modes). Also: NaN in a format without NaN; and zeros,
    negative and too small numbers, and ties of f8E8M0FNU (OCP microscaling specification, 5.4.1).
    """
    fmt = element_type_of(result).float_format
    magnitude = np.abs(value)
    tie = fmt.max_finite + 2.0 ** (fmt.max_exponent - fmt.mantissa_bits - 1)
    odd = fmt.max_finite * 2.0 ** (fmt.mantissa_bits - fmt.max_exponent) % 2 == 1
    overflow = (magnitude > tie) | ((magnitude == tie) & odd)
    found = [("overflow in a format without infinity", overflow)]
    if not fmt.has_nan:
        found.append(("NaN in a format without NaN", np.isnan(value)))
    if not fmt.has_zero:
        fraction = np.frexp(magnitude)[0]
        found.append(("zero or negative in f8E8M0FNU", value <= 0))
        found.append(("below the range of f8E8M0FNU", (value > 0) & (value < fmt.smallest)))
        found.append(("tie in f8E8M0FNU", fraction == 0.75))
    return found

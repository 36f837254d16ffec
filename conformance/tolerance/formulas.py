"""Other readings of the specification: formulas that it writes out, evaluated step by step.

Where the specification defines an op by a composition of rounded operations, a backend that
computes just that is right, even far from the correctly rounded value of the function. A result
within the rule's budget of either is permitted.
"""

from __future__ import annotations

import numpy as np

from reference.ir.types import Array, element_type_of
from reference.ops.table import OPS


def logistic(operand: Array) -> Array:
    """`division(1, addition(1, exp(-x)))`, each step rounded; complex numbers alike.

    Differs from the function's own value where exp(-x) overflows: 0 in place of a subnormal.
    """
    one = np.ones(operand.shape, operand.dtype)
    grown = OPS["exponential"].evaluate(OPS["negate"].evaluate(operand))
    return OPS["divide"].evaluate(one, OPS["add"].evaluate(one, grown))


def log_plus_one(operand: Array) -> Array:
    """For complex x, `complex(log(hypot(re + 1, im)), atan2(im, re + 1))` with re + 1 rounded.

    A real operand has no such formula: the result is the function's own value.
    """
    if not element_type_of(operand).is_complex:
        return OPS["log_plus_one"].evaluate(operand)
    real, imag = np.ascontiguousarray(np.real(operand)), np.ascontiguousarray(np.imag(operand))
    moved = OPS["add"].evaluate(real, np.ones(real.shape, real.dtype))
    shifted = OPS["complex"].evaluate(moved, imag)
    modulus = OPS["log"].evaluate(OPS["abs"].evaluate(shifted))
    return OPS["complex"].evaluate(modulus, OPS["atan2"].evaluate(imag, moved))

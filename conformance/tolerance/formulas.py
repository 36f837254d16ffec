"""Formulas of the specification, evaluated step by step, whose results are permitted too.

Where the specification defines an op by a composition of rounded operations, a backend that
computes just that is right, even far from the correctly rounded value of the function. A result
within the rule's budget of either value is permitted.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from reference.ir.types import Array, element_type_of
from reference.numerics import arithmetic, conversion
from reference.numerics.elementary import functions


def logistic(operand: Array) -> Array:
    """Return `division(1, addition(1, exp(-x)))`, each step rounded; real or complex.

    It differs from the function's value where exp(-x) overflows: 0 instead of a subnormal number.
    """
    one = np.ones(operand.shape, operand.dtype)
    grown = functions.exponential(arithmetic.negate(operand))
    return arithmetic.divide(one, arithmetic.add(one, grown))


def log_plus_one(operand: Array) -> Array:
    """Return `complex(log(hypot(re + 1, im)), atan2(im, re + 1))` with re + 1 rounded.

    For a real operand there is no such formula: return the function's own value.
    """
    if not element_type_of(operand).is_complex:
        return functions.log_plus_one(operand)
    real, imag = np.ascontiguousarray(np.real(operand)), np.ascontiguousarray(np.imag(operand))
    moved = arithmetic.add(real, np.ones(real.shape, real.dtype))
    shifted = conversion.complex_(moved, imag)
    modulus = functions.log(arithmetic.abs(shifted))
    return conversion.complex_(modulus, functions.atan2(imag, moved))


def _sign_by_modulus(steps: int, operand: Array) -> Array:
    """Return `divide(x, abs(x))` of complex x, a subnormal modulus moved by `steps` ulp.

    A modulus may be 3 ulp off (rule "magnitude"): a large part of a subnormal modulus.
    """
    result = arithmetic.sign(operand)
    if not element_type_of(operand).is_complex:
        return result
    modulus = arithmetic.abs(operand)
    form = element_type_of(modulus).float_format
    tiny = (modulus > 0) & (modulus < form.smallest_normal)
    moved = np.maximum(modulus + steps * form.smallest, form.smallest).astype(modulus.dtype)
    with np.errstate(all="ignore"):
        parts = conversion.complex_(np.real(operand) / moved, np.imag(operand) / moved)
    return np.where(tiny, parts, result)


SIGNS_BY_MODULUS = tuple(partial(_sign_by_modulus, steps) for steps in range(-3, 4))
"""Formulas x / |x| of the sign of complex numbers, for every modulus that is permitted."""

"""Functions of pairs of f32 that are less accurate than sums of pairs, or fail for some operands.

The compiler for TPUs writes them by formulas of other functions: tanh as a quotient of sums of
exponentials, a remainder as a difference from a product. `float_pairs.py` is about the pairs.

Source: libtpu 0.0.50, measured on the modules that it rewrites each function to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from reference.ir.types import Array

Of = Callable[..., Array]
"""A function of(*operands) that returns a value for each element."""


@dataclass(frozen=True, slots=True)
class Weakness:
    """Errors and failures of a function on pairs that its operands do not explain.

    `errors` returns the absolute errors in addition to the errors of pairs; `fails` returns which
    elements may be NaN or infinite, though the operands are in the range of f32; `negated` returns
    which results have the wrong sign. The operands are rounded to pairs. `absolute` is an absolute
    error in units of the relative error of an operation, of formulas whose last step is a
    logarithm.
    """

    errors: Of
    fails: Of
    negated: Of
    absolute: float = 0.0


def _zero(*operands: Array) -> Array:
    return np.zeros(operands[0].shape)


def _no_elements(*operands: Array) -> Array:
    return np.zeros(operands[0].shape, np.bool_)


def _mask_above(limit: float, operand: Array) -> Array:
    """Return a mask of numbers whose magnitude exceeds a limit."""
    return np.abs(operand) > limit


def _tanh_errors(operand: Array) -> Array:
    """Return the errors of (exp(x) - exp(-x)) / (exp(x) + exp(-x)), or of x in f32 if small."""
    return np.minimum(np.abs(operand) * 2.0**-22, 2.0**-44)


def _remainder_errors(lhs: Array, rhs: Array) -> Array:
    """Return the errors of lhs - trunc(lhs / rhs) * rhs, whose terms cancel."""
    del rhs
    return np.abs(lhs) * 2.0**-44


def _has_large_quotient(lhs: Array, rhs: Array) -> Array:
    return ~(np.abs(lhs) < 2.0**125 * np.abs(rhs))


def _power_errors(lhs: Array, rhs: Array) -> Array:
    """Return the errors of exp(rhs * log(lhs)): the magnified errors of the exponent."""
    size = np.abs(lhs)
    found = np.power(size, rhs) * np.abs(rhs * np.log(size)) * 2.0**-46
    return np.where(np.isfinite(found), found, 0.0)


def _is_power_lost(lhs: Array, rhs: Array) -> Array:
    """Return a mask of elements where rhs * log(lhs) is a product of 0 and infinity."""
    is_log_infinite = (lhs == 0) | np.isinf(lhs)
    return (is_log_infinite & (np.abs(rhs) < _NORMAL)) | ((lhs == 1) & np.isinf(rhs))


def _is_negative_odd(lhs: Array, rhs: Array) -> Array:
    """Return a mask of negative bases with a negative odd exponent.

    The remainder by 2 is then -1, and is compared with 1.
    """
    return (lhs < 0) & (rhs < 0) & (np.fmod(rhs, 2) == -1)


_NORMAL = 2.0**-126
"""Smallest normal number of f32."""

_REDUCIBLE = 2.0**30
"""Largest number that is reduced to a part of a period: quotients are counted in 32-bit integers.
"""

_EXPONENT = 88.0
"""Largest number whose exponential is a pair; above it a quotient is NaN."""

_PERIODIC = Weakness(_zero, partial(_mask_above, _REDUCIBLE), _no_elements)

WEAKNESSES: dict[str, Weakness] = {
    "cosine": _PERIODIC,
    "power": Weakness(_power_errors, _is_power_lost, _is_negative_odd),
    "remainder": Weakness(_remainder_errors, _has_large_quotient, _no_elements),
    "sine": _PERIODIC,
    "tan": _PERIODIC,
    "tanh": Weakness(_tanh_errors, partial(_mask_above, _EXPONENT), _no_elements),
}
"""The weaknesses of functions of real pairs."""


def _has_large_part(operand: Array) -> Array:
    parts = (np.real(operand), np.imag(operand))
    return np.logical_or(*(_mask_above(_REDUCIBLE, part) for part in parts))


def _has_large_exponential(operand: Array) -> Array:
    """Return a mask of elements where exp(-z) of 1 / (1 + exp(-z)) overflows."""
    return _has_large_part(operand) | (np.real(operand) < -_EXPONENT)


def _has_large_sinh(operand: Array) -> Array:
    """Return a mask of elements where sinh(b)^2, the divisor of tan(a + b i), overflows."""
    return _has_large_part(operand) | _mask_above(_EXPONENT / 2, np.imag(operand))


def _is_complex_power_lost(lhs: Array, rhs: Array) -> Array:
    """Return a mask of |x|^c exp(-d arg x) with a factor or the angle out of range."""
    log, angle = np.log(np.abs(lhs)), np.angle(lhs)
    c, d = np.real(rhs), np.imag(rhs)
    turn = c * angle + d * log
    return ~(np.maximum(np.abs(c * log), np.abs(d * angle)) < _EXPONENT) | ~(
        np.abs(turn) < _REDUCIBLE
    )


def _has_large_square(operand: Array) -> Array:
    """Return a mask of elements where |z|^2 overflows before its logarithm or root is computed."""
    parts = (np.real(operand), np.imag(operand))
    return np.logical_or(*(_mask_above(2.0**63, part) for part in parts))


def _has_lost_square(lhs: Array, rhs: Array) -> Array:
    """Return a mask of elements where x^2 + y^2, whose root is a divisor, overflows or is 0."""
    total = np.abs(lhs * lhs + rhs * rhs)
    return _has_large_square(lhs) | _has_large_square(rhs) | (total < _NORMAL)


def _complex_power_errors(lhs: Array, rhs: Array) -> Array:
    """Return the size of |x|^c exp(-d arg x) where a factor vanishes, which makes it 0."""
    exponents = np.real(rhs) * np.log(np.abs(lhs)), -np.imag(rhs) * np.angle(lhs)
    vanishes = np.logical_or(*(one < np.log(_NORMAL) for one in exponents))
    found = np.where(vanishes, np.exp(sum(exponents)), 0.0)
    return np.where(np.isfinite(found), found, 0.0)


def _small_sinh_errors(operand: Array) -> Array:
    """Return the errors of sinh or tanh of an imaginary part: errors in f32 if it is small."""
    return _tanh_errors(np.imag(operand))


COMPLEX_WEAKNESSES: dict[str, Weakness] = {
    "atan2": Weakness(_zero, _has_lost_square, _no_elements, absolute=4.0),
    **dict.fromkeys(
        ("cosine", "exponential", "exponential_minus_one", "tanh"),
        Weakness(_zero, _has_large_part, _no_elements),
    ),
    "sign": Weakness(_zero, _has_large_square, _no_elements),
    "sine": Weakness(_small_sinh_errors, _has_large_part, _no_elements),
    "tan": Weakness(_small_sinh_errors, _has_large_sinh, _no_elements),
    "logistic": Weakness(_zero, _has_large_exponential, _no_elements),
    "log_plus_one": Weakness(_zero, _has_large_square, _no_elements),
    "power": Weakness(_complex_power_errors, _is_complex_power_lost, _no_elements),
}
"""The weaknesses of functions of complex numbers: sines and cosines of a part, exponentials, and
the angle -i log((x + i y) / sqrt(x^2 + y^2)), whose logarithm is of a number near 1.
"""

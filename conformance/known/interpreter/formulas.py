"""Functions of complex numbers by their textbook formulas, step by step.

The interpreter evaluates them in f64 (atan2 in the operands' own type), and rounds the result. Each
model takes the same steps, and says how far rounding within libm's functions may lead from its
result: an element that is as near is of the class, and so is an element that is not finite where
the model's is not.

Source: the interpreter's Element.cpp; R. Smith, Algorithm 116: Complex Division.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from conformance.known.hypothesis import Hypothesis, Operands, Results, predict_nothing
from reference.ir.program import Operation
from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.rounding import ulp_size

_LABEL = "textbook formula"

_UNIT = 2.0**-53
_LEAST = 2.0**-1074
_SLACK = 8 * _UNIT
"""Error of a function of libm, or of a few steps, relative to the result."""

Formula = Callable[..., tuple[Array, Array]]
"""A function formula(*operands as complex128): the result, and the largest distance of correct
results.
"""


def _hypothesis(formula: Formula, period: float = 0.0) -> Hypothesis:
    """Return the class of a formula's results; next to a branch cut they may differ by a period."""

    def measure(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        del operation
        of, got = element_type_of(expected[0]), actual[0]
        if not of.is_complex:
            return predict_nothing(expected)
        with np.errstate(all="ignore"):
            value, bound = formula(of, *(operand.astype(np.complex128) for operand in operands))
            values = {shift: value + shift for shift in (0.0, period, -period)}.values()
            errors = [_errors(other.astype(of.storage), bound, got, of) for other in values]
            return (np.minimum.reduce(errors),)

    return Hypothesis(_LABEL, measure, signs=True)


def _errors(value: Array, bound: Array, got: Array, of: ElementType) -> Array:
    """Return the distance from `value`, in units of the bound and an ulp of the larger part."""
    finite = np.isfinite(value) & np.isfinite(got)
    larger = np.maximum(np.abs(np.real(value)), np.abs(np.imag(value)))
    ulp = ulp_size(np.where(finite, larger, 1.0), of.part).astype(np.float64)
    apart = np.abs(got.astype(np.complex128) - value.astype(np.complex128))
    near = np.where(finite, apart / (bound + 2 * ulp), np.inf)
    return np.where(np.isfinite(value) | np.isfinite(got), near, 0.0)


def _exponential_minus_one(of: ElementType, z: Array) -> tuple[Array, Array]:
    del of
    grown = np.exp(z)
    return grown - 1, _SLACK * np.abs(grown)


def _log_plus_one(of: ElementType, z: Array) -> tuple[Array, Array]:
    del of
    value = np.log(z + 1)
    return value, _SLACK * (1 + np.abs(value))


def _cbrt(of: ElementType, z: Array) -> tuple[Array, Array]:
    """Return the modulus by the sixth root of the sum of squares, which may overflow."""
    del of
    angle = np.arctan2(np.imag(z), np.real(z)) / 3
    modulus = np.power(np.real(z) ** 2 + np.imag(z) ** 2, 1 / 6)
    return _complex(modulus * np.cos(angle), modulus * np.sin(angle)), _SLACK * modulus


def _power(of: ElementType, base: Array, exponent: Array) -> tuple[Array, Array]:
    """Return exp(y log x); errors of the logarithm grow with y."""
    del of
    logarithm = np.log(base)
    value = np.exp(exponent * logarithm)
    grown = 2 * np.expm1(_SLACK * (1 + np.abs(exponent) * np.abs(logarithm)))
    return value, np.where(np.isfinite(value), grown * np.abs(value), 0.0)


def _multiply(of: ElementType, lhs: Array, rhs: Array) -> tuple[Array, Array]:
    """Return the product computed by four products, which may overflow where the result does
    not.
    """
    del of
    a, b, c, d = np.real(lhs), np.imag(lhs), np.real(rhs), np.imag(rhs)
    return _complex(a * c - b * d, a * d + b * c), np.zeros(lhs.shape)


def _divide(of: ElementType, lhs: Array, rhs: Array) -> tuple[Array, Array]:
    """Return Smith's quotient, which first divides the parts of the divisor by each other."""
    del of
    a, b, c, d = np.real(lhs), np.imag(lhs), np.real(rhs), np.imag(rhs)
    swapped = np.abs(c) < np.abs(d)
    ratio = np.where(swapped, c / d, d / c)
    divisor = np.where(swapped, c * ratio + d, d * ratio + c)
    real = np.where(swapped, a * ratio + b, b * ratio + a) / divisor
    imag = np.where(swapped, b * ratio - a, b - a * ratio) / divisor
    bound = (_SLACK * (np.abs(a) + np.abs(b)) + 4 * _LEAST) / np.abs(divisor) + 4 * _LEAST
    endless = np.isinf(rhs) & np.isfinite(lhs)  # C's rules make zeros of what became NaN
    quotient = np.where(endless, 0.0, _complex(real, imag))
    return quotient, np.where(endless, 4 * _LEAST, bound)


def _logistic(of: ElementType, z: Array) -> tuple[Array, Array]:
    """Return 1 / (1 + exp(-z)), with each step rounded to the operand's type."""
    grown = np.exp(-z).astype(of.storage).astype(np.complex128)
    total = (1 + grown).astype(of.storage).astype(np.complex128)
    value, bound = _divide(of, np.ones_like(z), total)
    unit = 2.0**-of.part.float_format.precision
    rounded = 8 * unit * np.abs(value) * (1 + np.abs(grown)) / np.abs(total)
    return value, bound + np.where(np.isfinite(total), rounded, 0.0)


def _atan2(of: ElementType, y: Array, x: Array) -> tuple[Array, Array]:
    """Return -i log((x + i y) / sqrt(x^2 + y^2)), with each step rounded to the operands' type."""
    part = of.part.storage

    def round_to_storage(z: Array) -> Array:
        return z.astype(of.storage).astype(np.complex128)

    def product(left: Array, right: Array) -> Array:
        a, b, c, d = (p(side).astype(part) for side in (left, right) for p in (np.real, np.imag))
        return _complex(a * c - b * d, a * d + b * c)

    i = np.full(y.shape, 1j)
    squares = round_to_storage(product(x, x) + product(y, y))
    quotient, _ = _divide(
        of, round_to_storage(x + product(i, y)), round_to_storage(np.sqrt(squares))
    )
    logarithm = round_to_storage(np.log(round_to_storage(quotient)))
    value = product(-i, logarithm)
    return value, 2 * (of.part.bits == 32) * 2.0**-20 + 2.0**-49 * (1 + np.abs(value))


def _complex(real: Array, imag: Array) -> Array:
    value = np.empty(real.shape, np.complex128)
    value.real, value.imag = real, imag
    return value


ATAN2 = _hypothesis(_atan2, period=2 * np.pi)
CBRT = _hypothesis(_cbrt)
DIVIDE = _hypothesis(_divide)
EXPONENTIAL_MINUS_ONE = _hypothesis(_exponential_minus_one)
LOG_PLUS_ONE = _hypothesis(_log_plus_one)
LOGISTIC = _hypothesis(_logistic)
MULTIPLY = _hypothesis(_multiply)
POWER = _hypothesis(_power)

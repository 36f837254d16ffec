"""Functions of complex numbers by their textbook formulas, step by step.

The interpreter evaluates them in f64, and rounds the result; logistic and atan2 round each step to
the operands' own type. An element that is not finite belongs to the class if the model's result is
not finite, either.

Source: the interpreter's Element.cpp; R. Smith, Algorithm 116: Complex Division.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.known.hypothesis import Hypothesis
from conformance.known.numbers_with_error import Number, select
from conformance.known.xla.complex_numbers import complex_formulas
from conformance.known.xla.complex_numbers.complex_formulas import Complex, Formula
from conformance.known.xla.complex_numbers.functions import formula_class
from conformance.known.xla.complex_numbers.machines import Machine
from reference.ir.types import ELEMENT_TYPES, ElementType

_LABEL = "textbook formula"
_DOUBLE = ELEMENT_TYPES["f64"]


def _double_machines(of: ElementType) -> tuple[Machine, ...]:
    del of
    double = Machine(_DOUBLE)  # and its variants, which decide next to an overflow
    return double, replace(double, is_exact=True), replace(double, ranged=False)


def _own_type_machines(of: ElementType) -> tuple[Machine, ...]:
    return (Machine(of),)


def _class(*formulas: Formula) -> Hypothesis:
    return formula_class(_LABEL, formulas, _double_machines, is_rounded=True)


def _exponential_minus_one(z: Complex) -> Complex:
    grown = complex_formulas.exponential(z)
    return Complex(grown.real - 1.0, grown.imag)


def _log(z: Complex, side: float = 0) -> Complex:
    """Return the logarithm by the C library, which is accurate where the modulus is near 1."""
    most, least = complex_formulas.parts_by_size(z)
    ratio = least / most
    size = (ratio * ratio).logarithm_plus_one() * 0.5 + most.logarithm()
    return Complex(select(np.isnan(size.value), most.logarithm(), size), z.imag.angle(z.real, side))


def _log_plus_one(z: Complex) -> Complex:
    return _log(Complex(z.real + 1.0, z.imag + 0.0))  # -0 becomes +0


def _cbrt(z: Complex) -> Complex:
    """Return the modulus by the sixth root of the sum of squares, which may overflow."""
    sixth = z.real.arithmetic.exactly(np.full(z.real.value.shape, 1 / 6))
    modulus = (z.real * z.real + z.imag * z.imag).to_power(sixth)
    angle = z.imag.angle(z.real) / 3.0
    return Complex(modulus * angle.cosine(), modulus * angle.sine())


def _call_in_double(function: Formula, *operands: Complex) -> Complex:
    """Return the result of a function of double numbers, rounded to the operands' own type."""
    own = operands[0].real.arithmetic
    wide = [
        Complex(*(Number(x.value, x.error, Machine(_DOUBLE), x.lost) for x in z)) for z in operands
    ]
    return Complex(*(own.step(x.value, x.error, x.lost, units=1) for x in function(*wide)))


def _power(base: Complex, exponent: Complex) -> Complex:
    """Return exp(y log x)."""
    return complex_formulas.exponential(complex_formulas.multiply(exponent, _log(base)))


ATAN2 = formula_class(
    _LABEL,
    complex_formulas.angles(_log, _call_in_double),
    lambda of: (Machine(of, is_exact=True),),
    is_rounded=True,
)
CBRT = _class(_cbrt)
DIVIDE = _class(complex_formulas.divide)
EXPONENTIAL_MINUS_ONE = _class(_exponential_minus_one)
LOG_PLUS_ONE = _class(_log_plus_one)
LOGISTIC = formula_class(_LABEL, [complex_formulas.logistic], _own_type_machines, is_rounded=True)
MULTIPLY = _class(complex_formulas.multiply)
POWER = _class(_power)

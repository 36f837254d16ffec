"""Functions of subnormal numbers that are neither those of the numbers nor those of zero.

Some steps of a function take a subnormal number for zero and some do not, or its significand is
taken for that of a normal number. What comes of that nobody states: of such operands anything is of
this class, and of others nothing.

Source: https://github.com/jax-ml/jax/issues/37762; jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from conformance.tolerance.rule import Deviation
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import to_float64


def _measure(
    _: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    actual: tuple[Array, ...],
    *,
    shift: int | None = None,
) -> tuple[Array, ...]:
    """0 where an operand is subnormal, infinite elsewhere.

    Complex operands are looked at where there is a `shift`, which is added to them first.
    """
    del actual
    found = np.zeros(expected[0].shape, np.bool_)
    for operand in operands:
        if not element_type_of(operand).is_complex:
            found |= _is_subnormal(operand)
        elif shift is not None:
            found |= _is_small(operand, shift)
    return (np.where(found, 0.0, np.inf),)


def _is_subnormal(array: Array) -> Array:
    """Where real numbers are subnormal."""
    of = element_type_of(array)
    if not (of.is_float and of.float_format.has_zero):
        return np.zeros(array.shape, np.bool_)
    size = np.abs(to_float64(array))
    return np.asarray((size > 0) & (size < of.float_format.smallest_normal))


def _is_small(array: Array, shift: int) -> Array:
    """Where a part of complex numbers is subnormal, or the sum of the parts' squares is, once the
    shift was added."""
    smallest = element_type_of(array).part.float_format.smallest_normal
    re, im = (part(array).astype(np.longdouble) for part in (np.real, np.imag))
    squares = (re + shift) ** 2 + im**2
    small = (one for one in (np.abs(re), np.abs(im), squares))
    return np.asarray(np.any([(one > 0) & (one < smallest) for one in small], axis=0))


OF_SUBNORMALS = Deviation("of a subnormal operand", _measure)

LOG_OF_SUBNORMALS = Deviation("of a subnormal operand", partial(_measure, shift=0))
"""The logarithm of a complex number is that of the sum of its parts' squares, too."""

LOG1P_OF_SUBNORMALS = Deviation("of a subnormal operand", partial(_measure, shift=1))

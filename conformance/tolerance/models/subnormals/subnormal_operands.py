"""Functions of subnormal numbers that are neither those of the numbers nor those of zero.

Some steps of a function take a subnormal number for zero and some do not, or its significand is
taken for that of a normal number. What comes of that nobody states: of such operands anything is of
this class, and of others nothing.

Source: https://github.com/jax-ml/jax/issues/37762; jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

import numpy as np

from conformance.tolerance.rule import Deviation
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.numerics.alike import is_subnormal


def _measure(
    _: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    actual: tuple[Array, ...],
) -> tuple[Array, ...]:
    """0 where an operand is a subnormal real number, infinite elsewhere."""
    del actual
    found = np.zeros(expected[0].shape, np.bool_)
    for operand in operands:
        found |= is_subnormal(operand)
    return (np.where(found, 0.0, np.inf),)


OF_SUBNORMALS = Deviation("of a subnormal operand", _measure)

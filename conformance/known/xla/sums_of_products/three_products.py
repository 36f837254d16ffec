"""Sums of products of complex numbers by three real products instead of four.

With a + bi and c + di, the real part is (a + b) c - b (c + d), and the imaginary part is
(a + b) c + a (d - c). The sums before a product may overflow where no product of the four does: the
result is infinite, or NaN where an infinity is multiplied by zero or subtracted from another.

Source: libtpu 0.0.50, measured on the modules that it rewrites dot_general to.
"""

from __future__ import annotations

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    predict_nothing,
    predict_where,
)
from conformance.known.xla.sums_of_products.einsums import over_einsums
from conformance.tolerance.bounds.contraction import matrices_of
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.numerics.alike import equal_elements

LABEL = "overflow of three products"

_UNIT = 2.0**-24
"""Unit roundoff of f32."""


def _measure(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for numbers with a part that three products make infinite or NaN."""
    if expected[0].dtype != np.complex64 or len(operands) != 2:
        return predict_nothing(expected)
    lhs, rhs, shape = matrices_of(operation, operands)
    a, b, c, d = (part(one).astype(np.float32) for one in (lhs, rhs) for part in (np.real, np.imag))
    with np.errstate(all="ignore"):
        products = (a + b, c), (b, c + d), (a, d - c)
        first, second, third = (_sums(*pair).reshape(shape) for pair in products)
        size = sum(_sums(np.abs(one), np.abs(other)).reshape(shape) for one, other in products)
        real, imaginary, got = first - second, first + third, actual[0]
        room = 2 * lhs.shape[-1] * _UNIT * size
        alike = [_is_alike(real, np.real(got), room), _is_alike(imaginary, np.imag(got), room)]
        overflowing = ~(np.isfinite(real) & np.isfinite(imaginary))
    return predict_where(overflowing & np.logical_and(*alike))


def _sums(lhs: Array, rhs: Array) -> Array:
    return np.einsum("...ik,...kj->...ij", lhs, rhs)


def _is_alike(predicted: Array, got: Array, room: Array) -> Array:
    """Return a mask of the parts that are as predicted, finite ones up to an error of sums."""
    is_near = np.isfinite(predicted) & (np.abs(predicted - got) <= room)
    return is_near | equal_elements(predicted, got)


THREE_PRODUCTS = Hypothesis(LABEL, over_einsums(_measure))

"""Functions of subnormal numbers whose results are neither the function of the number nor of zero.

A processor that treats denormals as zeros also does so within a function, where its formula needs
another number. Each function then has one result for all subnormal operands, which is computed here
as accurately as its rule requires.

Source: https://github.com/jax-ml/jax/issues/37762; jaxlib 0.10.2 and 0.12.0, measured, with the
instructions of SSE4.2, AVX2 and AVX512 alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.known.hypothesis import Hypothesis, Operands, Results, exact_hypothesis
from conformance.known.xla.subnormals.in_f32 import is_narrow, to_f32, to_narrow_type
from conformance.tolerance.ulp import ulp_distances
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import is_subnormal
from reference.numerics.rounding import round_to

Prediction = tuple[Array, Array]
"""A prediction as long doubles, and a mask of the subnormal operands that it is about."""
Predict = Callable[..., Prediction]
"""A function predict(element type's name, mask of subnormal operands, *operands as long doubles).
"""

LABEL = "of a subnormal operand"
_NARROW = "f8E8M0FNU"

_HALF = {"bf16": -150, "f32": -150, "f64": -1075, _NARROW: -150}
"""Binary logarithms of half the smallest number of the type; bf16 and f8E8M0FNU are computed in
f32, in which the smallest number of f8E8M0FNU is subnormal.

The function scales a subnormal number by a power of two to make it normal. The number has been
flushed, so the product is zero. Its exponent is then read as a normal number's.
"""


def _logarithm(of: str, tiny: tuple[Array, ...], x: Array) -> Prediction:
    """Return the logarithm of half the smallest number; in f64 the logarithm of zero."""
    if of == "f64":
        return x, np.zeros(x.shape, np.bool_)
    return np.full(x.shape, _HALF[of] * np.log(np.longdouble(2))), tiny[0] & (x > 0)


def _power(of: str, tiny: tuple[Array, ...], x: Array, y: Array) -> Prediction:
    """Return the power of half the smallest number."""
    return np.exp2(_HALF[of] * y), tiny[0] & (x > 0)


def _cube_root(of: str, tiny: tuple[Array, ...], x: Array) -> Prediction:
    """Return the cube root of an eighth of the smallest number, negated; in f64 it is zero."""
    if of == "f64":
        return x, np.zeros(x.shape, np.bool_)
    return np.full(x.shape, -np.exp2(np.longdouble(_HALF[of] - 2) / 3)), tiny[0]


def _angle(of: str, tiny: tuple[Array, ...], y: Array, x: Array) -> Prediction:
    """Return 0/0 = NaN where both operands are subnormal; in f64 the angle of y = -0."""
    if of == "f64":
        return np.arctan2(np.full(y.shape, np.longdouble(-0.0)), x), tiny[0] & ~tiny[1]
    return np.full(y.shape, np.longdouble(np.nan)), tiny[0] & tiny[1]


def _subnormal_class(predict: Predict, ulps: float, *, narrow: bool = False) -> Hypothesis:
    """Return the class of predicted results of subnormal operands, within a distance of `ulps`.

    For f8E8M0FNU, only results that differ from what zero gives in f32 (NaN, except for the power).
    """

    def distances(_: Operation, operands: Operands, expected: Results, actual: Results) -> Results:
        """Return the distances in ulp, infinite without a prediction."""
        of, errors = element_type_of(expected[0]), np.full(expected[0].shape, np.inf)
        if of.name not in _HALF or (of.name == _NARROW and not narrow):
            return (errors,)
        computed = tuple(map(to_f32, operands)) if is_narrow(of) else operands
        tiny = tuple(map(is_subnormal, computed))
        with np.errstate(all="ignore"):
            found, where = predict(of.name, tiny, *(x.astype(np.longdouble) for x in computed))
            predicted = round_to(found[where], element_type_of(computed[0]))
        if is_narrow(of):
            predicted = to_narrow_type(predicted, of)
        errors[where] = ulp_distances(predicted, actual[0][where])
        return (errors,)

    def measure(*given: Any) -> tuple[Array, ...]:
        """Return the distances from the prediction in units of `ulps`."""
        return tuple(one / ulps for one in distances(*given))

    return Hypothesis(LABEL, measure, ulps=distances)


def _complex_operand(
    _: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
) -> tuple[Array, ...] | None:
    """Return the complex operand if both parts are subnormal: its modulus is zero, so its sign is
    itself.
    """
    (z,), of = operands, element_type_of(expected[0])
    if not of.is_complex:
        return None
    largest = np.maximum(np.abs(np.real(z)), np.abs(np.imag(z)))
    return (np.where(largest < of.float_format.smallest_normal, z, expected[0]),)


COMPLEX_SIGN = replace(exact_hypothesis(LABEL, _complex_operand), flushes=True)
LOGARITHM = _subnormal_class(_logarithm, 3)
POWER = _subnormal_class(_power, 1, narrow=True)
CUBE_ROOT = _subnormal_class(_cube_root, 2)
ANGLE = _subnormal_class(_angle, 3)

"""Distance of a result from the expected result, in units in the last place (ulp)."""

from __future__ import annotations

import numpy as np

from conformance.verdict import HISTOGRAM_EDGES
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements
from reference.numerics.rounding import ordinal, to_float64, ulp_size

EXACT_INTEGER_LIMIT = float(1 << 52)
MAX_ERROR_POINTS = 24
"""Number of points that a comparison adds to the plot of error against input."""


def ulp_distances(expected: Array, actual: Array) -> Array:
    """Return distances of 1-D arrays of one floating-point or complex type, as float64 >= 0.

    Real: the number of representable numbers in between; infinity follows the largest finite
    number, and the distance of -0 and +0 is 0. Complex: the larger of the parts' errors, in ulps of
    the larger part of the expected number. NaN against NaN is 0, NaN against a number inf.
    """
    if element_type_of(expected).is_complex:
        return _complex_distances(expected, actual)
    result = np.abs(_signed_distances(expected, actual))
    nan = np.isnan(to_float64(expected)), np.isnan(to_float64(actual))
    result[nan[0] | nan[1]] = np.inf
    result[nan[0] & nan[1]] = 0.0
    return result


def ulps_from_prediction(other: Array, actual: Array) -> Array:
    """Return distances of an array's elements from predicted elements, in ulp, as float64.

    The distance is 0 if all bits are equal or both are NaN. In types that have no ulp any other
    distance is infinite.
    """
    element_type, same = element_type_of(actual), equal_elements(other, actual)
    if same.all() or not (element_type.is_float or element_type.is_complex):
        return np.where(same, 0.0, np.inf)
    distances = ulp_distances(other.reshape(-1), actual.reshape(-1)).reshape(actual.shape)
    return np.where(same, 0.0, distances)


def _signed_distances(expected: Array, actual: Array) -> Array:
    """Count the numbers from `expected` up to `actual`; exact below 2^52."""
    left, right = ordinal(expected), ordinal(actual)
    apart = right.astype(np.float64) - left.astype(np.float64)
    with np.errstate(over="ignore"):
        exact = (right - left).astype(np.float64)
    return np.where(np.abs(apart) < EXACT_INTEGER_LIMIT, exact, apart)


def part_distances(expected: Array, actual: Array) -> tuple[Array, Array]:
    """Return errors of the parts of complex numbers (1-D), in ulps of the larger expected part.

    Equal parts and two NaNs are at distance 0, a NaN and a number at NaN.
    """
    of = element_type_of(expected).part
    with np.errstate(all="ignore"):
        larger = np.fmax(np.abs(np.real(expected)), np.abs(np.imag(expected))).astype(np.longdouble)
        unit = ulp_size(larger, of)
        real, imag = (
            np.where(
                _equal_or_both_nan(want, got), 0.0, np.abs(got.astype(np.longdouble) - want) / unit
            )
            for want, got in ((part(expected), part(actual)) for part in (np.real, np.imag))
        )
        return real.astype(np.float64), imag.astype(np.float64)


def bound_distances(expected: Array, actual: Array, bound: Array) -> Array:
    """Return errors of real or complex numbers (1-D), in units of their absolute bounds.

    Equal numbers are at distance 0 even where the bound is 0. Parts that are both NaN are equal. If
    the largest finite number is within the bound of the expected number, infinity counts as that
    largest number.
    """
    element_type = element_type_of(expected)
    if element_type.is_complex:
        parts = ((part(expected), part(actual)) for part in (np.real, np.imag))
        with np.errstate(all="ignore"):
            real, imag = (
                np.where(_equal_or_both_nan(want, got), 0.0, np.abs(got.astype(np.float64) - want))
                for want, got in parts
            )
            error = np.hypot(real, imag)
            same = actual == expected
    else:
        want, got = to_float64(expected), to_float64(actual)
        limit = element_type.float_format.max_finite if element_type.is_float else np.inf
        near = np.isfinite(want) & (np.abs(want) + bound >= limit) & np.isinf(got)
        got = np.where(near, np.copysign(limit, got), got)
        with np.errstate(invalid="ignore"):  # of infinities
            error, same = np.abs(got - want), got == want
    with np.errstate(all="ignore"):
        units = np.where(error == 0, 0.0, error / bound)
    return np.where(same, 0.0, np.where(np.isnan(units), np.inf, units))


def _complex_distances(expected: Array, actual: Array) -> Array:
    worst = np.maximum(*part_distances(expected, actual))
    return np.where(np.isnan(worst), np.inf, worst)


def _equal_or_both_nan(want: Array, got: Array) -> Array:
    return (want == got) | (np.isnan(want) & np.isnan(got))


def error_histogram(errors: Array) -> list[int]:
    """Count the errors (in ulp, finite) in each bin of HISTOGRAM_EDGES."""
    bins = np.searchsorted(np.asarray(HISTOGRAM_EDGES, np.float64), errors, side="left")
    return np.bincount(bins, minlength=len(HISTOGRAM_EDGES) + 1).tolist()


def error_points(
    operands: tuple[Array, ...],
    expected: Array,
    actual: Array,
    counted: Array,
) -> list[tuple[float, float]]:
    """Return (input, signed error in ulp) of a real unary function: the worst and a sample.

    `counted` masks the elements of the flattened result to use. Any other op has no points.
    """
    if len(operands) != 1 or operands[0].shape != expected.shape:
        return []
    if not element_type_of(operands[0]).is_float or operands[0].dtype != expected.dtype:
        return []
    where = np.flatnonzero(counted)
    inputs = to_float64(operands[0]).reshape(-1)[where]
    finite = np.isfinite(inputs)
    where, inputs = where[finite], inputs[finite]
    signed = _signed_distances(expected.reshape(-1)[where], actual.reshape(-1)[where])
    order = np.argsort(-np.abs(signed), kind="stable")
    kept = np.concatenate([order[: MAX_ERROR_POINTS // 2], order[MAX_ERROR_POINTS // 2 :: 7]])[
        :MAX_ERROR_POINTS
    ]
    return [(float(inputs[i]), float(signed[i])) for i in kept.tolist()]

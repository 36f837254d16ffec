"""The hull of samples: permitted results lie between the least and the greatest sample.

A sample is the result of one evaluation with all intermediate results moved within their tolerances
(conformance/judging/perturbation/evaluations.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from conformance.judging.sets.facts import WIDE_PRECISION
from conformance.verdict import Verdict
from reference.ir.types import Array, ElementType
from reference.numerics.rounding import to_float64, ulp_size

MARGIN = 1.0
"""Widths of the hull by which results may lie outside: see `SAMPLES` in evaluations.py."""


def narrow_limit(element_type: ElementType) -> float:
    """Return the largest difference of numbers, in ulp, between which nothing discrete lies.

    Of types of few digits, all steps but the least are discrete outcomes.
    """
    return 64.0 if element_type.part.float_format.precision >= WIDE_PRECISION else 2.0


FAR = 64
"""Largest error, in widths of the hull, that counts as a lack of accuracy."""


def _real_parts(arrays: Sequence[Array], element_type: ElementType) -> list[list[Array]]:
    if element_type.is_complex:
        return [[part(a).astype(np.float64) for a in arrays] for part in (np.real, np.imag)]
    return [[to_float64(a) for a in arrays]]


def _hull(samples: Sequence[Array], margin: float) -> tuple[Array, Array]:
    """Return the least and the greatest number among each element's samples, with a margin."""
    stacked = np.stack(samples)
    numbers = np.where(np.isnan(stacked), np.inf, stacked).min(axis=0)
    others = np.where(np.isnan(stacked), -np.inf, stacked).max(axis=0)
    with np.errstate(all="ignore"):
        more = margin * (others - numbers)
    more = np.where(np.isfinite(more), more, 0.0)
    return numbers - more, others + more


def is_within(
    samples: Sequence[Array], got: Array, element_type: ElementType, margin: float = MARGIN
) -> Array:
    """Return a mask of elements within the hull and its margin, or NaN like a sample.

    `margin` is in widths of the hull. A zero must have the sign of a sample, unless the hull
    extends to both sides of zero.
    """
    if element_type.is_complex:
        return _is_within_complex(samples, got, margin)
    (parts,) = _real_parts([*samples, got], element_type)
    *wide, actual = parts
    return _is_inside_hull(wide, actual, margin)


def _is_inside_hull(wide: Sequence[Array], actual: Array, margin: float) -> Array:
    low, high = _hull(wide, margin)
    nan = np.any([np.isnan(one) for one in wide], axis=0) & np.isnan(actual)
    inside = (low <= actual) & (actual <= high)
    zero = (actual == 0) & (low == 0) & (high == 0)
    signs = np.any([np.signbit(one) == np.signbit(actual) for one in wide], axis=0)
    return nan | (inside & (~zero | signs))


def _is_within_complex(samples: Sequence[Array], got: Array, margin: float) -> Array:
    """Return the mask for complex numbers: each part's hull is widened by the other's width.

    Errors of complex arithmetic scale with the modulus; a rotation moves them between parts.
    """
    real = [np.real(one).astype(np.float64) for one in (*samples, got)]
    imag = [np.imag(one).astype(np.float64) for one in (*samples, got)]
    with np.errstate(all="ignore"):
        width = [np.ptp(np.stack(part[:-1]), axis=0) for part in (real, imag)]
    widest = margin / MARGIN * np.nan_to_num(np.maximum(*width), nan=0.0, posinf=0.0)
    inside: list[Array] = []
    for part in (real, imag):
        low, high = _hull(part[:-1], margin)
        near = (low - widest <= part[-1]) & (part[-1] <= high + widest)
        inside.append(near | _is_inside_hull(part[:-1], part[-1], margin))
    return inside[0] & inside[1]


def failure_answers(
    samples: Sequence[Array], got: Array, element_type: ElementType
) -> Iterable[tuple[Array, Verdict, str]]:
    """Yield mask, verdict and class of unexplained elements: special values, accuracy, or all."""
    kept = _real_parts([*samples, got], element_type)
    nan = [np.isnan(p[0]) != np.isnan(p[-1]) for p in kept]
    yield np.any(nan, axis=0), Verdict.DIVERGENT, "NaN"
    zero = [(p[0] == 0) & (p[-1] == 0) & (np.signbit(p[0]) != np.signbit(p[-1])) for p in kept]
    same = [p[0] == p[-1] for p in kept]
    alone = np.all([z | s for z, s in zip(zero, same, strict=True)], axis=0)
    yield alone & np.any(zero, axis=0), Verdict.DIVERGENT, "signed zero"
    infinite = [np.isinf(p[0]) != np.isinf(p[-1]) for p in kept]
    yield np.any(infinite, axis=0), Verdict.DIVERGENT, "infinity"
    widest, errors = _widths(kept)
    yield (widest > 0) & (errors <= FAR * widest), Verdict.INACCURATE, "accuracy"


def _widths(parts: Sequence[Sequence[Array]]) -> tuple[Array, Array]:
    """Return the hull's widths and the distances of the last array from the first.

    Both are of the worse part.
    """
    with np.errstate(all="ignore"):
        widths = [np.ptp(np.stack(p[:-1]), axis=0) for p in parts]
        return np.max(widths, axis=0), np.max([np.abs(p[-1] - p[0]) for p in parts], axis=0)


def is_near(samples: Sequence[Array], got: Array, element_type: ElementType) -> Array:
    """Return a mask of elements that further evaluations may reach: a few widths or ulp away."""
    kept = _real_parts([*samples, got], element_type)
    widest, errors = _widths(kept)
    with np.errstate(all="ignore"):
        largest = np.max([np.abs(p[0]) for p in kept], axis=0)
        return (errors > 0) & (
            errors <= FAR * np.fmax(widest, ulp_size(largest, element_type.part))
        )

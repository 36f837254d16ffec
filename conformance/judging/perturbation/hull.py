"""What a program's results may be, told from samples of them: between the least and the greatest.

A sample is the result of one evaluation with all intermediate results moved within their
tolerances (conformance/judging/perturbation/evaluations.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from conformance.verdict import Verdict
from reference.ir.types import Array, ElementType
from reference.numerics.rounding import to_float64, ulp_size

MARGIN = 1.0
"""Widths of the hull by which results may lie outside: see `SAMPLES` in permitted.py."""

FAR = 64
"""Widths of the hull beyond which an error is no lack of accuracy any more."""


def _parts(arrays: Sequence[Array], element_type: ElementType) -> list[list[Array]]:
    if element_type.is_complex:
        return [[part(a).astype(np.float64) for a in arrays] for part in (np.real, np.imag)]
    return [[to_float64(a) for a in arrays]]


def _hull(samples: Sequence[Array], margin: float) -> tuple[Array, Array]:
    """The least and the greatest value of each element that is a number, with a margin."""
    stacked = np.stack(samples)
    numbers = np.where(np.isnan(stacked), np.inf, stacked).min(axis=0)
    others = np.where(np.isnan(stacked), -np.inf, stacked).max(axis=0)
    with np.errstate(all="ignore"):
        more = margin * (others - numbers)
    more = np.where(np.isfinite(more), more, 0.0)
    return numbers - more, others + more


def within(
    samples: Sequence[Array], got: Array, element_type: ElementType, margin: float = MARGIN
) -> Array:
    """Which elements lie in the hull of the samples with a margin, or are NaN as one of them.

    `margin` is in widths of the hull.

    A zero must have a sign that a sample has, unless the hull reaches to both sides of it.
    """
    if element_type.is_complex:
        return _near_complex(samples, got, margin)
    (parts,) = _parts([*samples, got], element_type)
    *wide, actual = parts
    return _inside(wide, actual, margin)


def _inside(wide: Sequence[Array], actual: Array, margin: float) -> Array:
    low, high = _hull(wide, margin)
    nan = np.any([np.isnan(one) for one in wide], axis=0) & np.isnan(actual)
    inside = (low <= actual) & (actual <= high)
    zero = (actual == 0) & (low == 0) & (high == 0)
    signs = np.any([np.signbit(one) == np.signbit(actual) for one in wide], axis=0)
    return nan | (inside & (~zero | signs))


def _near_complex(samples: Sequence[Array], got: Array, margin: float) -> Array:
    """Complex numbers: each part in the hull of the parts, widened by that of the other part.

    Errors of complex arithmetic go by the modulus; a rotation moves them from part to part.
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
        inside.append(near | _inside(part[:-1], part[-1], margin))
    return inside[0] & inside[1]


def failures(
    samples: Sequence[Array], got: Array, element_type: ElementType
) -> Iterable[tuple[Array, Verdict, str]]:
    """What is wrong with elements that nothing explains: special values, accuracy, or all."""
    kept = _parts([*samples, got], element_type)
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
    """The widths of the hulls, and how far the last array is from the first: of the worse part."""
    with np.errstate(all="ignore"):
        widths = [np.ptp(np.stack(p[:-1]), axis=0) for p in parts]
        return np.max(widths, axis=0), np.max([np.abs(p[-1] - p[0]) for p in parts], axis=0)


def is_near(samples: Sequence[Array], got: Array, element_type: ElementType) -> Array:
    """Which elements may be within reach of further evaluations: a few hulls or ulp away."""
    kept = _parts([*samples, got], element_type)
    widest, errors = _widths(kept)
    with np.errstate(all="ignore"):
        largest = np.max([np.abs(p[0]) for p in kept], axis=0)
        return (errors > 0) & (
            errors <= FAR * np.fmax(widest, ulp_size(largest, element_type.part))
        )

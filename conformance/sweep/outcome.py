"""Outcomes of arguments of a function: counts and worst cases, which can be added."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from conformance.verdict import HISTOGRAM_EDGES, Element, Verdict

Edges = tuple[str, str, str, str]
"""First and last result of positive arguments, then of negative arguments, in hexadecimal."""


class ClassCount(msgspec.Struct, frozen=True, kw_only=True):
    """The swept results with one verdict and class: their number, largest error, an example.

    A sweep has no cases and no records, only counts.
    """

    verdict: Verdict
    kind: str
    count: int
    message: str = ""
    worst_ulp: float | None = None
    shown: Element | None = None


class SweepOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of some arguments, in order.

    `right` counts correctly rounded results. `budget` is the permitted error in ulp. `worst` is the
    permitted or inaccurate result with the largest error. `histogram` counts errors in whole ulp by
    `HISTOGRAM_EDGES`; it is empty where results have no ulp. `inversions` and `asymmetries` count
    neighbours in the wrong order, and arguments that break the function's symmetry. `axis` has the
    largest error by position on the axis.
    """

    values: int
    right: int
    budget: float | None = None
    worst: Element | None = None
    histogram: tuple[int, ...] = ()
    classes: tuple[ClassCount, ...] = ()
    inversions: int = 0
    asymmetries: int = 0
    edges: Edges | None = None
    axis: Mapping[int, float] = msgspec.field(default_factory=dict[int, float])


NOTHING = SweepOutcome(values=0, right=0)
"""The outcome of no arguments."""


def add_outcomes(
    left: SweepOutcome, right: SweepOutcome, positive: int = 0, negative: int = 0
) -> SweepOutcome:
    """Add the outcomes of adjacent arguments; `right`'s arguments follow `left`'s.

    `positive` and `negative` are the directions of the function on both sides of zero, as
    `Properties` has them: neighbours across the joint are compared too.
    """
    axis = dict(left.axis)
    for place, error in right.axis.items():
        axis[place] = max(error, axis.get(place, 0.0))
    joint = 0
    if left.edges is not None and right.edges is not None:
        sides = ((positive, 0), (negative, 2))
        joint = sum(
            _is_inverted(direction, left.edges[at + 1], right.edges[at]) for direction, at in sides
        )
    return SweepOutcome(
        values=left.values + right.values,
        right=left.right + right.right,
        budget=right.budget if left.budget is None else left.budget,
        worst=_worse_element(left.worst, right.worst),
        histogram=_sum(left.histogram, right.histogram),
        classes=_merge_classes((*left.classes, *right.classes)),
        inversions=left.inversions + right.inversions + joint,
        asymmetries=left.asymmetries + right.asymmetries,
        edges=_join_edges(left.edges, right.edges),
        axis=axis,
    )


def _sum(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    if not left or not right:
        return left or right
    return tuple(a + b for a, b in zip(left, right, strict=True))


def _join_edges(left: Edges | None, right: Edges | None) -> Edges | None:
    if left is None or right is None:
        return left or right
    return left[0], right[1], left[2], right[3]


def _is_inverted(direction: int, before: str, after: str) -> bool:
    first, second = float.fromhex(before), float.fromhex(after)
    return first > second if direction > 0 else direction < 0 and first < second


def _worse_element(left: Element | None, right: Element | None) -> Element | None:
    """Return the element with the larger error, the first if both have the same."""
    if left is None or right is None:
        return left or right
    return right if (right.ulp or 0.0) > (left.ulp or 0.0) else left


def _merge_classes(classes: tuple[ClassCount, ...]) -> tuple[ClassCount, ...]:
    found: dict[tuple[Verdict, str], ClassCount] = {}
    for one in classes:
        before = found.get((one.verdict, one.kind))
        if before is not None:
            larger = (one.worst_ulp or 0.0) > (before.worst_ulp or 0.0)
            worse = one if larger else before
            one = msgspec.structs.replace(worse, count=one.count + before.count)
        found[one.verdict, one.kind] = one
    return tuple(sorted(found.values(), key=lambda one: (one.verdict.severity, one.kind)))


def hexadecimal(value: float) -> str:
    """Return a number as text that can be read back, also NaN and infinity."""
    return float(value).hex() if math.isfinite(value) else str(float(value))


BINS = len(HISTOGRAM_EDGES) + 1
"""Number of bins of a histogram of errors."""

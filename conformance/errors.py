"""Adding up what a run measures: error pictures and seconds, in any order with the same result.

Histograms add. Points are a bounded sample made of two halves that each survive merging: the worst
errors, and those whose hash is smallest (a bottom-k sketch). So a cell's picture depends neither on
how its cases were split into tasks nor on the order in which tasks end.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import astuple

from conformance.verdict import Errors, Timing

WORST_POINTS = 64
SAMPLED_POINTS = 320

Point = tuple[float, float]


def merge_errors(parts: Iterable[Errors]) -> Errors:
    """The errors of all the parts together, with at most 384 points, sorted by input."""
    merged = Errors()
    points: set[Point] = set()
    for part in parts:
        for number, count in enumerate(part.histogram):
            merged.histogram[number] += count
        points.update((float(x), float(error)) for x, error in part.points)
    worst = sorted(points, key=_by_error)[:WORST_POINTS]
    sampled = sorted(points, key=_by_hash)[:SAMPLED_POINTS]
    merged.points.extend(sorted({*worst, *sampled}))
    return merged


def _by_error(point: Point) -> tuple[float, Point]:
    return (-abs(point[1]), point)


def _by_hash(point: Point) -> tuple[int, Point]:
    return (zlib.crc32(struct.pack("<dd", *point)), point)


def add_timings(parts: Iterable[Timing]) -> Timing:
    """The seconds of all the parts together, each part of a task by itself."""
    rows = [astuple(part) for part in parts]
    return Timing(*(sum(column) for column in zip(*rows, strict=True))) if rows else Timing()

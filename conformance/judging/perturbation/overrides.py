"""Replacement of the reference's results of an operation by a backend's, after a known divergence.

Operations that follow a known divergence are judged on the backend's results.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import different_bits
from reference.numerics.rounding import round_to, to_float64


@dataclass(frozen=True, slots=True)
class Override:
    """A backend's and the reference's results of an operation on the same operands.

    On nearby operands, the backend's results are assumed to be as far from the reference's as on
    these operands. Elements that are not finite are the backend's. A result that becomes NaN on
    nearby operands stays NaN.
    """

    operation: Operation
    expected: tuple[Array, ...]
    actual: tuple[Array, ...]

    def is_for(self, operation: Operation) -> bool:
        """Return whether this override is for an operation.

        The name alone does not decide: names may be reused in another region.
        """
        mine = self.operation
        return (mine.name, mine.operands, mine.results) == (
            operation.name, operation.operands, operation.results,
        )  # fmt: skip

    def shift_results(self, results: tuple[Array, ...]) -> tuple[Array, ...]:
        """Return the results, shifted where the backend's differ from the reference's."""
        return tuple(map(_shift, results, self.expected, self.actual))


def apply_overrides(
    operation: Operation, results: tuple[Any, ...], shifts: Iterable[Override]
) -> tuple[Any, ...]:
    """Return the results of an operation, shifted if there is an override for it."""
    for shift in shifts:
        if shift.is_for(operation):
            return shift.shift_results(results)
    return results


def _shift(result: Array, expected: Array, actual: Array) -> Array:
    differs = different_bits(expected, actual)
    if not differs.any() or result.shape != expected.shape:
        return result
    element_type = element_type_of(result)
    if element_type.is_complex or element_type.is_float:
        differs = differs & ~(np.isnan(result) & ~np.isnan(expected))
    there = actual
    if element_type.is_complex:
        with np.errstate(all="ignore"):
            moved = result.astype(np.clongdouble) + (
                actual.astype(np.clongdouble) - expected.astype(np.clongdouble)
            )
            there = np.where(np.isfinite(moved), moved.astype(result.dtype), actual)
    elif element_type.is_float:
        with np.errstate(all="ignore"):
            moved = to_float64(result) + (to_float64(actual) - to_float64(expected))
        there = np.where(np.isfinite(moved), round_to(np.asarray(moved), element_type), actual)
    there = np.where(
        different_bits(result, expected), there, actual
    )  # exactly so on the same operands
    return np.asarray(np.where(differs, there, result)).astype(result.dtype)

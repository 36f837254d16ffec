"""Results of an operation that stand beside the reference's: a divergence that is taken as given.

What comes after an operation that goes wrong in a known way is judged with that operation's results
as the backend gives them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of, to_bits
from reference.numerics.rounding import round_to, to_float64


@dataclass(frozen=True, slots=True)
class Override:
    """What a backend gave for an operation on some operands, and what the reference gives on them.

    On other operands nearby, its results are taken to be as far from the reference's; elements that
    are no finite numbers are taken as the backend has them.
    """

    operation: Operation
    expected: tuple[Array, ...]
    actual: tuple[Array, ...]

    def is_of(self, operation: Operation) -> bool:
        """Whether it is this operation's: names alone may come again in another region."""
        mine = self.operation
        return (mine.name, mine.operands, mine.results) == (
            operation.name, operation.operands, operation.results,
        )  # fmt: skip

    def on(self, results: tuple[Array, ...]) -> tuple[Array, ...]:
        """The results, shifted where the backend's differ."""
        return tuple(map(_shifted, results, self.expected, self.actual))


def shifted(
    operation: Operation, results: tuple[Any, ...], shifts: Iterable[Override]
) -> tuple[Any, ...]:
    """The results of an operation, shifted where there is a shift of it."""
    for shift in shifts:
        if shift.is_of(operation):
            return shift.on(results)
    return results


def _differ(left: Array, right: Array) -> Array:
    different = to_bits(left) != to_bits(right)
    return different.any(axis=-1) if different.ndim > left.ndim else different


def _shifted(result: Array, expected: Array, actual: Array) -> Array:
    differs = _differ(expected, actual)
    if not differs.any() or result.shape != expected.shape:
        return result
    of = element_type_of(result)
    there = actual
    if of.is_complex:
        with np.errstate(all="ignore"):
            moved = result.astype(np.clongdouble) + (
                actual.astype(np.clongdouble) - expected.astype(np.clongdouble)
            )
            there = np.where(np.isfinite(moved), moved.astype(result.dtype), actual)
    elif of.is_float:
        with np.errstate(all="ignore"):
            moved = to_float64(result) + (to_float64(actual) - to_float64(expected))
        there = np.where(np.isfinite(moved), round_to(np.asarray(moved), of), actual)
    there = np.where(_differ(result, expected), there, actual)  # exactly so on the same operands
    return np.asarray(np.where(differs, there, result)).astype(result.dtype)

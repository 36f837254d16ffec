"""Deviations whose results are known to the last bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from conformance.tolerance.rule import Deviation
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.numerics.alike import alike

Results = tuple[Array, ...]
Otherwise = Callable[[Operation, tuple[Array, ...], Results], Results | None]
"""otherwise(operation, operands, expected): what is computed instead; None where it is the same."""
Others = Callable[[Operation, tuple[Array, ...]], Iterator[Results]]
"""others(operation, operands): each of the things that may be computed instead."""


def exactly(label: str, otherwise: Otherwise) -> Deviation:
    """The class of elements that are just what is computed instead, and not what is asked."""

    def measure(
        operation: Operation, operands: tuple[Array, ...], expected: Results, actual: Results
    ) -> Results:
        others = otherwise(operation, operands, expected)
        if others is None:
            return tuple(np.full(result.shape, np.inf) for result in expected)
        return tuple(
            np.where(alike(other, got), 0.0, np.inf)
            for other, got in zip(others, actual, strict=True)
        )

    return Deviation(label, measure, signs=True, ulps=measure)


def as_one_of(label: str, others: Others) -> Deviation:
    """The class of results that are, all elements of them, one of those computed instead."""

    def measure(
        operation: Operation, operands: tuple[Array, ...], expected: Results, actual: Results
    ) -> Results:
        told = any(all(map(_same, one, actual)) for one in others(operation, operands))
        return tuple(np.full(result.shape, 0.0 if told else np.inf) for result in expected)

    return Deviation(label, measure, signs=True, ulps=measure)


def _same(other: Array, got: Array) -> bool:
    return bool(alike(other, got).all())

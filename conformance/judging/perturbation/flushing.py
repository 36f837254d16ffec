"""Subnormal numbers taken for zeros in one evaluation of a program: which, and what sums lose.

Backends flush in some of their code and not in other. A product that is contracted with a sum is
not flushed, though the same product elsewhere is; of a reduction, partial sums are flushed that no
operation of the program has for a result. So what is flushed is chosen for each operation, or for
each element, and sums lose what flushing on their way can lose (`Rule.loss`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.catalog import rule_of
from conformance.judging.perturbation.error_model import shifted_by
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import flush_subnormals
from reference.numerics.arithmetic import quiet

Values = tuple[Any, ...]

Chosen = Callable[[Array], Array]
"""chosen(array): which elements of a result are flushed where they are subnormal, as booleans."""


@dataclass(frozen=True, slots=True)
class Flushing:
    """What is flushed in one evaluation.

    `chosen` says it of each result, one after the other (of complex ones part by part). Sums lose
    what they may in the directions that `lost` gives for a shape: -1 to 1 of the most, 0 where
    nothing is lost on the way.
    """

    chosen: Chosen
    lost: Callable[[tuple[int, ...]], Array] | None = None

    def inputs(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """What a program is given, flushed."""
        return tuple(self._flushed(one) for one in arrays)

    def results(
        self, operation: Operation, operands: Values | None, results: Values, platform: str
    ) -> Values:
        """The results of an operation; those that nothing is flushed of are the same arrays.

        `operands` are None where they are not known, or the operation has regions to run.
        """
        if operands is not None and self.lost is not None:
            results = self._lossy(operation, operands, results, platform)
        return tuple(self._flushed(one) for one in results)

    def _flushed(self, result: Any) -> Any:
        if not isinstance(result, np.ndarray) or not result.size:
            return result
        flushed = flush_subnormals(result)
        if flushed is result:
            return result
        if not element_type_of(result).is_complex:
            return np.where(self.chosen(result), flushed, result).astype(result.dtype)
        there = np.empty_like(result)
        pairs = [(part(flushed), part(result)) for part in (np.real, np.imag)]
        there.real, there.imag = (np.where(self.chosen(old), new, old) for new, old in pairs)
        return there

    def _lossy(
        self, operation: Operation, operands: Values, results: Values, platform: str
    ) -> Values:
        rule, lost = rule_of(operation), self.lost
        if rule is None or lost is None:
            return results
        loss = rule.on(platform).loss
        if loss is None or not all(isinstance(one, np.ndarray) for one in (*operands, *results)):
            return results
        losses = quiet(loss)(operation, operands, results)
        return tuple(
            result if less is None or not less.any() else quiet(shifted_by)(result, less, lost)
            for result, less in zip(results, losses, strict=True)
        )


def everything(lost: float = 0.0) -> Flushing:
    """Whatever is subnormal is flushed, and sums lose this part of what they may."""
    return Flushing(
        lambda array: np.ones(array.shape, np.bool_),
        (lambda shape: np.full(shape, lost)) if lost else None,
    )


def of_sign(sign: float) -> Flushing:
    """Negative numbers are flushed, or positive ones: what makes sums as large or as small as
    flushing can make them."""
    return Flushing(
        lambda array: np.signbit(array) == (sign < 0), lambda shape: np.full(shape, -sign)
    )


def at_random(random: np.random.Generator) -> Flushing:
    """All of a result, nothing, or some of its elements; sums lose some part of what they may."""

    def chosen(array: Array) -> Array:
        way = random.integers(0, 4)
        if way < 2:  # as one loop of a backend does to all of its elements
            return np.full(array.shape, bool(way))
        return random.integers(0, 2, array.shape).astype(np.bool_)

    return Flushing(chosen, lambda shape: random.uniform(-1.0, 1.0, shape))

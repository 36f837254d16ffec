"""Subnormal numbers flushed to zero in one evaluation of a program, and losses of sums.

Backends flush in some parts of their code only. A product contracted with a sum is not flushed,
though the same product by itself is. A reduction flushes partial sums, which are no operation's
result. So flushing is selected for each operation or each element, and sums lose what flushed
partial sums can lose (`Rule.flush_loss`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.catalog import rule_of
from conformance.judging.perturbation.error_model import shift_elements
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import flush_subnormals
from reference.numerics.arithmetic import quiet

Values = tuple[Any, ...]

ElementSelector = Callable[[Array], Array]
"""A function chosen(array) that returns a mask of the elements to flush where they are subnormal.
"""


@dataclass(frozen=True, slots=True)
class FlushingChoices:
    """The flushing of one evaluation.

    `chosen` selects the elements of each result in order (of complex results part by part). `lost`
    gives the loss of sums for a shape: -1 to 1 of the largest loss, 0 for no loss.
    """

    chosen: ElementSelector
    lost: Callable[[tuple[int, ...]], Array] | None = None

    def flush_inputs(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a program's inputs, flushed."""
        return tuple(self._flush(array) for array in arrays)

    def flush_results(
        self, operation: Operation, operands: Values | None, results: Values, platform: str
    ) -> Values:
        """Return the results of an operation, flushed; unaffected results are the same arrays.

        `operands` are None if they are unknown or the operation has regions to run.
        """
        if operands is not None and self.lost is not None:
            results = self._apply_loss(operation, operands, results, platform)
        return tuple(self._flush(result) for result in results)

    def _flush(self, result: Any) -> Any:
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

    def _apply_loss(
        self, operation: Operation, operands: Values, results: Values, platform: str
    ) -> Values:
        rule, lost = rule_of(operation), self.lost
        if rule is None or lost is None:
            return results
        loss = rule.hardware_rule(platform).flush_loss
        if loss is None or not all(isinstance(one, np.ndarray) for one in (*operands, *results)):
            return results
        losses = quiet(loss)(operation, operands, results)
        return tuple(
            result if less is None or not less.any() else quiet(shift_elements)(result, less, lost)
            for result, less in zip(results, losses, strict=True)
        )


def flush_everything(lost: float = 0.0) -> FlushingChoices:
    """Return flushing of every subnormal; sums lose the share `lost` of their largest loss."""
    return FlushingChoices(
        lambda array: np.ones(array.shape, np.bool_),
        (lambda shape: np.full(shape, lost)) if lost else None,
    )


def flush_sign(sign: float) -> FlushingChoices:
    """Return flushing of the numbers of one sign.

    It makes sums as large or as small as flushing can.
    """
    return FlushingChoices(
        lambda array: np.signbit(array) == (sign < 0), lambda shape: np.full(shape, -sign)
    )


def flush_at_random(random: np.random.Generator) -> FlushingChoices:
    """Return flushing of all, none or some elements of each result, with random losses of sums."""

    def random_mask(array: Array) -> Array:
        way = random.integers(0, 4)
        if way < 2:  # one loop of a backend flushes all elements or none
            return np.full(array.shape, bool(way))
        return random.integers(0, 2, array.shape).astype(np.bool_)

    return FlushingChoices(random_mask, lambda shape: random.uniform(-1.0, 1.0, shape))

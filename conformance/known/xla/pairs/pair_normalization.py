"""Batch normalization of numbers of f64 on TPUs: XLA's expansion, step by step on pairs of f32.

Elements are lost if a step overflowed, or if an inverse root was of no normal number.
`float_pairs.py` is about the pairs.

Source: libtpu 0.0.50, measured on the modules that it rewrites normalizations to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.known.numbers_with_error import Arithmetic, Number
from conformance.known.xla.pairs.representation import (
    LARGE,
    NORMAL,
    SMALLEST,
    THICK,
    THIN,
    round_to_pairs,
)
from conformance.tolerance.bounds.normalization import FULL_SIZE_OPERANDS
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.ops import normalization as ops
from reference.ops.table import OPS

GRAD, INFERENCE, TRAINING = (record.name for record in ops.OPS)


@dataclass(frozen=True, slots=True)
class PairArithmetic(Arithmetic):
    """Arithmetic on pairs.

    `unit` is the relative error of an operation, `coarse` of an operation whose second numbers are
    lost.
    """

    unit: float
    coarse: float

    def exactly(self, numbers: Array) -> Number:
        """Return given numbers, rounded to pairs."""
        return self.step(numbers, np.zeros(numbers.shape), np.zeros(numbers.shape, np.bool_))

    def loses(self, size: Array) -> Array:
        """Return a mask of the magnitudes that may overflow."""
        return ~(size < LARGE)

    def accumulated_error(self, count: int) -> tuple[float, float]:
        """Return the error of a sum of `count` numbers."""
        return count * self.unit, 0.0

    def step(
        self, exact: Array, error: Array, lost: Array, *, units: float | None = None
    ) -> Number:
        """Return the result of a step, rounded to pairs; large pairs may be lost."""
        del units
        value = round_to_pairs(np.asarray(exact))
        size = np.abs(value)
        is_coarse = (size < THIN) | (size > THICK)
        rounding = np.where(is_coarse, self.coarse, self.unit) * np.where(
            np.isfinite(size), size, 0.0
        )
        error = np.where(np.isfinite(error), error, 0.0) + rounding + SMALLEST
        return Number(value, error, self, lost | self.loses(size + error))


def _invert(x: Number, function: Callable[[Array], Array] = np.positive) -> Number:
    """Return 1 / f(x) for an increasing function; lost unless x is a normal number of f32."""
    size = np.abs(x.value)
    value, is_tiny = 1 / function(x.value), ~(size - x.error >= NORMAL)
    most = 1 / function(np.maximum(size - x.error, NORMAL)) - np.abs(value)
    least = np.abs(value) - 1 / function(size + x.error)
    return x.arithmetic.step(value, np.abs(np.maximum(most, least)), x.lost | is_tiny)


def _invert_root(x: Number) -> Number:
    """Return 1 / sqrt(x)."""
    return _invert(x, np.sqrt)


def _put_zero_for_negative(x: Number) -> Number:
    """Return the maximum of a number and 0, which may be as wrong as the number."""
    return Number(np.maximum(x.value, 0.0), x.error, x.arithmetic, x.lost)


def _given(
    operation: Operation, operands: Sequence[Array], arithmetic: PairArithmetic
) -> tuple[list[Number], Number, Number, tuple[int, ...]]:
    """Return the operands, epsilon and 1 / count, and the dimensions that are reduced."""
    first = operands[0]
    index: Any = operation.attribute("feature_index")
    epsilon: Any = operation.attribute("epsilon")
    count = max(first.size // max(first.shape[index], 1), 1)
    shaped = (
        one if name in FULL_SIZE_OPERANDS else ops.shape_per_feature(one, first, index)
        for name, one in zip(OPS[operation.name].operands, operands, strict=True)
    )
    constants = (np.array(one, np.float64) for one in (epsilon, 1 / count))
    numbers, (spread, inverse) = (list(map(arithmetic.exactly, one)) for one in (shaped, constants))
    return numbers, spread, inverse, ops.reduced_axes(first, index)


def _infer(
    operands: list[Number], epsilon: Number, inverse: Number, axes: tuple[int, ...]
) -> tuple[Number, ...]:
    """Return x * s + (offset - mean * s), with s = scale / sqrt(variance + epsilon)."""
    del inverse, axes
    x, scale, offset, mean, variance = operands
    factor = scale * _invert_root(variance + epsilon)
    return (x * factor + (offset - mean * factor),)


def _train(
    operands: list[Number], epsilon: Number, inverse: Number, axes: tuple[int, ...]
) -> tuple[Number, ...]:
    """Return the results with the variance as E[x^2] - E[x]^2, or 0 where that is negative."""
    x, scale, offset = operands
    mean = x.sum(axes) * inverse
    variance = _put_zero_for_negative((x * x).sum(axes) * inverse - mean * mean)
    root = _invert_root(variance + epsilon)
    return (x - mean) * root * scale + offset, mean, variance


def _differentiate(
    operands: list[Number], epsilon: Number, inverse: Number, axes: tuple[int, ...]
) -> tuple[Number, ...]:
    """Return the gradients with 1 / sqrt(variance + epsilon) factored out of the sums."""
    x, scale, mean, variance, grad_output = operands
    spread = variance + epsilon
    root, centered = _invert_root(spread), x - mean
    offset, covariance = grad_output.sum(axes), (grad_output * centered).sum(axes)
    along = covariance * centered * _invert(spread) * inverse
    inner = grad_output - offset * inverse - along
    return scale * root * inner, covariance * root, offset


_EXPANSIONS: dict[str, Callable[..., tuple[Number, ...]]] = {
    GRAD: _differentiate,
    INFERENCE: _infer,
    TRAINING: _train,
}


def is_normalization(operation: Operation) -> bool:
    """Return whether an operation is a batch normalization of f64 numbers."""
    return operation.name in _EXPANSIONS


def steps_of(
    operation: Operation, operands: Sequence[Array], unit: float, coarse: float
) -> tuple[Number, ...]:
    """Return the results of a normalization on pairs.

    Args:
        operation: the normalization.
        operands: its operands, numbers of f64.
        unit: the relative error of an operation on pairs.
        coarse: the same where second numbers are lost.
    """
    with np.errstate(all="ignore"):
        given, *constants, axes = _given(operation, operands, PairArithmetic(unit, coarse))
        return _EXPANSIONS[operation.name](given, *constants, axes)

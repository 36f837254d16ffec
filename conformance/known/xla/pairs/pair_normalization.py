"""Batch normalization of numbers of f64 on TPUs: XLA's expansion, step by step on pairs of f32.

Each step has a value, an absolute error that arithmetic on pairs explains, and a mask of what is
lost: NaN or infinite, since a step overflowed or an inverse root was of no normal number.
`float_pairs.py` is about the pairs.

Source: libtpu 0.0.50, measured on the modules that it rewrites normalizations to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from conformance.known.xla.normalization import GRAD, INFERENCE, TRAINING
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


@dataclass(frozen=True, slots=True)
class Step:
    """The result of a step on pairs, its absolute error, and which elements may be no numbers.

    `unit` is the relative error of an operation, `coarse` of an operation whose second numbers are
    lost.
    """

    value: Array
    error: Array
    is_lost: Array
    unit: float
    coarse: float

    def made(self, value: Array, error: Array, *lost: Array) -> Step:
        """Return the step of a value and of the error that operands explain, rounded to pairs."""
        value = round_to_pairs(np.asarray(value))
        size = np.abs(value)
        is_coarse = (size < THIN) | (size > THICK)
        rounding = np.where(is_coarse, self.coarse, self.unit) * np.where(
            np.isfinite(size), size, 0.0
        )
        error = np.where(np.isfinite(error), error, 0.0) + rounding + SMALLEST
        is_lost = reduce(np.logical_or, lost, ~(size + error < LARGE))
        return Step(value, error, is_lost, self.unit, self.coarse)

    def __add__(self, other: Step) -> Step:
        return self.made(
            self.value + other.value, self.error + other.error, self.is_lost, other.is_lost
        )

    def __sub__(self, other: Step) -> Step:
        return self.made(
            self.value - other.value, self.error + other.error, self.is_lost, other.is_lost
        )

    def __mul__(self, other: Step) -> Step:
        error = (
            np.abs(self.value) * other.error
            + np.abs(other.value) * self.error
            + self.error * other.error
        )
        return self.made(self.value * other.value, error, self.is_lost, other.is_lost)

    def sum(self, axes: tuple[int, ...]) -> Step:
        """Return the sum over dimensions, which are kept with the size 1."""
        size = np.abs(self.value).sum(axis=axes, keepdims=True)
        count = self.value.size // max(size.size, 1)
        error = self.error.sum(axis=axes, keepdims=True) + count * self.unit * size
        lost = self.is_lost.any(axis=axes, keepdims=True) | ~(size < LARGE)
        return self.made(self.value.sum(axis=axes, keepdims=True), error, lost)

    def inverse_root(self) -> Step:
        """Return 1 / sqrt(x), of numbers from the smallest normal number of f32 up."""
        value = 1 / np.sqrt(self.value)
        least = np.maximum(self.value - self.error, NORMAL)
        error = np.maximum(
            1 / np.sqrt(least) - value, value - 1 / np.sqrt(np.abs(self.value) + self.error)
        )
        lost = self.is_lost | ~(self.value - self.error >= NORMAL)
        return self.made(value, np.abs(error), lost)

    def inverse(self) -> Step:
        """Return 1 / x."""
        value = 1 / self.value
        least = np.maximum(np.abs(self.value) - self.error, NORMAL)
        lost = self.is_lost | ~(np.abs(self.value) - self.error >= NORMAL)
        return self.made(value, 1 / least - np.abs(value), lost)

    def at_least_zero(self) -> Step:
        """Return the maximum of a number and 0."""
        return Step(np.maximum(self.value, 0.0), self.error, self.is_lost, self.unit, self.coarse)


def _given(
    operation: Operation, operands: Sequence[Array], unit: float, coarse: float
) -> tuple[list[Step], Step, Step, tuple[int, ...]]:
    """Return the operands, epsilon and 1 / count as steps, and the dimensions that are reduced."""
    first = operands[0]
    index: Any = operation.attribute("feature_index")
    epsilon: Any = operation.attribute("epsilon")
    count = max(first.size // max(first.shape[index], 1), 1)

    def step(numbers: Array) -> Step:
        zero = np.zeros(numbers.shape)
        empty = Step(zero, zero, zero > 0, unit, coarse)
        return empty.made(numbers, zero)

    shaped = (
        one if name in FULL_SIZE_OPERANDS else ops.shape_per_feature(one, first, index)
        for name, one in zip(OPS[operation.name].operands, operands, strict=True)
    )
    constants = step(np.array(epsilon, np.float64)), step(np.array(1 / count))
    return [step(one) for one in shaped], *constants, ops.reduced_axes(first, index)


def _infer(
    operands: list[Step], epsilon: Step, inverse: Step, axes: tuple[int, ...]
) -> tuple[Step, ...]:
    """Return x * s + (offset - mean * s), with s = scale / sqrt(variance + epsilon)."""
    del inverse, axes
    x, scale, offset, mean, variance = operands
    factor = scale * (variance + epsilon).inverse_root()
    return (x * factor + (offset - mean * factor),)


def _train(
    operands: list[Step], epsilon: Step, inverse: Step, axes: tuple[int, ...]
) -> tuple[Step, ...]:
    """Return the results with the variance as E[x^2] - E[x]^2, or 0 where that is negative."""
    x, scale, offset = operands
    mean = x.sum(axes) * inverse
    variance = ((x * x).sum(axes) * inverse - mean * mean).at_least_zero()
    root = (variance + epsilon).inverse_root()
    return (x - mean) * root * scale + offset, mean, variance


def _differentiate(
    operands: list[Step], epsilon: Step, inverse: Step, axes: tuple[int, ...]
) -> tuple[Step, ...]:
    """Return the gradients with 1 / sqrt(variance + epsilon) factored out of the sums."""
    x, scale, mean, variance, grad_output = operands
    spread = variance + epsilon
    root, centered = spread.inverse_root(), x - mean
    offset, covariance = grad_output.sum(axes), (grad_output * centered).sum(axes)
    along = covariance * centered * spread.inverse() * inverse
    inner = grad_output - offset * inverse - along
    return scale * root * inner, covariance * root, offset


_EXPANSIONS: dict[str, Callable[..., tuple[Step, ...]]] = {
    GRAD: _differentiate,
    INFERENCE: _infer,
    TRAINING: _train,
}


def is_normalization(operation: Operation) -> bool:
    """Return whether an operation is expanded here."""
    return operation.name in _EXPANSIONS


def steps_of(
    operation: Operation, operands: Sequence[Array], unit: float, coarse: float
) -> tuple[Step, ...]:
    """Return the results of a normalization on pairs.

    Args:
        operation: the normalization.
        operands: its operands, numbers of f64.
        unit: the relative error of an operation on pairs.
        coarse: the same where second numbers are lost.
    """
    with np.errstate(all="ignore"):
        given, *constants, axes = _given(operation, operands, unit, coarse)
        return _EXPANSIONS[operation.name](given, *constants, axes)

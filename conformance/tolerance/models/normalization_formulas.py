"""Batch normalization as formulas of balls: the specification's, and others.

The others are what compilers and libraries are known to compute instead. On paper they are the
same; rounded they lose digits where the specification's formula does not, or meet other infinities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.tolerance.bounds.balls import Ball, contracted, hull, unrounded
from reference.ops import normalization as ops

ALL = GRAD, INFERENCE, TRAINING = tuple(record.name for record in ops.OPS)


@dataclass(frozen=True, slots=True)
class BallStep:
    """An operation as balls: operands by name, all shaped to meet, and the constants."""

    op: str
    given: dict[str, Ball]
    epsilon: Ball
    count: Ball
    axes: tuple[int, ...]


Formula = Callable[[BallStep], tuple[Ball, ...]]
"""formula(step): the results of one of the ops, those for each feature still shaped to meet."""


def literal(step: BallStep) -> tuple[Ball, ...]:
    """The results as the specification's text defines them."""
    if step.op == GRAD:
        x, scale, mean, variance, grad_output = step.given.values()
        given = (x, scale, mean, variance, grad_output, step.epsilon, step.count)
        return ops.gradient(*given, step.axes)
    return _normalized(step, ops.inference, ops.moments)


def _normalized(step: BallStep, output: Callable[..., Ball], moments: Any) -> tuple[Ball, ...]:
    """The results of inference or training, by formulas for the output and for the moments."""
    x, scale, offset, *given = step.given.values()
    mean, variance = given or moments(x, step.count, step.axes)
    result = output(x, scale, offset, mean, variance, step.epsilon)
    return (result,) if given else (result, mean, variance)


def reciprocal_root(step: BallStep) -> tuple[Ball, ...]:
    """Products with 1 / sqrt(variance + epsilon) in place of quotients by the root."""
    if step.op != GRAD:
        return _normalized(step, _by_reciprocal, ops.moments)
    x, scale, mean, variance, grad_output = step.given.values()
    centered, factor = x - mean, _reciprocal(variance, step.epsilon)
    literally, spread = literal(step), variance + step.epsilon
    product = ops.total(grad_output * centered, step.axes) * centered
    along = hull(product / spread, product * (1 / spread))  # which may be subnormal, and flushed
    inner = grad_output * step.count - literally[2] - along
    grad_scale = ops.total(grad_output * (centered * factor), step.axes)
    return scale * factor / step.count * inner, grad_scale, literally[2]


def one_pass(step: BallStep) -> tuple[Ball, ...]:
    """The variance as E[x^2] - E[x]^2."""
    return _normalized(step, _by_reciprocal, _one_pass_moments)


def folded(step: BallStep) -> tuple[Ball, ...]:
    """The output as x * s + (offset - mean * s), with s = scale / sqrt(variance + epsilon)."""
    return _normalized(step, _folded_output, ops.moments)


def one_pass_and_folded(step: BallStep) -> tuple[Ball, ...]:
    """Both."""
    return _normalized(step, _folded_output, _one_pass_moments)


def one_pass_of_sums(step: BallStep) -> tuple[Ball, ...]:
    """The variance as E[x^2] - (sum of x)^2 / n^2, whose square may overflow."""
    return _normalized(step, _by_reciprocal, _moments_of_sums)


def one_pass_of_sums_and_folded(step: BallStep) -> tuple[Ball, ...]:
    """That, and the output folded."""
    return _normalized(step, _folded_output, _moments_of_sums)


def other_orders(step: BallStep) -> tuple[Ball, ...]:
    """Gradients whose factors and divisors come in another order, or are drawn out of a sum."""
    x, _, mean, _, grad_output = step.given.values()
    return _reordered(step, ops.total(grad_output * (x - mean), step.axes))


def contraction(step: BallStep) -> tuple[Ball, ...]:
    """The same, with products that go into a sum without being rounded (or overflowing) first."""
    x, _, mean, _, grad_output = step.given.values()
    return _reordered(step, contracted(grad_output, x - mean, step.axes), fused=True)


def _reordered(step: BallStep, covariance: Ball, *, fused: bool = False) -> tuple[Ball, ...]:
    x, scale, mean, variance, grad_output = step.given.values()
    centered, spread = x - mean, variance + step.epsilon
    factor = _reciprocal(variance, step.epsilon)
    grad_offset = ops.total(grad_output, step.axes)
    along = hull(
        covariance * centered / spread,
        covariance / spread * centered,
        covariance * (centered / spread),
        covariance * centered * (1 / spread),
        covariance * (1 / spread) * centered,
        covariance * (centered * (1 / spread)),
    )
    if fused:
        along = hull(
            along,
            unrounded(covariance / spread, centered),
            unrounded(covariance * centered, 1 / spread),
            unrounded(covariance * (1 / spread), centered),
            unrounded(covariance, centered * (1 / spread)),
            unrounded(covariance, centered / spread),
        )
    inner = grad_output * step.count - grad_offset - along
    grad_operand = hull(
        scale * factor / step.count * inner,
        scale / step.count * factor * inner,
        inner * scale * factor / step.count,
    )
    return grad_operand, hull(covariance * factor, covariance / np.sqrt(spread)), grad_offset


def _reciprocal(variance: Ball, epsilon: Ball) -> Ball:
    found = 1 / np.sqrt(variance + epsilon)
    if epsilon.low.any() or epsilon.high.any():
        return found
    return hull(found, 1 / np.sqrt(variance))  # an epsilon of 0 left out: a variance of -0 stays


def _by_reciprocal(
    x: Ball, scale: Ball, offset: Ball, mean: Ball, variance: Ball, epsilon: Ball
) -> Ball:
    return scale * ((x - mean) * _reciprocal(variance, epsilon)) + offset


def _folded_output(
    x: Ball, scale: Ball, offset: Ball, mean: Ball, variance: Ball, epsilon: Ball
) -> Ball:
    factor = scale * _reciprocal(variance, epsilon)
    return x * factor + (offset - mean * factor)


def _one_pass_moments(x: Ball, count: Ball, axes: tuple[int, ...]) -> tuple[Ball, Ball]:
    mean = ops.total(x, axes) / count
    return mean, ops.total(x * x, axes) / count - mean * mean


def _moments_of_sums(x: Ball, count: Ball, axes: tuple[int, ...]) -> tuple[Ball, Ball]:
    total = ops.total(x, axes)
    square = total * total * ((1 / count) * (1 / count))
    return total / count, ops.total(x * x, axes) / count - square


OTHERS: tuple[tuple[str, Formula, tuple[str, ...]], ...] = (
    ("reciprocal", reciprocal_root, ALL),
    ("order of the factors", other_orders, (GRAD,)),
    ("contracted product", contraction, (GRAD,)),
    ("folded normalization", folded, (INFERENCE, TRAINING)),
    ("one-pass variance", one_pass, (TRAINING,)),
    ("one-pass variance", one_pass_and_folded, (TRAINING,)),
    ("one-pass variance", one_pass_of_sums, (TRAINING,)),
    ("one-pass variance", one_pass_of_sums_and_folded, (TRAINING,)),
)
"""Formulas that compilers are known to evaluate: their class, and the ops that they are of."""

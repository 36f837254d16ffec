"""Batch normalization as formulas on intervals: the specification's, and others.

The others are what compilers and libraries are known to compute instead. On paper they are the
same; rounded they lose digits where the specification's formula does not, or meet other infinities.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from conformance.known.hypothesis import Hypothesis, Operands, Results, predict_nothing
from conformance.tolerance.bounds.intervals import (
    Arithmetic,
    Interval,
    fused_dot_product,
    fused_product,
    hull,
)
from conformance.tolerance.bounds.normalization import (
    ArithmeticChoice,
    Formula,
    IntervalOperation,
    arithmetic_on,
    measure_by,
    normalize_by,
    round_each_operation,
    specification_formula,
)
from conformance.tolerance.bounds.underflow import has_flushing_modes
from conformance.tolerance.rule import Measure
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, ElementType
from reference.ops import normalization as ops

ALL = GRAD, INFERENCE, TRAINING = tuple(record.name for record in ops.OPS)

_F16, _F32 = ELEMENT_TYPES["f16"], ELEMENT_TYPES["f32"]


def reciprocal_root(step: IntervalOperation) -> tuple[Interval, ...]:
    """Return products with 1 / sqrt(variance + epsilon) instead of quotients by the root."""
    if step.op != GRAD:
        return normalize_by(step, _normalize_by_reciprocal, ops.moments)
    x, scale, mean, variance, grad_output = step.given.values()
    centered, factor = x - mean, _reciprocal(variance, step.epsilon)
    literally, spread = specification_formula(step), variance + step.epsilon
    product = ops.total(grad_output * centered, step.axes) * centered
    along = hull(product / spread, product * (1 / spread))  # which may be subnormal, and flushed
    inner = grad_output * step.count - literally[2] - along
    grad_scale = ops.total(grad_output * (centered * factor), step.axes)
    return scale * factor / step.count * inner, grad_scale, literally[2]


def one_pass(step: IntervalOperation) -> tuple[Interval, ...]:
    """Return results with the variance as E[x^2] - E[x]^2."""
    return normalize_by(step, _normalize_by_reciprocal, _one_pass_moments)


def folded_output(step: IntervalOperation) -> tuple[Interval, ...]:
    """Return x * s + (offset - mean * s), with s = scale / sqrt(variance + epsilon)."""
    return normalize_by(step, _folded_output, ops.moments)


def one_pass_and_folded(step: IntervalOperation) -> tuple[Interval, ...]:
    """Both."""
    return normalize_by(step, _folded_output, _one_pass_moments)


def one_pass_of_sums(step: IntervalOperation) -> tuple[Interval, ...]:
    """Return results with the variance as E[x^2] - (sum of x)^2 / n^2, which may overflow."""
    return normalize_by(step, _normalize_by_reciprocal, _moments_of_sums)


def one_pass_of_sums_and_folded(step: IntervalOperation) -> tuple[Interval, ...]:
    """Return `one_pass_of_sums` with the output folded."""
    return normalize_by(step, _folded_output, _moments_of_sums)


def other_orders(step: IntervalOperation) -> tuple[Interval, ...]:
    """Return gradients with factors and divisors in another order, or factored out of a sum."""
    x, _, mean, _, grad_output = step.given.values()
    return _reorder_gradient(step, ops.total(grad_output * (x - mean), step.axes))


def contraction(step: IntervalOperation) -> tuple[Interval, ...]:
    """Return the gradients of `other_orders`, with products that are summed unrounded."""
    x, _, mean, _, grad_output = step.given.values()
    return _reorder_gradient(step, fused_dot_product(grad_output, x - mean, step.axes), fused=True)


def _reorder_gradient(
    step: IntervalOperation, covariance: Interval, *, fused: bool = False
) -> tuple[Interval, ...]:
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
            fused_product(covariance / spread, centered),
            fused_product(covariance * centered, 1 / spread),
            fused_product(covariance * (1 / spread), centered),
            fused_product(covariance, centered * (1 / spread)),
            fused_product(covariance, centered / spread),
        )
    inner = grad_output * step.count - grad_offset - along
    grad_operand = hull(
        scale * factor / step.count * inner,
        scale / step.count * factor * inner,
        inner * scale * factor / step.count,
    )
    return grad_operand, hull(covariance * factor, covariance / np.sqrt(spread)), grad_offset


def _reciprocal(variance: Interval, epsilon: Interval) -> Interval:
    found = 1 / np.sqrt(variance + epsilon)
    if epsilon.low.any() or epsilon.high.any():
        return found
    return hull(found, 1 / np.sqrt(variance))  # an epsilon of 0 left out: a variance of -0 stays


def _normalize_by_reciprocal(
    x: Interval,
    scale: Interval,
    offset: Interval,
    mean: Interval,
    variance: Interval,
    epsilon: Interval,
) -> Interval:
    return scale * ((x - mean) * _reciprocal(variance, epsilon)) + offset


def _folded_output(
    x: Interval,
    scale: Interval,
    offset: Interval,
    mean: Interval,
    variance: Interval,
    epsilon: Interval,
) -> Interval:
    factor = scale * _reciprocal(variance, epsilon)
    return x * factor + (offset - mean * factor)


def _one_pass_moments(
    x: Interval, count: Interval, axes: tuple[int, ...]
) -> tuple[Interval, Interval]:
    mean = ops.total(x, axes) / count
    return mean, ops.total(x * x, axes) / count - mean * mean


def _moments_of_sums(
    x: Interval, count: Interval, axes: tuple[int, ...]
) -> tuple[Interval, Interval]:
    total = ops.total(x, axes)
    square = total * total * ((1 / count) * (1 / count))
    return total / count, ops.total(x * x, axes) / count - square


OTHERS: tuple[tuple[str, Formula, tuple[str, ...]], ...] = (
    ("reciprocal", reciprocal_root, ALL),
    ("order of the factors", other_orders, (GRAD,)),
    ("contracted product", contraction, (GRAD,)),
    ("folded normalization", folded_output, (INFERENCE, TRAINING)),
    ("one-pass variance", one_pass, (TRAINING,)),
    ("one-pass variance", one_pass_and_folded, (TRAINING,)),
    ("one-pass variance", one_pass_of_sums, (TRAINING,)),
    ("one-pass variance", one_pass_of_sums_and_folded, (TRAINING,)),
)
"""Formulas that compilers are known to evaluate: their class, and the ops that they are of."""


def _loose_arithmetic(element_type: ElementType) -> Arithmetic:
    """Return an arithmetic of products with reciprocals, with 2 ulp for 1 / sqrt(x)."""
    return Arithmetic(
        element_type, quotient=3.0, root=4.0, flushes=has_flushing_modes(element_type)
    )


def _wider_arithmetics(arithmetic: ArithmeticChoice) -> Iterator[ArithmeticChoice]:
    """Yield wider arithmetics: constants rounded or not, subnormals flushed or not."""
    for wider, whole, flushes in itertools.product((_F32, _F16), (True, False), (False, True)):
        yield partial(_arithmetic, arithmetic, wider, whole, flushes)


def _arithmetic(
    arithmetic: ArithmeticChoice,
    wider: ElementType,
    whole: bool,
    flushes: bool,
    element_type: ElementType,
) -> Arithmetic:
    found = arithmetic(element_type if element_type.bits >= wider.bits else wider)
    return replace(found, whole=whole, flushes=flushes and has_flushing_modes(found.of))


def normalization_hypotheses(platform: str) -> tuple[Hypothesis, ...]:
    """Return the classes of what batch normalization gives on a `Hardware`.

    The specification's formula with subnormal numbers flushed, and the other formulas, in the
    operands' type and in wider types. The formulas nearest to the text come first.
    """
    chosen = arithmetic_on(platform)
    lost = measure_by(
        specification_formula, lambda of: replace(chosen(of), flushes=has_flushing_modes(of))
    )
    return Hypothesis("subnormal intermediate", lost, flushes=True), *_OTHERWISE


def _otherwise() -> Iterator[Hypothesis]:
    for chosen in _wider_arithmetics(round_each_operation):
        yield Hypothesis(
            "wider arithmetic", measure_by(specification_formula, chosen, as_explanation=True)
        )
    for chosen in (_loose_arithmetic, *_wider_arithmetics(_loose_arithmetic)):
        for label, formula, names in OTHERS:
            yield Hypothesis(
                label, _restrict_measure(names, measure_by(formula, chosen, as_explanation=True))
            )


def _restrict_measure(names: tuple[str, ...], measure: Measure) -> Measure:
    """Return the measure for some of the ops; of any other nothing is explained."""

    def chosen(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        if operation.name in names:
            return measure(operation, operands, expected, actual)
        return predict_nothing(expected)

    return chosen


_OTHERWISE = tuple(_otherwise())

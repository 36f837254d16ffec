"""Tolerance rules of the ops of reference/ops/normalization.py.

Errors are those of the specification's formulas, propagated from step to step (intervals.py).
Errors of other formulas are not permitted: formulas that compilers use
(conformance/known/xla/normalization.py) are classes of divergences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.tolerance.bounds.intervals import (
    Arithmetic,
    Interval,
    convert_interval,
    exact_interval,
)
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.rule import Measure, Rule
from reference.ir.program import Operation
from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.products import wide
from reference.ops import normalization as ops
from reference.ops.table import OPS

_FULL_SIZE_OPERANDS = ("operand", "grad_output")
"""Operands that do not have one element for each feature."""

_SMALLEST_EXCESS = 1.0 + 2.0**-20
"""Least error of results that are not permitted, in units of the permitted error."""

_GPU_QUOTIENT = 5.0
"""In u, of f32 on a GPU: 2 ulp off the correctly rounded quotient (tolerance.DIVIDED)."""


_GRAD, *_ = (record.name for record in ops.OPS)


@dataclass(frozen=True, slots=True)
class IntervalOperation:
    """Operation on intervals: operands by name, shaped to broadcast, and the constants."""

    op: str
    given: dict[str, Interval]
    epsilon: Interval
    count: Interval
    axes: tuple[int, ...]


Formula = Callable[[IntervalOperation], tuple[Interval, ...]]
"""formula(operation): the results of an op, those for each feature shaped to broadcast."""


def specification_formula(step: IntervalOperation) -> tuple[Interval, ...]:
    """Return the results as the specification's text defines them."""
    if step.op == _GRAD:
        x, scale, mean, variance, grad_output = step.given.values()
        given = (x, scale, mean, variance, grad_output, step.epsilon, step.count)
        return ops.gradient(*given, step.axes)
    return normalize_by(step, ops.inference, ops.moments)


def normalize_by(
    step: IntervalOperation, output: Callable[..., Interval], moments: Any
) -> tuple[Interval, ...]:
    """Return the results of inference or training, by formulas for the output and the moments."""
    x, scale, offset, *given = step.given.values()
    mean, variance = given or moments(x, step.count, step.axes)
    result = output(x, scale, offset, mean, variance, step.epsilon)
    return (result,) if given else (result, mean, variance)


def _interval_operation(
    operation: Operation, operands: tuple[Array, ...], arithmetic: Arithmetic
) -> IntervalOperation:
    index: Any = operation.attribute("feature_index")
    epsilon: Any = operation.attribute("epsilon")
    given = {
        name: wide(
            array
            if name in _FULL_SIZE_OPERANDS
            else ops.shape_per_feature(array, operands[0], index)
        )
        for name, array in zip(OPS[operation.name].operands, operands, strict=True)
    }
    constants = ops.constants(operands[0], index, epsilon)
    if arithmetic.whole:
        constants = np.float32(epsilon), operands[0].size // max(operands[0].shape[index], 1)
    added, count = (exact_interval(one, arithmetic) for one in constants)
    return IntervalOperation(
        operation.name,
        {name: exact_interval(array, arithmetic) for name, array in given.items()},
        added,
        count,
        ops.reduced_axes(operands[0], index),
    )


def _results(
    formula: Formula,
    arithmetic: Arithmetic,
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
) -> list[Interval]:
    """Return the intervals of a formula in an arithmetic, in the type and shapes of the results."""
    of = element_type_of(operands[0])
    found: list[Interval] = []
    for interval, result in zip(
        formula(_interval_operation(operation, operands, arithmetic)), expected, strict=True
    ):
        converted = interval if arithmetic.of == of else convert_interval(interval, of)
        low, high, nan = (
            end.reshape(result.shape) for end in (converted.low, converted.high, converted.nan)
        )
        found.append(Interval(low, high, nan, converted.arithmetic))
    return found


ArithmeticChoice = Callable[[ElementType], Arithmetic]
"""arithmetic_for(of): the arithmetic that computes on operands of a type."""


def measure_by(
    formula: Formula, arithmetic_for: ArithmeticChoice, *, as_explanation: bool = False
) -> Measure:
    """Return the measure by a formula: errors in units of the distance of its results.

    If `as_explanation` of a wrong result, numbers that a type lacks are NaN.
    """

    def measure(
        operation: Operation,
        operands: tuple[Array, ...],
        expected: tuple[Array, ...],
        actual: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        arithmetic = arithmetic_for(element_type_of(operands[0]))
        intervals = _results(formula, arithmetic, operation, operands, expected)
        found: list[Array] = []
        for interval, want, got in zip(intervals, expected, actual, strict=True):
            units = _units(interval, wide(want), wide(got))
            if as_explanation and not interval.arithmetic.of.float_format.has_infinity:
                lost = np.isinf(interval.low) | np.isinf(interval.high)
                units = np.where(lost & ~np.isnan(wide(got)), np.inf, units)
            found.append(units)
        return tuple(found)

    return measure


def _units(interval: Interval, want: Array, got: Array) -> Array:
    """Return errors in units of the interval's distance: at most 1 inside, above 1 outside.

    Of exact results, return the number of roundings.
    """
    inside = (interval.low <= got) & (got <= interval.high) | (np.isnan(got) & interval.nan)
    room = np.where(got > want, interval.high - want, want - interval.low)
    room = np.maximum(room, unit_roundoff(interval.arithmetic.of) * np.abs(want))
    units = (np.abs(got - want) / room).astype(np.float64)
    units = np.where(np.isnan(units), np.inf, units)
    within = np.where(np.isfinite(units), np.minimum(units, 1.0), 0.0)
    return np.where(inside, within, np.maximum(units, _SMALLEST_EXCESS))


def _formula_bound(
    formula: Formula, arithmetic_for: ArithmeticChoice
) -> Callable[..., tuple[Array | None, ...]]:
    """Return the bound by a formula, infinite where any result is permitted."""

    def bound(
        operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
    ) -> tuple[Array | None, ...]:
        arithmetic = arithmetic_for(element_type_of(operands[0]))
        intervals = _results(formula, arithmetic, operation, operands, expected)
        return tuple(
            np.fmax(interval.high - wide(want), wide(want) - interval.low).astype(np.float64)
            for interval, want in zip(intervals, expected, strict=True)
        )

    return bound


def round_each_operation(element_type: ElementType) -> Arithmetic:
    """Return the arithmetic in which each operation rounds once, in the type itself."""
    return Arithmetic(element_type)


def _gpu_arithmetic(element_type: ElementType) -> Arithmetic:
    return Arithmetic(element_type, quotient=_GPU_QUOTIENT if element_type.name == "f32" else 1.0)


def arithmetic_on(platform: str) -> ArithmeticChoice:
    """Return the arithmetic of a `Hardware`."""
    return _gpu_arithmetic if platform == Hardware.GPU else round_each_operation


def _rule(name: str, division: str, arithmetic_for: ArithmeticChoice) -> Rule:
    return Rule(
        name,
        "the errors of the specification's formula, carried from step to step: u for each "
        f"operation{division}, (n - 1) u for a sum of n numbers in any order, exact steps being "
        "exact; where a step overflows, divides by zero or gives NaN for sure, what IEEE 754 makes "
        "of it; where rounding errors leave that open, whatever may follow",
        "StableHLO specification; Higham, Accuracy and Stability, 2.4 and 4.4",
        bound=_formula_bound(specification_formula, arithmetic_for),
        measure=measure_by(specification_formula, arithmetic_for),
    )


NORMALIZED = replace(
    _rule("batch normalization", "", round_each_operation),
    by_hardware=((Hardware.GPU, _rule(
        "batch normalization on a GPU", " (quotients of f32 within 2 ulp)", _gpu_arithmetic
    )),),
)  # fmt: skip

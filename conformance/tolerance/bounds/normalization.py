"""Tolerance rules of the ops of reference/ops/normalization.py.

Errors of the specification's formulas are propagated from step to step (intervals.py). Errors of
other formulas are not permitted: those that compilers use are divergences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from conformance.tolerance.bounds.intervals import Arithmetic, Interval, exact_interval
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.rule import Measure, Rule
from reference.ir.program import Operation
from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.products import to_wide_type
from reference.ops import normalization as ops
from reference.ops.table import OPS

FULL_SIZE_OPERANDS = ("operand", "grad_output")
"""Operands that do not have one element for each feature."""

_SMALLEST_EXCESS = 1.0 + 2.0**-20
"""Least error of results that are not permitted, in units of the permitted error."""

_GPU_QUOTIENT = 5.0
"""Error in u of an f32 quotient on a GPU: 2 ulp off the correctly rounded quotient
(tolerance.DIVIDED).
"""


_GRAD, *_ = (record.name for record in ops.OPS)

ArithmeticChoice = Callable[[ElementType], Arithmetic]
"""A function arithmetic_for(of): the arithmetic for operands of a type."""


def _intervals(
    arithmetic_for: ArithmeticChoice,
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
) -> list[Interval]:
    """Return the intervals of the specification's formulas, in the shapes of the results."""
    arithmetic = arithmetic_for(element_type_of(operands[0]))
    index: Any = operation.attribute("feature_index")
    given = (
        array if name in FULL_SIZE_OPERANDS else ops.shape_per_feature(array, operands[0], index)
        for name, array in zip(OPS[operation.name].operands, operands, strict=True)
    )
    constants = ops.constants(operands[0], index, cast("float", operation.attribute("epsilon")))
    epsilon, count = (exact_interval(constant, arithmetic) for constant in constants)
    exact = [exact_interval(to_wide_type(array), arithmetic) for array in given]
    axes = ops.reduced_axes(operands[0], index)
    results: tuple[Interval, ...]
    if operation.name == _GRAD:
        x, scale, mean, variance, grad_output = exact
        results = ops.gradient(x, scale, mean, variance, grad_output, epsilon, count, axes)
    else:
        x, scale, offset, *moments = exact
        mean, variance = moments or ops.moments(x, count, axes)
        output = ops.inference(x, scale, offset, mean, variance, epsilon)
        results = (output,) if moments else (output, mean, variance)
    return [one.reshape(result.shape) for one, result in zip(results, expected, strict=True)]


def measure_by(arithmetic_for: ArithmeticChoice) -> Measure:
    """Return the measure in an arithmetic: errors in units of the distance of its results."""

    def measure(
        operation: Operation,
        operands: tuple[Array, ...],
        expected: tuple[Array, ...],
        actual: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        intervals = _intervals(arithmetic_for, operation, operands, expected)
        return tuple(
            _units(interval, to_wide_type(want), to_wide_type(got))
            for interval, want, got in zip(intervals, expected, actual, strict=True)
        )

    return measure


def _units(interval: Interval, want: Array, got: Array) -> Array:
    """Return errors relative to the interval: at most 1 inside it, above 1 outside it.

    For exact results, return the number of roundings.
    """
    inside = (interval.low <= got) & (got <= interval.high) | (np.isnan(got) & interval.nan)
    room = np.where(got > want, interval.high - want, want - interval.low)
    room = np.maximum(room, unit_roundoff(interval.arithmetic.of) * np.abs(want))
    units = (np.abs(got - want) / room).astype(np.float64)
    units = np.where(np.isnan(units), np.inf, units)
    within = np.where(np.isfinite(units), np.minimum(units, 1.0), 0.0)
    return np.where(inside, within, np.maximum(units, _SMALLEST_EXCESS))


def _interval_bound(arithmetic_for: ArithmeticChoice) -> Callable[..., tuple[Array | None, ...]]:
    """Return the bound in an arithmetic, infinite where any result is permitted."""

    def bound(
        operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
    ) -> tuple[Array | None, ...]:
        intervals = _intervals(arithmetic_for, operation, operands, expected)
        return tuple(
            np.fmax(interval.high - to_wide_type(want), to_wide_type(want) - interval.low).astype(
                np.float64
            )
            for interval, want in zip(intervals, expected, strict=True)
        )

    return bound


def round_each_operation(element_type: ElementType) -> Arithmetic:
    """Return the arithmetic in which each operation rounds once, in the type itself."""
    return Arithmetic(element_type)


def _gpu_arithmetic(element_type: ElementType) -> Arithmetic:
    return Arithmetic(element_type, quotient=_GPU_QUOTIENT if element_type.name == "f32" else 1.0)


def _rule(name: str, division: str, arithmetic_for: ArithmeticChoice) -> Rule:
    return Rule(
        name,
        "the errors of the specification's formula, propagated from step to step: u for each "
        f"operation{division}, (n - 1) u for a sum of n numbers in any order, or what rounding "
        "errors of many are likely to add up to, none for exact steps; a step that certainly "
        "overflows, divides by zero or is NaN gives the result of IEEE 754; where rounding errors "
        "decide about that, either result",
        "StableHLO specification; Higham, Accuracy and Stability, 2.4 and 4.4; Higham and Mary "
        "2019",
        bound=_interval_bound(arithmetic_for),
        measure=measure_by(arithmetic_for),
    )


NORMALIZED = replace(
    _rule("batch normalization", "", round_each_operation),
    by_hardware=((Hardware.GPU, _rule(
        "batch normalization on a GPU", " (quotients of f32 within 2 ulp)", _gpu_arithmetic
    )),),
)  # fmt: skip

"""Tolerance rules of the ops of reference/ops/normalization.py.

The errors are those of the specification's formulas, carried from step to step (balls.py). What
other formulas lose is no excuse: those that compilers are known to use (conformance/known/xla/
normalization.py) are classes of what they get wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.tolerance.bounds.balls import Arithmetic, Ball, exactly, rounded
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.rule import Measure, Rule
from reference.ir.program import Operation
from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.products import wide
from reference.ops import normalization as ops
from reference.ops.table import OPS

_LARGE = ("operand", "grad_output")
"""The operands that are not given for each feature."""

_BARELY = 1.0 + 2.0**-20
"""The least error of what is not permitted, in units of what is."""

_GPU_QUOTIENT = 5.0
"""In u, of f32 on a GPU: 2 ulp off the correctly rounded quotient (tolerance.DIVIDED)."""


_GRAD, *_ = (record.name for record in ops.OPS)


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
    if step.op == _GRAD:
        x, scale, mean, variance, grad_output = step.given.values()
        given = (x, scale, mean, variance, grad_output, step.epsilon, step.count)
        return ops.gradient(*given, step.axes)
    return normalized(step, ops.inference, ops.moments)


def normalized(step: BallStep, output: Callable[..., Ball], moments: Any) -> tuple[Ball, ...]:
    """The results of inference or training, by formulas for the output and for the moments."""
    x, scale, offset, *given = step.given.values()
    mean, variance = given or moments(x, step.count, step.axes)
    result = output(x, scale, offset, mean, variance, step.epsilon)
    return (result,) if given else (result, mean, variance)


def _step(operation: Operation, operands: tuple[Array, ...], arithmetic: Arithmetic) -> BallStep:
    index: Any = operation.attribute("feature_index")
    epsilon: Any = operation.attribute("epsilon")
    given = {
        name: wide(array if name in _LARGE else ops.shape_per_feature(array, operands[0], index))
        for name, array in zip(OPS[operation.name].operands, operands, strict=True)
    }
    constants = ops.constants(operands[0], index, epsilon)
    if arithmetic.whole:
        constants = np.float32(epsilon), operands[0].size // max(operands[0].shape[index], 1)
    added, count = (exactly(one, arithmetic) for one in constants)
    return BallStep(
        operation.name,
        {name: exactly(array, arithmetic) for name, array in given.items()},
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
) -> list[Ball]:
    """What may come out by a formula in an arithmetic, in the type and shapes of the results."""
    of = element_type_of(operands[0])
    found: list[Ball] = []
    for ball, result in zip(formula(_step(operation, operands, arithmetic)), expected, strict=True):
        one = ball if arithmetic.of == of else rounded(ball, of)
        low, high, nan = (end.reshape(result.shape) for end in (one.low, one.high, one.nan))
        found.append(Ball(low, high, nan, one.arithmetic))
    return found


Chosen = Callable[[ElementType], Arithmetic]
"""chosen(of): the arithmetic that operands of a type are computed in."""


def measure_by(formula: Formula, chosen: Chosen, *, explains: bool = False) -> Measure:
    """The measure by a formula: errors in units of how far its results may be from the expected.

    Where it is to say what `explains` a wrong result, what a type has no number for is NaN.
    """

    def measure(
        operation: Operation,
        operands: tuple[Array, ...],
        expected: tuple[Array, ...],
        actual: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        arithmetic = chosen(element_type_of(operands[0]))
        balls = _results(formula, arithmetic, operation, operands, expected)
        found: list[Array] = []
        for ball, want, got in zip(balls, expected, actual, strict=True):
            units = _units(ball, wide(want), wide(got))
            if explains and not ball.arithmetic.of.float_format.has_infinity:
                lost = np.isinf(ball.low) | np.isinf(ball.high)
                units = np.where(lost & ~np.isnan(wide(got)), np.inf, units)
            found.append(units)
        return tuple(found)

    return measure


def _units(ball: Ball, want: Array, got: Array) -> Array:
    """At most 1 where a number (or NaN) is in the ball, and how many times as far off it is as the
    ball's end where it is not; of exact results, how many roundings."""
    inside = (ball.low <= got) & (got <= ball.high) | (np.isnan(got) & ball.nan)
    room = np.where(got > want, ball.high - want, want - ball.low)
    room = np.maximum(room, unit_roundoff(ball.arithmetic.of) * np.abs(want))
    units = (np.abs(got - want) / room).astype(np.float64)
    units = np.where(np.isnan(units), np.inf, units)
    within = np.where(np.isfinite(units), np.minimum(units, 1.0), 0.0)
    return np.where(inside, within, np.maximum(units, _BARELY))


def _bound_by(formula: Formula, chosen: Chosen) -> Callable[..., tuple[Array | None, ...]]:
    """The bound by a formula, infinite where anything may come out."""

    def bound(
        operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
    ) -> tuple[Array | None, ...]:
        arithmetic = chosen(element_type_of(operands[0]))
        balls = _results(formula, arithmetic, operation, operands, expected)
        return tuple(
            np.fmax(ball.high - wide(want), wide(want) - ball.low).astype(np.float64)
            for ball, want in zip(balls, expected, strict=True)
        )

    return bound


def in_steps(element_type: ElementType) -> Arithmetic:
    """Each operation rounds once, in the type itself."""
    return Arithmetic(element_type)


def _on_a_gpu(element_type: ElementType) -> Arithmetic:
    return Arithmetic(element_type, quotient=_GPU_QUOTIENT if element_type.name == "f32" else 1.0)


def arithmetic_on(platform: str) -> Chosen:
    """The arithmetic of a `Hardware`."""
    return _on_a_gpu if platform == Hardware.GPU else in_steps


def _rule(name: str, division: str, chosen: Chosen) -> Rule:
    return Rule(
        name,
        "the errors of the specification's formula, carried from step to step: u for each "
        f"operation{division}, (n - 1) u for a sum of n numbers in any order, exact steps being "
        "exact; where a step overflows, divides by zero or gives NaN for sure, what IEEE 754 makes "
        "of it; where rounding errors leave that open, whatever may follow",
        "StableHLO specification; Higham, Accuracy and Stability, 2.4 and 4.4",
        bound=_bound_by(literal, chosen),
        measure=measure_by(literal, chosen),
    )


NORMALIZED = replace(
    _rule("batch normalization", "", in_steps),
    by_hardware=((Hardware.GPU, _rule(
        "batch normalization on a GPU", " (quotients of f32 within 2 ulp)", _on_a_gpu
    )),),
)  # fmt: skip

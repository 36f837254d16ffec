"""Tolerance rules of the ops of reference/ops/normalization.py.

The errors are those of the specification's formulas, carried from step to step (balls.py). What
other formulas lose is no excuse: those that compilers are known to use
(normalization_formulas.py) are classes of what they get wrong.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from conformance.tolerance.bounds.balls import Arithmetic, Ball, exactly, rounded
from conformance.tolerance.bounds.underflow import has_flushing_modes
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.models import normalization_formulas as formulas
from conformance.tolerance.models.normalization_formulas import BallStep, Formula
from conformance.tolerance.rule import Deviation, Measure, Rule
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type_of
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.products import wide
from reference.ops import normalization as ops
from reference.ops.table import OPS

_LARGE = ("operand", "grad_output")
"""The operands that are not given for each feature."""

_BARELY = 1.0 + 2.0**-20
"""The least error of what is not permitted, in units of what is."""

_F16, _F32 = ELEMENT_TYPES["f16"], ELEMENT_TYPES["f32"]
_GPU_QUOTIENT = 5.0
"""In u, of f32 on a GPU: 2 ulp off the correctly rounded quotient (tolerance.DIVIDED)."""


def _step(operation: Operation, operands: tuple[Array, ...], arithmetic: Arithmetic) -> BallStep:
    index: Any = operation.attribute("feature_index")
    epsilon: Any = operation.attribute("epsilon")
    given = {
        name: wide(array if name in _LARGE else ops.per_feature(array, operands[0], index))
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


def _in_steps(element_type: ElementType) -> Arithmetic:
    """Each operation rounds once, in the type itself."""
    return Arithmetic(element_type)


def _on_a_gpu(element_type: ElementType) -> Arithmetic:
    return Arithmetic(element_type, quotient=_GPU_QUOTIENT if element_type.name == "f32" else 1.0)


def _flushing(chosen: Chosen) -> Chosen:
    return lambda of: replace(chosen(of), flushes=has_flushing_modes(of))


def _loose(element_type: ElementType) -> Arithmetic:
    """Quotients as products with reciprocals, and roots off by what makes 2 ulp of 1 / sqrt(x)."""
    return Arithmetic(
        element_type, quotient=3.0, root=4.0, flushes=has_flushing_modes(element_type)
    )


def _in_wider(arithmetic: Chosen) -> Iterator[Chosen]:
    """An arithmetic of narrow types in wider ones: constants rounded or not, subnormal numbers (an
    epsilon for one) flushed or not."""
    for wider, whole, flushes in itertools.product((_F32, _F16), (True, False), (False, True)):
        yield partial(_as_in, arithmetic, wider, whole, flushes)


def _as_in(
    arithmetic: Chosen, wider: ElementType, whole: bool, flushes: bool, element_type: ElementType
) -> Arithmetic:
    found = arithmetic(element_type if element_type.bits >= wider.bits else wider)
    return replace(found, whole=whole, flushes=flushes and has_flushing_modes(found.of))


def _deviations() -> Iterator[Deviation]:
    """The other formulas, in the operands' type and in wider ones, from what is nearest to the
    text."""
    for chosen in _in_wider(_in_steps):
        yield Deviation("wider arithmetic", measure_by(formulas.literal, chosen, explains=True))
    for chosen in (_loose, *_in_wider(_loose)):
        for label, formula, names in formulas.OTHERS:
            yield Deviation(label, _only(names, measure_by(formula, chosen, explains=True)))


def _only(names: tuple[str, ...], measure: Measure) -> Measure:
    """The measure for some of the ops; of any other nothing is explained."""

    def chosen(
        operation: Operation,
        operands: tuple[Array, ...],
        expected: tuple[Array, ...],
        actual: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        if operation.name in names:
            return measure(operation, operands, expected, actual)
        return tuple(np.full(want.shape, np.inf) for want in expected)

    return chosen


def _rule(name: str, division: str, chosen: Chosen) -> Rule:
    literal = formulas.literal
    lost = Deviation("subnormal intermediate", measure_by(literal, _flushing(chosen)), flushes=True)
    return Rule(
        name,
        "the errors of the specification's formula, carried from step to step: u for each "
        f"operation{division}, (n - 1) u for a sum of n numbers in any order, exact steps being "
        "exact; where a step overflows, divides by zero or gives NaN for sure, what IEEE 754 makes "
        "of it; where rounding errors leave that open, whatever may follow",
        "StableHLO specification; Higham, Accuracy and Stability, 2.4 and 4.4",
        bound=_bound_by(literal, chosen),
        measure=measure_by(literal, chosen),
        deviations=(lost, *_deviations()),
    )


NORMALIZED = replace(
    _rule("batch normalization", "", _in_steps),
    elsewhere=((Hardware.GPU, _rule(
        "batch normalization on a GPU", " (quotients of f32 within 2 ulp)", _on_a_gpu
    )),),
)  # fmt: skip

"""Tolerance rule of `map`: error propagation through the operations of its computation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from conformance.tolerance.bounds.reduction import may_round, permit_parts_in_bounds
from conformance.tolerance.rule import Rule
from reference.interpreter.evaluate import body_of
from reference.ir.op import Rounding
from reference.ir.program import Dense, Operation, Region, TensorType, Value
from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics import accumulation
from reference.numerics.rounding import round_to
from reference.ops.table import OPS

Budget = Callable[[Operation], float]
"""A function budget(operation): the tolerance of its result in ulp, of the larger part for complex
numbers.
"""


def map_rule(budget: Budget) -> Rule:
    """Return the rule of `map`, given the budgets of the operations of its computation."""

    def bound(
        operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
    ) -> tuple[Array | None, ...]:
        return map_bound(operation, operands, expected, budget)

    def permits(
        operation: Operation,
        operands: tuple[Array, ...],
        expected: tuple[Array, ...],
        actual: tuple[Array, ...],
    ) -> tuple[Array | None, ...]:
        return permit_parts_in_bounds(bound, operation, operands, expected, actual)

    return Rule(
        "map",
        "exact where the computation rounds at most once, correctly; otherwise within the "
        "propagated errors of its operations: each has the budget of its own rule, or 1 ulp "
        "where that rule requires correct rounding",
        "the rules of the ops of the computation",
        bound=bound,
        permits=permits,
    )


def map_bound(
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    budget: Budget,
) -> tuple[Array | None, ...]:
    """Return the largest permitted absolute errors of the result; None where it is exact.

    To first order: each operation's result is moved by its budget up and down, and the changes of
    the final result add up. A single correctly rounded operation has no error, nor do exact
    operations.
    """
    (result,) = expected
    region, element_type = operation.regions[0], element_type_of(result)
    rounding = [n for n, one in enumerate(region.operations) if may_round(one)]
    if not rounding or not (element_type.is_float or element_type.is_complex):
        return (None,)
    if len(rounding) == 1 and element_type.is_float and _is_correct(region.operations[rounding[0]]):
        return (None,)
    wide = np.complex128 if element_type.is_complex else np.float64
    exact = result.reshape(-1).astype(wide)
    flat = [x.reshape(-1) for x in operands]
    total = accumulation.unit_roundoff(element_type) * np.abs(exact)
    for number in rounding:
        ulps = budget(region.operations[number])
        moved = (
            body_of(_scale_result(region, number, direction * ulps)).lanes(*flat)[0].astype(wide)
            for direction in (1, -1)
        )
        total = total + np.maximum(*(np.abs(one - exact) for one in moved))
    return (np.asarray(total).reshape(result.shape),)


def _is_correct(operation: Operation) -> bool:
    """Return whether the operation's real results are correctly rounded."""
    record = OPS.get(operation.name)
    return record is not None and record.rounding is Rounding.CORRECT


def _scale_result(region: Region, number: int, ulps: float) -> Region:
    """Return the region with the result of an operation multiplied by 1 + `ulps` ulp."""
    operation = region.operations[number]
    (value,) = operation.results
    of = value.type
    assert isinstance(of, TensorType)
    factor = 1 + ulps * 2.0**-of.element.float_format.mantissa_bits
    one = Value("moved by", of)
    scale = Dense.of(_scalar(factor, of.element), of)
    before = Value(f"before {value.name}", of)
    return replace(
        region,
        operations=(
            *region.operations[:number],
            replace(operation, results=(before,)),
            Operation("constant", (), (one,), (("value", scale),)),
            Operation("multiply", (before, one), (value,)),
            *region.operations[number + 1 :],
        ),
    )


def _scalar(number: float, element_type: ElementType) -> Array:
    """Return a scalar constant of a floating-point or complex type."""
    rounded = round_to(np.asarray(number, np.float64), element_type.part)
    return rounded.astype(element_type.storage) if element_type.is_complex else rounded

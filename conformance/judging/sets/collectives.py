"""Sets of collectives: what each process may have, given the sets of all processes' operands.

A collective that moves values is evaluated at the lower and at the upper ends of all intervals. So
is one that folds with an op that grows with its arguments; sums have the error of any order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from conformance.judging.sets.facts import (
    anything,
    everything_like,
    may_overflow,
    move,
    step,
    stored,
)
from conformance.judging.sets.sums import body_increases, magnitude, monoid_of
from conformance.judging.sets.value_set import Interval, Unknown, ValueSet, is_nan, union
from conformance.transforms.retype import retype
from conformance.transforms.values import free_values
from reference.interpreter.evaluate import EvaluationError, evaluate, split_by_process
from reference.ir.monoid import ADD
from reference.ir.processes import ProcessGrid
from reference.ir.program import Function, Operation, Program, Region, Value
from reference.ir.types import ELEMENT_TYPES, Array
from reference.numerics.schedules import growth_of_sum

MOST_ALTERNATIVES = 12
"""Largest number of intervals of an element; beyond it, they are joined."""

ByProcess = Sequence[Sequence[ValueSet]]
"""The sets of an operation's operands or results in each process."""


def sets_of_collective(operation: Operation, operands: ByProcess, grid: ProcessGrid) -> ByProcess:
    """Return the sets of the results in each process of a grid.

    Raises:
        Unknown: if the collective's region takes values from outside.
    """
    if any(free_values(region) for region in operation.regions):
        raise Unknown
    stored_ = _of_operands(
        operation, [[one.rounded for one in operand] for operand in operands], grid
    )
    if all(one.unrounded is None for operand in operands for one in operand):
        return stored_
    loose = _of_operands(operation, [[one.loose for one in operand] for operand in operands], grid)
    return [
        [one.with_unrounded(other) for one, other in zip(*pair, strict=True)]
        for pair in zip(stored_, loose, strict=True)
    ]


def _of_operands(operation: Operation, operands: ByProcess, grid: ProcessGrid) -> ByProcess:
    try:
        with np.errstate(all="ignore"):
            if not operation.regions:
                return _moved(operation, operands, grid)
            if body_increases(operation):
                return _folded(operation, operands, grid)
    except EvaluationError:
        pass
    return [anything(operation) for _ in operands]


def _moved(operation: Operation, operands: ByProcess, grid: ProcessGrid) -> ByProcess:
    choices = [[_limited(one) for one in operand] for operand in operands]
    found: list[list[list[Interval]]] = [[[] for _ in operation.results] for _ in operands]
    for number in range(max((len(one) for choice in choices for one in choice), default=1)):
        taken = [[one[min(number, len(one) - 1)] for one in choice] for choice in choices]
        low, high = (
            _evaluate(operation, [[pair[end] for pair in each] for each in taken], grid)
            for end in (0, 1)
        )
        for kept, *ends in zip(found, low, high, strict=True):
            for intervals, *pair in zip(kept, *ends, strict=True):
                intervals.append((pair[0], pair[1]))
    is_exact = all(one.exact for operand in operands for one in operand)
    return [[_union_of(one, exact=is_exact) for one in each] for each in found]


def _limited(one: ValueSet) -> list[Interval]:
    found = one.alternatives()
    return found if len(found) <= MOST_ALTERNATIVES else one.hull().alternatives()


def _union_of(intervals: Sequence[Interval], *, exact: bool) -> ValueSet:
    nan = np.any([is_nan(end) for pair in intervals for end in pair], axis=0)
    if exact and len(intervals) == 1:
        return ValueSet(tuple(intervals), nan, exact=True)
    return union(intervals, nan)


def _folded(operation: Operation, operands: ByProcess, grid: ProcessGrid) -> ByProcess:
    joined = [[one.hull() for one in operand] for operand in operands]
    low, high = (
        _evaluate(operation, [[one.intervals[0][end] for one in each] for each in joined], grid)
        for end in (0, 1)
    )
    errors = _sum_errors(operation, joined, grid)
    has_nan = any(bool(one.nan.any()) for operand in operands for one in operand)
    return [
        [_widened(operation, index, pair, error, has_nan=has_nan)
         for index, (*pair, error) in enumerate(zip(*of_process, strict=True))]
        for of_process in zip(low, high, errors, strict=True)
    ]  # fmt: skip


def _widened(
    operation: Operation, number: int, ends: Sequence[Array], error: Array, *, has_nan: bool
) -> ValueSet:
    nan = is_nan(ends[0])
    least, most = (
        step(move(end, way * error), way * np.sign(error))
        for end, way in zip(ends, (-1.0, 1.0), strict=True)
    )
    mixed = (is_nan(ends[1]) != nan) | ~np.isfinite(error) | may_overflow(least, most, nan)
    made = ValueSet(((least, most),), nan | has_nan)
    return made.where(mixed, everything_like(operation, number, made.shape))


def _sum_errors(
    operation: Operation, operands: ByProcess, grid: ProcessGrid
) -> Sequence[Sequence[Array]]:
    """Return the errors of sums over the processes of a group, in any order; otherwise zeros."""
    element_type, wide = stored(operation), ELEMENT_TYPES["f64"]
    sizes = [[magnitude(one) for one in operand] for operand in operands]
    totals = _evaluate(retype(operation, {element_type: wide}), sizes, grid)
    is_sum = any(monoid_of(one) is ADD for one in operation.regions[0].operations)
    unit = (
        growth_of_sum(len(operands) + 1, 2.0**-element_type.float_format.precision)
        if is_sum
        else 0.0
    )
    return [[unit * total for total in each] for each in totals]


def _evaluate(
    operation: Operation, operands: Sequence[Sequence[Array]], grid: ProcessGrid
) -> Sequence[Sequence[Array]]:
    """Return the results of an operation that all processes execute."""
    arguments = tuple(Value(f"a{n}", operand.type) for n, operand in enumerate(operation.operands))
    results = tuple(Value(f"r{n}", result.type) for n, result in enumerate(operation.results))
    alone = Operation(operation.name, arguments, results, operation.attributes, operation.regions)
    body = Region(arguments, (alone, Operation("return", results)))
    types = tuple(result.type for result in results)
    program = Program((Function("main", body, types),), process_grid=grid)
    flat = [array for operand in operands for array in operand]
    return split_by_process(program, evaluate(program, flat))

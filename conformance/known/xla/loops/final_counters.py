"""Loops whose unsigned counter counts down, and for which XLA computes a trip count of 1.

XLA reads a step of -1 as a large unsigned number, and computes a trip count of 1 for any loop with
the condition `>` or `>=`. It computes the counter's last value from its start, its step and this
trip count if the loop has no other value that changes. Before 0.12, a loop that is not compiled
with its body to a single function has no more iterations than this.

Source: jaxlib 0.10.2, 0.11.2 and 0.12.0, measured; pass while-loop-trip-count-annotator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import ge, gt

import numpy as np

from conformance.known.writing import constant
from conformance.known.xla.loops.trip_counts import Numbers, counter_of, replace_loops
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.types import Array

LABEL = "counter after one iteration"
ITERATED_ONCE = "ended after one iteration"

_AT_START = {"GT": gt, "GE": ge}
"""Whether a condition holds at the start, by comparison direction."""


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with the counters after one iteration, if it has such loops."""
    yield from replace_loops(program, _replace_final_counter)


def iterate_once(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with loops that end after one iteration, if it has such loops."""
    yield from replace_loops(program, _end_after_one_iteration)


def _replace_final_counter(loop: Operation, known: Numbers) -> tuple[Operation, ...]:
    """Return a loop, and the constant that replaces the last value of its counter."""
    counted = _count_down_once(loop, known)
    if counted is None:
        return (loop,)
    place, last = counted
    result = loop.results[place]
    results = list(loop.results)
    results[place] = Value(f"{result.name}_counted", result.type)
    return replace(loop, results=tuple(results)), constant(result, last)


def _end_after_one_iteration(loop: Operation, known: Numbers) -> tuple[Operation]:
    """Return a loop that ends when its counter has the value after one iteration."""
    counted = _count_down_once(loop, known)
    if counted is None:
        return (loop,)
    place, last = counted
    condition, body = loop.regions
    *constants, compare, end = condition.operations
    limit = Value(f"{compare.results[0].name}_limit", loop.results[place].type)
    operands = (condition.arguments[place], limit)
    compare = replace(compare, operands=operands).with_attributes(comparison_direction="NE")
    operations = (*constants, constant(limit, last), compare, end)
    return (replace(loop, regions=(replace(condition, operations=operations), body)),)


def _count_down_once(loop: Operation, known: Numbers) -> tuple[int, Array] | None:
    """Return the position of a loop's counter and its value after one iteration.

    None if no unsigned counter counts down, or if the loop has no iteration.
    """
    counter = counter_of(loop, known)
    if counter is None or counter.direction not in _AT_START:
        return None
    of = loop.results[counter.place].type
    if not isinstance(of, TensorType) or not of.stored.is_unsigned:
        return None
    modulus = 2**of.stored.bits
    counts_down = -modulus // 2 < counter.step < 0 or modulus // 2 < counter.step
    if not counts_down or not _AT_START[counter.direction](counter.start, counter.limit):
        return None
    return counter.place, np.array((counter.start + counter.step) % modulus, of.storage)

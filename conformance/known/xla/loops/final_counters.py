"""Loops whose unsigned counter counts down, and has the value after a single iteration at the end.

XLA reads a step of -1 as a large unsigned number, and computes a trip count of 1 for any loop with
the condition `>` or `>=`. It computes the counter's last value from its start, its step and this
trip count if the loop has no other value that changes. All other values are right.

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

LABEL = "counter after one iteration"

_AT_START = {"GT": gt, "GE": ge}
"""Whether a condition holds at the start, by comparison direction."""


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with the counters after one iteration, if it has such loops."""
    yield from replace_loops(program, _replace_final_counter)


def _replace_final_counter(loop: Operation, known: Numbers) -> tuple[Operation, ...]:
    """Return a loop, and the constant that replaces the last value of its counter."""
    counter = counter_of(loop, known)
    if counter is None or counter.direction not in _AT_START:
        return (loop,)
    result = loop.results[counter.place]
    of = result.type
    if not isinstance(of, TensorType) or not of.stored.is_unsigned:
        return (loop,)
    modulus = 2**of.stored.bits
    counts_down = -modulus // 2 < counter.step < 0 or modulus // 2 < counter.step
    if not counts_down or not _AT_START[counter.direction](counter.start, counter.limit):
        return (loop,)
    last = (counter.start + counter.step) % modulus
    results = list(loop.results)
    results[counter.place] = Value(f"{result.name}_counted", of)
    counted = constant(result, np.array(last, of.storage))
    return replace(loop, results=tuple(results)), counted

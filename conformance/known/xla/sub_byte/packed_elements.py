"""Elements of two bits on GPUs, read in pairs.

A kernel that reads pairs of two-bit elements computes the address of a byte for each pair, and not
the position within it: it reads the first pair of a byte in place of the second.

Source: jaxlib 0.11.2 on an NVIDIA H200, and the LLVM IR of these kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from conformance.known.hypothesis import Operands, Results, any_outcome_hypothesis
from conformance.tolerance.bounds.contraction import dimensions_of
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of

READ = "first pair of a byte read for the second"

_PAIR = 2


def read_first_pairs(array: Array, order: tuple[int, ...]) -> Array:
    """Return an array as read in pairs, of elements in memory in this order of the dimensions."""
    stored = array.transpose(order)
    places = np.arange(array.size)
    read = np.ascontiguousarray(stored).reshape(-1)[places // 4 * 4 + places % _PAIR]
    return read.reshape(stored.shape).transpose(np.argsort(order))


def _results_of_pairs(operation: Operation, operands: Operands) -> Iterator[Results]:
    """Yield the results where some operands of two bits are read in pairs.

    Operands are in memory in the order of their dimensions, or, in products, with the contracting
    dimensions last.
    """
    readings = [[one, *_readings(operation, n, one, operands[0])] for n, one in enumerate(operands)]
    for read in product(*readings):
        if any(one is not given for one, given in zip(read, operands, strict=True)):
            yield apply(operation, read)


def _readings(operation: Operation, number: int, operand: Array, first: Array) -> list[Array]:
    """Return an operand as read in pairs; `first` is the operation's first operand."""
    if element_type_of(operand).bits != _PAIR:
        return []
    plain = tuple(range(operand.ndim))
    orders = [plain]
    numbers = dimensions_of(operation, first)
    sides = (
        (numbers.lhs_batching, numbers.lhs_contracting),
        (numbers.rhs_batching, numbers.rhs_contracting),
    )
    if number < len(sides):
        batch, last = sides[number]
        free = [at for at in plain if at not in (*batch, *last)]
        orders.append((*batch, *free, *sorted(last)))
    return [read_first_pairs(operand, order) for order in dict.fromkeys(orders)]


PAIRS = any_outcome_hypothesis(READ, _results_of_pairs)

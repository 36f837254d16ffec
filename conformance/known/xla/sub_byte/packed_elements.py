"""Elements of less than a byte on GPUs, where kernels confuse the elements of a byte.

- A kernel that reads pairs of two-bit elements computes the address of a byte for each pair, and
  not the position within it: it reads the first pair of a byte in place of the second.
- Threads store such an element by load, mask and store of its byte, without atomic operations.
  Several threads of a byte store at once, and one of them is the last: the elements of the others
  keep what the memory held.
    - set_dimension_size has a thread for each element. The first element of a byte is stored.
    - A sort has a thread for each part of a row. It sorts in place, so elements of one row in a
      byte shared with another row may stay as the operand has them.
- A concatenate of two-bit elements may have a thread for each pair of elements. It reads a pair as
  above, and stores it as a whole byte: the pair is first in the byte, and zeros are second. Two
  threads store each byte, and one of them is the last.
- A kernel that copies its operand, with all elements in one vector of a byte or less, has no code,
  and the result is not written: `and` and `or` of a value with itself.

Source: jaxlib 0.11.2 on an NVIDIA H200, and the LLVM IR of these kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import gcd
from typing import Any

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    any_outcome_hypothesis,
    predict_nothing,
    predict_where,
)
from conformance.known.xla.sub_byte.byte_copies import elements_per_byte
from conformance.tolerance.bounds.contraction import dimensions_of
from conformance.tolerance.bounds.sorting import SORTED as SORTED_RULE
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements

READ = "first pair of a byte read for the second"
UNWRITTEN = "elements of a byte not written"
UNSORTED = "elements of a shared byte not sorted"
STORED = "pair of elements stored as a byte"

_PAIR = 2
_VECTOR = 4
"""Number of elements that a thread copies where sizes permit it."""


def read_first_pairs(array: Array, order: tuple[int, ...]) -> Array:
    """Return an array as read in pairs, of elements in memory in this order of the dimensions."""
    stored = array.transpose(order)
    places = np.arange(array.size)
    read = np.ascontiguousarray(stored).reshape(-1)[places // 4 * 4 + places % _PAIR]
    return read.reshape(stored.shape).transpose(np.argsort(order))


def _pairwise_results(operation: Operation, operands: Operands) -> Iterator[Results]:
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


PAIRS = any_outcome_hypothesis(READ, _pairwise_results)


def _explain_stored_pairs(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for the elements of bytes that are a pair of the byte as read, followed by zeros, if
    all other bytes are right.

    Threads copy pairs if all operands have an even size along the dimension, and some size is no
    multiple of 4.
    """
    (result,), (got,) = expected, actual
    dimension: Any = operation.attribute("dimension")
    sizes = [one.shape[dimension] for one in operands]
    has_pairs = not any(size % _PAIR for size in sizes)
    if element_type_of(result).bits != _PAIR or not has_pairs or gcd(*sizes) % _VECTOR == 0:
        return predict_nothing(expected)
    read = [read_first_pairs(one, tuple(range(one.ndim))) for one in operands]
    pairs, right, stored = map(_byte_rows, (*apply(operation, read), result, got))
    zeros = np.zeros_like(pairs[:, :_PAIR])
    halves = (pairs[:, :_PAIR], pairs[:, _PAIR:])
    outcomes = [np.concatenate([half, zeros], axis=1) for half in halves]
    if result.size % _VECTOR:  # one thread stores the last byte
        outcomes[1][-1] = outcomes[0][-1]
    is_right, *is_found = ((one == stored).all(axis=1) for one in (right, *outcomes))
    found = np.logical_or.reduce(is_found)
    if not (found | is_right).all():
        return predict_nothing(expected)
    return predict_where(np.repeat(found, _VECTOR)[: result.size].reshape(result.shape))


def _byte_rows(array: Array) -> Array:
    """Return the two-bit elements of each byte as a row, padded with zeros."""
    flat = array.reshape(-1)
    return np.pad(flat, (0, -flat.size % _VECTOR)).reshape(-1, _VECTOR)


STORED_PAIRS = Hypothesis(STORED, _explain_stored_pairs, signs=True)
"""The class of pairs of two-bit elements that are stored as whole bytes."""


def _explain_overwritten(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for elements behind the first of a byte, if the first elements of all bytes are
    right.
    """
    del operation, operands
    (result,), (got,) = expected, actual
    count = elements_per_byte(result)
    is_first = (np.arange(result.size) % count == 0).reshape(result.shape)
    if count == 1 or not equal_elements(result, got)[is_first].all():
        return predict_nothing(expected)
    return predict_where(~is_first)


def _explain_unwritten(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for all elements of a copy that is one vector, of a byte or less."""
    del actual
    lhs, rhs = operation.operands
    (result,) = expected
    is_vector = result.size in (2, 4) and result.size <= elements_per_byte(operands[0])
    return predict_where(np.full(result.shape, lhs == rhs and is_vector))


OVERWRITTEN = Hypothesis(UNWRITTEN, _explain_overwritten, signs=True, unsteady=True, refutes=True)
"""The class of elements that other threads of the same byte overwrite with what memory held."""

NOT_WRITTEN = Hypothesis(UNWRITTEN, _explain_unwritten, signs=True, unsteady=True, refutes=True)
"""The class of copies of a byte or less that no thread writes."""


def _explain_unsorted(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for the elements of rows that are sorted, apart from parts that are the operand's.

    Such a part is all of a row's elements in a byte that it shares with other rows.
    """
    given: dict[str, Any] = dict(operation.attributes)
    dimension = given.get("dimension", -1)
    kept = [
        _kept_parts(*arrays, dimension) for arrays in zip(operands, expected, actual, strict=True)
    ]
    if not any(mask.any() for mask in kept):
        return predict_nothing(expected)
    restored = tuple(map(np.where, kept, expected, actual))
    permitted = SORTED_RULE.permits and SORTED_RULE.permits(operation, operands, expected, restored)
    equal = np.logical_and.reduce(list(map(equal_elements, expected, restored)))
    sorted_ = equal.all(axis=dimension, keepdims=True)
    if permitted and permitted[0] is not None:
        sorted_ = sorted_ | permitted[0]
    concerned = np.logical_or.reduce(kept).any(axis=dimension, keepdims=True)
    return predict_where(*(np.broadcast_to(sorted_ & concerned, one.shape) for one in expected))


def _kept_parts(operand: Array, result: Array, got: Array, dimension: int) -> Array:
    """Return a mask of the parts of rows that are wrong, but the operand's, in shared bytes."""
    count, places = elements_per_byte(operand), np.arange(operand.size).reshape(operand.shape)
    if count == 1 or not operand.size:
        return np.zeros(operand.shape, np.bool_)
    rows = np.broadcast_to(places.take([0], dimension), places.shape).reshape(-1)
    bytes_ = places.reshape(-1) // count
    _, firsts, parts = np.unique(
        np.stack([bytes_, rows]), axis=1, return_index=True, return_inverse=True
    )
    parts = parts.reshape(-1)
    is_shared = np.bincount(bytes_[firsts])[bytes_] > 1
    is_changed, is_wrong = (
        np.bincount(parts, ~equal_elements(one, got).reshape(-1))[parts] > 0
        for one in (operand, result)
    )
    return (is_shared & ~is_changed & is_wrong).reshape(operand.shape)


UNSORTED_ROWS = Hypothesis(UNSORTED, _explain_unsorted, signs=True, unsteady=True, refutes=True)
"""The class of rows of a sort that are the operand's in a byte shared with other rows."""

"""Signed two-bit integers beside a constant whose elements are all one negative number.

LLVM does not truncate such a constant to its two bits. Stored into a byte, its sign overwrites the
elements after it. Extended with zeros for a comparison, it is not a two-bit number. Shifted to the
right, it keeps its sign, as does -1 in four bits. Results for other constants, or for one element,
are right.

Sorts of two-bit elements are also here: each element is read as a byte, so that the sort reads and
sorts as many bytes as there are elements, by the lowest element of each byte. Most of these bytes
are behind the operand.

Source: jaxlib 0.10.2 and 0.12, measured on all numbers of two bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Others,
    Results,
    any_outcome_hypothesis,
    predict_all,
    predict_nothing,
)
from conformance.tolerance.bounds.sorting import move_axis_last
from reference.interpreter.evaluate import apply, body_of
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of

STORED = "signs of two bits over the elements after them"
COMPARED = "negative constant compared without its sign"
SHIFTED = "shifted right with its sign"
BYTES = "elements of two bits sorted as bytes"

_IN_A_BYTE = 4
_PLACES = np.arange(0, 8, 2, dtype=np.int8)
"""Positions of the lowest bits of the elements of a byte."""


def negative(array: Array) -> int | None:
    """Return the negative two-bit number that all elements equal; None if there is none."""
    if element_type_of(array).name != "si2" or not array.size:
        return None
    first = int(array.reshape(-1)[0])
    return first if first < 0 and bool((array.astype(np.int8) == first).all()) else None


def packed_before_broadcast(constant: Array, other: Array) -> Iterator[Array]:
    """Yield a constant packed with its signs in each shape that `other` may be broadcast from.

    XLA moves an elementwise operation before a broadcast, so that a smaller constant is packed.
    """
    ranges = (
        (size, 1) if size > 1 and bool((other == other.take([0], axis)).all()) else (size,)
        for axis, size in enumerate(other.shape)
    )
    for shape in product(*ranges):
        packed = pack_signed(constant[(..., *(slice(size) for size in shape))])
        yield np.broadcast_to(packed, constant.shape)


def pack_signed(array: Array) -> Array:
    """Return two-bit integers as read after they were packed with their signs."""
    four = _bytes(array)
    whole = np.bitwise_or.reduce(four << _PLACES, axis=1).astype(np.int8)
    read = (whole[:, None] << _PLACES[::-1]).astype(np.int8) >> 6
    return read.reshape(-1)[: array.size].reshape(array.shape).astype(array.dtype)


def _bytes(array: Array) -> Array:
    """Return the elements of each byte as a row, padded with zeros."""
    flat = array.reshape(-1).astype(np.int8)
    return np.pad(flat, (0, -flat.size % _IN_A_BYTE)).reshape(-1, _IN_A_BYTE)


def _predict_constant_update(
    operation: Operation, operands: Operands, *, update: int
) -> Iterator[Results]:
    """Yield an array updated by a negative constant: with -1 in the elements that follow an update
    in the same byte.

    The elements that depend on the constant are found by a second evaluation with another constant.
    """
    constant = operands[update]
    if negative(constant) is None:
        return
    (result,) = apply(operation, operands)
    others = list(operands)
    others[update] = np.invert(constant.astype(np.int8)).astype(constant.dtype)
    (other,) = apply(operation, others)
    yield (_sign_following(result, result.astype(np.int8) != other.astype(np.int8)),)


def _predict_constant_results(operation: Operation, operands: Operands) -> Iterator[Results]:
    """Yield the results of a scatter that writes negative numbers, whatever its updates are.

    Such a number, as the minimum of the constant -2 and any number, is a constant itself.
    """
    count = len(operation.results)
    inputs, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    (body,) = operation.regions
    returned, taken = body.operations[-1].operands, body.arguments
    types, given = ([value.type for value in some] for some in (returned, taken))
    if types * 2 != given or not any(element_type_of(one).name == "si2" for one in inputs):
        return
    results = apply(operation, operands)
    others = [
        apply(operation, (*inputs, indices, *(_fill_pairs(one, number) for one in updates)))
        for number in range(-2, 2)
    ]
    written = _written_elements(operation, inputs, indices, updates)
    yield tuple(
        _sign_following(one, mask & np.logical_and.reduce([one == other for other in same]))
        if element_type_of(one).name == "si2"
        else one
        for one, mask, *same in zip(results, written, *others, strict=True)
    )


def _fill_pairs(array: Array, number: int) -> Array:
    """Return an array of one number of two bits; arrays of other types are returned as they are."""
    return np.full_like(array, number) if element_type_of(array).name == "si2" else array


def _written_elements(
    operation: Operation, inputs: Operands, indices: Array, updates: Operands
) -> Results:
    """Return a mask of the elements that a scatter writes, for each result."""
    (body,) = operation.regions
    returned = Operation("return", body.arguments[len(inputs) :])
    assigning = replace(operation, regions=(replace(body, operations=(returned,)),))
    zeros, ones = map(np.zeros_like, inputs), map(np.ones_like, updates)
    return tuple(one != 0 for one in apply(assigning, (*zeros, indices, *ones)))


def _sign_following(result: Array, written: Array) -> Array:
    """Return an array with -1 after the negative elements that were written to the same byte."""
    rows, masks = _bytes(result), _bytes(written.astype(np.int8)) != 0
    follows = np.cumsum(masks & (rows < 0), axis=1) > 0
    read = np.where(follows & ~masks, -1, rows).reshape(-1)[: result.size]
    return read.reshape(result.shape).astype(result.dtype)


def _dividend(operation: Operation, operands: Operands) -> Iterator[Results]:
    """Yield the constant dividend of a remainder, packed with its signs."""
    del operation
    if negative(operands[0]) is not None:
        yield (pack_signed(operands[0]),)


def _comparison(operation: Operation, operands: Operands, *, place: int) -> Iterator[Results]:
    """Yield the results of a comparison that is true where an operand differs from a negative
    constant.

    XLA turns c > -2 into c != -2, and c >= -2 into c > -3, which is c > 1 in two bits.
    """
    direction, constant = operation.attribute("comparison_direction"), negative(operands[place])
    is_wrong = direction in ("EQ", "NE") or (constant == -2 and direction in _ORDERED[place])
    if constant is not None and is_wrong:
        (of_equals,) = apply(operation, (operands[place], operands[place]))
        yield (~of_equals,)


def _shift(operation: Operation, operands: Operands) -> Iterator[Results]:
    """Yield the results of a logical shift of -1 to the right that keeps the sign."""
    shifted = operands[0]
    if element_type_of(shifted).name in ("si2", "si4") and shifted.size > 1:
        (right,) = apply(operation, operands)
        if (shifted.astype(np.int8) == -1).all():
            yield (np.where(right.astype(np.int8) != 0, shifted, right),)


_ORDERED = (("LT", "LE"), ("GT", "GE"))
"""Comparisons that are wrong if the operand is -2."""


def _maximum(operation: Operation, operands: Operands, *, place: int) -> Iterator[Results]:
    """Yield the results of a maximum with -1: with that constant, and with 0 instead of it, as
    vectorised code computes it.
    """
    del operation
    if negative(operands[place]) == -1:
        yield from _constant_candidates(operands[1 - place])


def _clamp(operation: Operation, operands: Operands, *, place: int) -> Iterator[Results]:
    """Yield the results of a clamp of -1, or with the lower bound -1: the maximum of both is
    computed like a maximum.
    """
    least, operand, most = operands
    if negative(operands[place]) == -1:
        other = np.broadcast_to(operands[1 - place], operand.shape)
        for (one,) in _constant_candidates(other):
            yield apply(operation, (np.full_like(least, -2), one, most))


def _constant_candidates(like: Array) -> Iterator[Results]:
    """Yield maxima of an operand and -1, which do not depend on the operand.

    Of an operand that is broadcast along the last dimension, vectorised code stores parts of -1.
    """
    yield (np.full_like(like, -1),)
    yield (np.full_like(like, 0),)
    if like.ndim and like.shape[-1] > 1 and bool((like == like[..., :1]).all()):
        for row in _stored_rows(like.shape[-1]):
            yield (np.broadcast_to(row.astype(like.dtype), like.shape),)


def _stored_rows(size: int) -> Iterator[Array]:
    """Yield rows of parts of -1, as jaxlib 0.10.2 and 0.12 store them."""
    for period in ([-1, 0, 0, 0], [0, -1, -1, -1], [-1, -1, -2, -1], [-1, -2, -1, -1]):
        yield np.resize(period, size)
    places = np.arange(size)
    yield np.where(places == 0, 0, -1)
    yield np.where(places == size - 5, -2, -1)
    if size % 4 == 3:
        yield np.append(np.resize([0, 0, 0, -1], size - 3), [-1, 0, -1])


def _sorted_bytes(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 if the bytes of results are in order, by the lowest element of each, else infinity.

    Only the first quarter of a result's elements is checked: the bytes that were sorted within the
    operand's memory.
    """
    dimension = dict[str, Any](operation.attributes).get("dimension", -1)
    shape, size = operands[0].shape, operands[0].size
    if shape[dimension] < 2 or any(element_type_of(one).bits != 2 for one in operands):
        return predict_nothing(expected)
    read = [np.resize(one.reshape(-1)[::_IN_A_BYTE], shape) for one in actual]
    is_read = (np.arange(size) < -(-size // _IN_A_BYTE)).reshape(shape)
    *rows, seen = move_axis_last((*read, is_read), dimension)
    sides = (side for row in rows for side in (row[..., 1:], row[..., :-1]))
    (wrong,) = body_of(operation.regions[0]).lanes(*map(np.ascontiguousarray, sides))
    in_order = not (wrong & seen[..., 1:]).any()
    return predict_all(expected, in_order)


SORTED = Hypothesis(BYTES, _sorted_bytes, signs=True, unsteady=True, refutes=True)
"""The class of results sorted as bytes, including foreign memory."""

_MODELS: tuple[tuple[str, str, Others, str], ...] = (
    ("dynamic_update_slice", STORED, partial(_predict_constant_update, update=1), "update"),
    ("scatter", STORED, partial(_predict_constant_update, update=-1), "updates"),
    ("scatter", STORED, _predict_constant_results, "scatter_indices"),
    ("select_and_scatter", STORED, partial(_predict_constant_update, update=1), "source"),
    ("remainder", STORED, _dividend, "lhs"),
    ("compare", COMPARED, partial(_comparison, place=0), "lhs"),
    ("compare", COMPARED, partial(_comparison, place=1), "rhs"),
    ("maximum", COMPARED, partial(_maximum, place=0), "lhs"),
    ("maximum", COMPARED, partial(_maximum, place=1), "rhs"),
    ("clamp", COMPARED, partial(_clamp, place=0), "min"),
    ("clamp", COMPARED, partial(_clamp, place=1), "operand"),
    ("shift_right_logical", SHIFTED, _shift, "lhs"),
)
"""Models: op, class, model, and the position of the constant operand."""

TWO_BIT_OPS = {
    op: tuple(
        any_outcome_hypothesis(label, model, constants=(operand,))
        for name, label, model, operand in _MODELS
        if name == op
    )
    for op in dict.fromkeys(name for name, *_ in _MODELS)
}
"""The hypotheses about integers of two bits, by op."""

"""Fourier transforms of as many elements as `fft_length` says, in dimensions of another size.

XLA takes the leading elements of each of the last dimensions and transforms them. XLA's CPU writes
the transforms one after the other at the beginning of the result's memory, cuFFT on a GPU each in
place of its elements. The rest of the memory keeps its old contents, which vary.

If a dimension is shorter, cuFFT keeps the strides of the operand: it reads the elements that follow
in memory, those behind the operand too, and writes transforms over each other.

Source: jaxlib 0.10.2 and 0.12.0, measured; jaxlib 0.11.2 on an NVIDIA H200.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from operator import le
from typing import Any

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    predict_nothing,
    predict_where,
)
from conformance.tolerance.bounds.fft import fft_errors
from conformance.tolerance.ulp import ulps_from_prediction
from reference.interpreter.evaluate import apply, reshape_operation
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.numerics.alike import equal_elements, flush_subnormals
from reference.unspecified.table import unspecified_mask

LABEL = "transform of a part"
BEYOND = "memory behind the operand transformed"


FLUSHED = Hypothesis("subnormal intermediate", partial(fft_errors, flushes=True), flushes=True)


Place = Callable[[Array, Array], Array]
"""A function of an array and the transformed elements that returns the view of the array where the
transforms are.
"""


def _at_the_beginning(array: Array, part: Array) -> Array:
    return array.reshape(-1)[: part.size].reshape(part.shape)


def _subarray(array: Array, part: Array) -> Array:
    return array[tuple(map(slice, part.shape))]


def _predict_partial_transform(
    operation: Operation, operands: Operands, expected: Results, actual: Results, *, place: Place
) -> Results:
    (operand,), (got,) = operands, actual
    part = _part(operation, operand)
    if part is None:
        return predict_nothing(expected)
    other, results, begun = _transform_part(operation, part, place(got, part))
    (distances,) = fft_errors(other, (part,), results, (begun,), flushes=True)
    right = (distances <= 1) | equal_elements(flush_subnormals(results[0]), begun)
    right |= unspecified_mask(other, (part,), results[0])
    # what stands behind tells nothing where what stands before it is something else
    return predict_where(np.full(got.shape, right.all()))


def _ulps(
    operation: Operation, operands: Operands, expected: Results, actual: Results, *, place: Place
) -> Results:
    """Return the error against the partial transform in ulp; infinite for the other elements."""
    (found,), part = predict_nothing(expected), _part(operation, operands[0])
    if part is not None:
        _, results, begun = _transform_part(operation, part, place(actual[0], part))
        place(found, part)[...] = ulps_from_prediction(results[0], begun)
    return (found,)


def _transform_part(
    operation: Operation, part: Array, got: Array
) -> tuple[Operation, Results, Array]:
    """Return the operation that transforms a part, its results, and the actual results."""
    other = reshape_operation(operation, part.shape)
    return other, apply(other, (part,)), np.ascontiguousarray(got)


def _hypothesis(place: Place) -> Hypothesis:
    measure = partial(_predict_partial_transform, place=place)
    in_ulps = partial(_ulps, place=place)
    return Hypothesis(LABEL, measure, signs=True, unsteady=True, ulps=in_ulps)


LEADING_PART = _hypothesis(_at_the_beginning)
"""The class of transforms of a part as XLA's CPU writes them."""

SUBARRAY_PART = _hypothesis(_subarray)
"""The class of transforms of a part as cuFFT writes them."""


def _part(operation: Operation, operand: Array) -> Array | None:
    """Return the transformed elements; None if all are transformed, or if that is ambiguous."""
    sizes, lengths = _sizes_and_lengths(operation, operand)
    if sizes == lengths:
        return None
    if any(length > size for length, size in zip(lengths, sizes, strict=True)):
        return None
    return np.ascontiguousarray(operand[(..., *(slice(length) for length in lengths))])


def _sizes_and_lengths(
    operation: Operation, operand: Array
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the sizes of the transformed dimensions and the lengths of the transform.

    The lengths of transforms of real numbers are the sizes.
    """
    given: dict[str, Any] = dict(operation.attributes)
    lengths: tuple[int, ...] = tuple(given["fft_length"])
    sizes = operand.shape[operand.ndim - len(lengths) :]
    return sizes, lengths if given["fft_type"] in ("FFT", "IFFT") else sizes


def _predict_longer_transform(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 if elements are as transforms of as many elements in memory make them.

    Where several transforms write, any may be the last. Transforms that read memory behind the
    operand may write anything.
    """
    (operand,), (got,) = operands, actual
    sizes, lengths = _sizes_and_lengths(operation, operand)
    if not operand.size or all(map(le, lengths, sizes)):
        return predict_nothing(expected)
    places = _transform_positions(operand, sizes, lengths)
    is_inside = (places < operand.size).all(axis=1)
    written, right = np.zeros((2, operand.size), np.bool_)
    written[places[places < operand.size]] = True
    beyond = places[~is_inside]
    right[beyond[beyond < operand.size]] = True
    if is_inside.any():
        inside = places[is_inside]
        rows, begun = (one.reshape(-1)[inside].reshape(-1, *lengths) for one in (operand, got))
        other, results, begun = _transform_part(operation, rows, begun)
        (distances,) = fft_errors(other, (rows,), results, (begun,), flushes=True)
        right[inside[(distances <= 1).reshape(inside.shape)]] = True
    return predict_where(np.full(got.shape, (right | ~written).all()))


def _transform_positions(operand: Array, sizes: tuple[int, ...], lengths: tuple[int, ...]) -> Array:
    """Return the positions in memory, in elements, of each transform as a row."""
    places = np.arange(0, operand.size, prod(sizes))[:, None]
    for dimension, length in enumerate(lengths):
        steps = np.arange(length) * prod(sizes[dimension + 1 :])
        places = (places[:, :, None] + steps).reshape(len(places), -1)
    return places


BEYOND_THE_OPERAND = Hypothesis(BEYOND, _predict_longer_transform, signs=True, unsteady=True)
"""The class of transforms of more elements than a dimension has, as cuFFT computes them."""

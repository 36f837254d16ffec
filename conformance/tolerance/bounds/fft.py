"""Tolerance rules of the ops of reference/ops/fft.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from conformance.tolerance.bounds.underflow import underflow
from conformance.tolerance.rule import Rule
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.products import to_wide_type

FACTOR = 4
"""c of the bound c u log2(N): Higham's 24.2 has log2(N) eta / (1 - log2(N) eta) with eta = mu +
gamma(4) (sqrt(2) + mu), so about 6.7 u for exact weights; split radices err by less."""


def fft_errors(
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    actual: tuple[Array, ...],
    *,
    flushes: bool = False,
    in_pairs: bool = False,
) -> tuple[Array, ...]:
    """Return errors in units of the bound on their norm, with a norm for each transform.

    In a transform within its bound, all errors are that quotient of norms. In any other transform,
    each error is in units of the permitted root mean square. With `in_pairs`, two consecutive
    transforms have the norm of both.
    """
    axes = transformed_axes(operation, expected[0])
    bound = transform_bound(operation, operands, expected, flushes=flushes, in_pairs=in_pairs)
    error = to_wide_type(actual[0]) - to_wide_type(expected[0])
    whole = _norm(error, axes) / bound
    kept = math.prod(expected[0].shape[axis] for axis in axes)
    each = np.abs(error) * math.sqrt(kept) / bound
    found = np.where(whole <= 1, whole, np.where(np.isnan(each), np.inf, each))
    return (np.where(error == 0, 0.0, found).astype(np.float64),)


def transform_bound(
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    *,
    flushes: bool = False,
    in_pairs: bool = False,
) -> Array:
    """Return the largest permitted norm of the errors of each transform.

    Its dimensions are of size 1 in the result. No error of an element is larger.
    """
    axes = transformed_axes(operation, expected[0])
    kind = operation.attribute("fft_type")
    real = operands[0] if kind == "RFFT" else expected[0]
    count = math.prod(real.shape[axis] for axis in axes)
    norm = _norm(to_wide_type(real), axes) * (math.sqrt(count) if kind == "RFFT" else 1)
    norm = _norm_of_pairs(norm) if in_pairs else norm
    steps = math.log2(count) if count else 0.0
    element_type = element_type_of(expected[0])
    least = underflow(element_type, flushes=flushes)
    return FACTOR * unit_roundoff(element_type) * steps * norm + _underflow_bound(count, least)


def error_of_each_element(
    operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
) -> tuple[Array]:
    """Return the largest error that an element may have alone: the norm of a transform's errors."""
    bound = transform_bound(operation, operands, expected)
    return (np.broadcast_to(bound, expected[0].shape).astype(np.float64),)


def transformed_axes(operation: Operation, array: Array) -> tuple[int, ...]:
    """Return the dimensions of an operand or a result that are transformed: the last ones."""
    count = len(_lengths(operation))
    return tuple(range(array.ndim - count, array.ndim))


def _lengths(operation: Operation) -> tuple[int, ...]:
    found: Any = operation.attribute("fft_length")
    return tuple(found)


def _underflow_bound(count: int, least: float) -> float:
    return count * least if count > 1 else 0.0


def _norm(numbers: Array, axes: tuple[int, ...]) -> Array:
    """Return the Euclidean norm over some dimensions, kept with size 1; without overflow."""
    size = np.abs(numbers)
    largest = size.max(axis=axes, keepdims=True, initial=0.0)
    scale = np.where((largest == 0) | ~np.isfinite(largest), 1.0, largest)
    return np.sqrt(((size / scale) ** 2).sum(axis=axes, keepdims=True)) * scale


def _norm_of_pairs(norms: Array) -> Array:
    """Return the norm of two consecutive transforms for each of them."""
    flat = norms.reshape(-1)
    pairs = np.pad(flat, (0, flat.size % 2)).reshape(-1, 2)
    return np.repeat(np.hypot(*pairs.T), 2)[: flat.size].reshape(norms.shape)


TRANSFORMED = Rule(
    "Fourier transform",
    f"norm of the errors of each transform of N elements <= {FACTOR} u log2(N) times the norm of "
    "its result; that of a single element is exact",
    "Higham, Accuracy and Stability, theorem 24.2; Gentleman and Sande 1966",
    bound=error_of_each_element,
    measure=fft_errors,
)

"""Numbers of f64 as sums of two f32 numbers, with which the TPU's compiler computes.

TPUs have no instructions for f64. Their compiler splits a number into the nearest number of f32 and
the number of f32 nearest to the remainder, and writes each operation as a sequence of operations on
such pairs. So results have about 48 bits of significand and the range of f32.

A result is predicted if the operation on operands rounded to pairs gives it, within the error of
arithmetic on pairs. Numbers beyond the range of f32 are infinite, or NaN: the second number of an
infinite pair is often a difference of infinities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from conformance.catalog import rule_of
from conformance.known.broadcasting import broadcast_operands
from conformance.known.hypothesis import Hypothesis, Operands, Results, predict_nothing
from conformance.known.xla.pairs.pair_functions import COMPLEX_WEAKNESSES, WEAKNESSES, Weakness
from conformance.known.xla.pairs.pair_normalization import is_normalization, steps_of
from conformance.known.xla.pairs.representation import (
    BOUND,
    COARSE,
    LARGE,
    NORMAL,
    NUDGE,
    PRECISION,
    SIGNS,
    SMALLEST,
    SUM_ERROR,
    THICK,
    THIN,
    complex_of,
    round_to_pairs,
    split_into_pairs,
)
from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.op import Rounding
from reference.ir.program import Operation, TensorType
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements
from reference.numerics.arithmetic import quiet
from reference.ops.table import OPS

LABEL = "f64 as pairs of f32"
"""The class of results of arithmetic on pairs."""

_LINEAR = ("cholesky", "triangular_solve")
"""Ops that solve linear systems."""

_SHIFTS = 4
"""Number of random changes of the operands of linear systems; the effects of a single change may
cancel.
"""


def _is_wide(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype in (np.float64, np.complex128)


def _clear_flushed_signs(operand: Array, pairs: Array) -> Array:
    """Return pairs with 0 in place of -0 where that is a small number rounded."""
    return np.where((pairs == 0) & (operand != 0), 0.0, pairs)


def _as_pairs(operands: Operands) -> Iterator[list[Array]]:
    """Yield operands rounded to pairs. Small parts of complex numbers may lose their signs, which
    say on which side of a branch cut a number is.
    """
    given = [round_to_pairs(one) if _is_wide(one) else one for one in operands]
    yield given
    others = [
        complex_of(*(_clear_flushed_signs(part(one), part(pair)) for part in (np.real, np.imag)))
        if one.dtype == np.complex128
        else pair
        for one, pair in zip(operands, given, strict=True)
    ]
    if any(map(_differ, given, others)):
        yield others


def _differ(one: Array, other: Array) -> bool:
    return one is not other and one.tobytes() != other.tobytes()


def _apply_to_pairs(operation: Operation, given: Sequence[Any]) -> Results:
    """Return the results on pairs, rounded to pairs."""
    results = tuple(map(round_to_pairs, apply(operation, given)))
    weakness = _weakness(operation, given)
    if weakness is None:
        return results
    return (np.where(weakness.negated(*given), -results[0], results[0]),)


def _apply_to_parts(function: Callable[[Array], Array], operand: Any) -> Any:
    """Return a real function applied to an array, or to both parts of complex numbers; other types
    unchanged.
    """
    if not _is_wide(operand):
        return operand
    if operand.dtype == np.complex128:
        return complex_of(function(np.real(operand)), function(np.imag(operand)))
    return function(operand)


def _shift_by_pair_errors(operand: Array, sign: float, *, single: bool) -> Array:
    """Return numbers of larger (or smaller) magnitude by the error of pairs."""
    size = np.abs(operand)
    is_coarse = (size < THIN) | (size > THICK) | single
    changed = operand * (1 + sign * np.where(is_coarse, COARSE, NUDGE))
    is_tiny = (size > 0) & (size < NORMAL)
    return np.where(is_tiny & (sign > 0), np.copysign(NORMAL, operand), changed)


def _shift_each(operand: Array, *, seed: int) -> Array:
    """Return each number made larger or smaller independently, which linear systems magnify."""
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), operand.shape)
    return np.asarray(operand * (1 + signs * NUDGE))


def _shift_operands(
    operation: Operation, operands: Operands, *, single: Sequence[bool]
) -> Iterator[list[Array]]:
    """Yield operands changed by the errors of pairs, or of a `single` number."""
    for even, odd in SIGNS:
        signs = [odd if n % 2 else even for n in range(len(operands))]
        yield [
            _apply_to_parts(partial(_shift_by_pair_errors, sign=sign, single=coarse), one)
            for one, sign, coarse in zip(operands, signs, single, strict=True)
        ]
    if operation.name in _LINEAR:
        for seed in range(_SHIFTS):
            yield [_apply_to_parts(partial(_shift_each, seed=seed), one) for one in operands]


def _flush(operand: Array) -> Array:
    return np.where(np.abs(operand) < NORMAL, np.copysign(0.0, operand), operand)


def _limits(
    operation: Operation, operands: Operands, results: Results, *, single: Sequence[bool]
) -> tuple[Array, ...]:
    """Return the absolute errors that arithmetic on pairs may have in each result."""
    record = OPS.get(operation.name)
    if record is not None and record.rounding is Rounding.MOVES:
        if record.is_bitcast:  # a pair made of bits loses last bits, and what is subnormal in f32
            return tuple(np.abs(one) * NUDGE + NORMAL for one in results)
        least = np.nextafter(0.0, 1.0)  # moved pairs stay as they are, zeros of either sign
        return tuple(np.full(one.shape, least) for one in results)
    precision = _precision(single)
    limits = [
        np.abs(one) * precision + SMALLEST if _is_wide(one) else np.zeros(one.shape)
        for one in results
    ]
    for changed in _shift_operands(operation, operands, single=single):
        for number, other in enumerate(apply(operation, changed)):
            if _is_wide(other):
                apart = np.abs(other - results[number])
                limits[number] += 4 * np.where(np.isfinite(apart), apart, 0.0)
    weakness = _weakness(operation, operands)
    if weakness is not None:
        limits[0] = limits[0] + weakness.errors(*operands) + weakness.absolute * precision
    own = list(limits)
    bound = getattr(rule_of(operation), "bound", None)
    if bound is None:
        return tuple(limits)
    changed = next(_shift_operands(operation, operands, single=single))
    for given in (operands, changed):  # sums that are exact in f64 may be rounded in pairs
        for number, one in enumerate(bound(operation, tuple(given), results)):
            if one is not None:
                limits[number] = np.maximum(limits[number], own[number] + one * BOUND + SUM_ERROR)
    return tuple(limits)


def _errors(
    operation: Operation,
    operands: Operands,
    expected: Results,
    actual: Results,
    *,
    single: bool = False,
) -> Results:
    """Return the distances from the predicted results in units of the errors of pairs.

    With `single`, second numbers of pairs are lost, so that results have the errors of f32.
    """
    return _pair_errors(operation, operands, expected, actual, [single] * len(operands))


def _broadcast_number_errors(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return the distances where one operand of a formula has equal elements.

    Functions of this operand alone are computed for a single number.
    """
    if len(operands) < 2 or not _takes_arrays(operation):
        return predict_nothing(expected)
    equal = [_has_equal_elements(one) for one in operands]
    if sum(equal) != 1 or _weakness(operation, operands) is None:
        return predict_nothing(expected)
    return _pair_errors(operation, operands, expected, actual, equal)


def _takes_arrays(operation: Operation) -> bool:
    """Return whether no operand is a tuple or a token."""
    return all(isinstance(value.type, TensorType) for value in operation.operands)


def _has_equal_elements(operand: Array) -> bool:
    return operand.size > 1 and bool((operand == operand.flat[0]).all())


def _precision(single: Sequence[bool]) -> float:
    """Return the relative error of an operation on pairs, or on `single` numbers."""
    return COARSE if all(single) else PRECISION


@quiet
def _pair_errors(
    operation: Operation,
    operands: Operands,
    expected: Results,
    actual: Results,
    single: Sequence[bool],
) -> Results:
    is_of_all = len(operation.results) == len(expected)  # not so where a program selects tuples
    has_wide = any(map(_is_wide, (*operands, *expected)))
    if not is_of_all or not _takes_arrays(operation) or not has_wide:
        return predict_nothing(expected)
    found = predict_nothing(expected)
    try:
        for given in _as_pairs(operands):
            errors = _distances_from_pair_results(operation, operands, given, actual, single)
            found = tuple(map(np.minimum, found, errors))
    except EvaluationError:
        return predict_nothing(expected)
    return found


def _distances_from_pair_results(
    operation: Operation,
    operands: Operands,
    given: Sequence[Any],
    actual: Results,
    single: Sequence[bool],
) -> Results:
    """Return the distances from the results on pairs `given`, which stand for `operands`."""
    if is_normalization(operation):
        return _distances_from_steps(operation, given, actual, _precision(single))
    predicted = _apply_to_pairs(operation, given)
    if not any(map(_is_wide, predicted)):
        return tuple(map(_zero_if_equal, predicted, actual))
    limits = _limits(operation, operands, predicted, single=single)
    overflowing = _may_overflow(operation, operands, predicted)
    return tuple(map(_distances, predicted, actual, limits, overflowing))


def _distances_from_steps(
    operation: Operation, given: Sequence[Any], actual: Results, unit: float
) -> Results:
    """Return the distances from the results of a normalization, step by step."""
    steps = steps_of(operation, given, unit, COARSE)
    shaped = (
        [np.broadcast_to(part, one.value.shape).reshape(got.shape)
         for part in (one.value, one.error, one.lost)]
        for one, got in zip(steps, actual, strict=True)
    )  # fmt: skip
    return tuple(
        _distances(part[0], got, *part[1:]) for part, got in zip(shaped, actual, strict=True)
    )


def _weakness(operation: Operation, operands: Sequence[Any]) -> Weakness | None:
    """Return the weakness of an op's function on pairs, if it has one."""
    if all(one.dtype == np.float64 for one in operands):
        return WEAKNESSES.get(operation.name)
    is_complex = all(one.dtype == np.complex128 for one in operands)
    return COMPLEX_WEAKNESSES.get(operation.name) if is_complex else None


def _may_overflow(operation: Operation, operands: Operands, predicted: Results) -> Sequence[Array]:
    """Return for each result a mask of the elements that may be NaN or infinite.

    Products and partial sums that overflow cancel out in f64. They do not if all have one sign.
    """
    rule = rule_of(operation)
    masks = [_overflows(operation, operands, one) for one in predicted]
    if rule is not None and rule.bound is not None:
        sums = apply(operation, list(map(_magnitudes, operands)))
        masks = [mask | _is_beyond_pairs(one) for mask, one in zip(masks, sums, strict=True)]
    flushed = apply(operation, [_apply_to_parts(_flush, one) for one in operands])
    masks = [
        mask | ~np.isfinite(one) if _is_wide(one) else mask
        for mask, one in zip(masks, flushed, strict=True)
    ]
    weakness = _weakness(operation, operands)
    if weakness is None:
        return masks
    return [masks[0] | weakness.fails(*map(round_to_pairs, operands))]


def _overflows(operation: Operation, operands: Operands, predicted: Array) -> Array:
    """Return a mask of the elements that depend on pairs that may overflow, or are such pairs."""
    mask = _is_large(predicted)
    for one in broadcast_operands(operation, operands, predicted.shape) or ():
        mask = mask | _is_large(one)
    return mask


def _is_beyond_pairs(array: Array) -> Array:
    """Return a mask of the large numbers, without NaN."""
    if not _is_wide(array):
        return np.zeros(array.shape, np.bool_)
    return (np.abs(np.real(array)) >= LARGE) | (np.abs(np.imag(array)) >= LARGE)


def _magnitudes(operand: Array) -> Array:
    """Return magnitudes as numbers of the same type, other types unchanged."""
    of = element_type_of(operand)
    if of.is_complex:
        return (np.abs(np.real(operand)) + np.abs(np.imag(operand))).astype(operand.dtype)
    return np.abs(operand) if of.is_float else operand


def _is_large(array: Array) -> Array:
    if not _is_wide(array):
        return np.zeros(array.shape, np.bool_)
    parts = (np.real(array), np.imag(array))
    return np.logical_or.reduce([~(np.abs(part) < LARGE) for part in parts])


def _zero_if_equal(predicted: Array, actual: Array) -> Array:
    return np.where(equal_elements(predicted, actual), 0.0, np.inf)


def _distances(predicted: Array, actual: Array, limit: Array, overflowing: Array) -> Array:
    if not _is_wide(predicted):
        return _zero_if_equal(predicted, actual)
    with np.errstate(all="ignore"):
        units = np.abs(actual - predicted) / limit
        units = np.where(overflowing & ~np.isfinite(actual), 0.0, units)
    same = equal_elements(predicted, actual)
    return np.where(same, 0.0, np.where(np.isnan(units), np.inf, units))


PAIRS = Hypothesis(LABEL, _errors, represents=True)
"""The class of results of arithmetic on pairs of f32."""


def _single_element_errors(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return the distances in units of f32 errors, for results of a single element."""
    if any(one.size != 1 for one in expected):
        return predict_nothing(expected)
    return _errors(operation, operands, expected, actual, single=True)


def _splat_errors(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return the distances in units of f32 errors, for operands of equal elements."""
    if not all(one.size and (one == one.flat[0]).all() for one in operands):
        return predict_nothing(expected)
    return _errors(operation, operands, expected, actual, single=True)


def _constant_minuend_errors(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return the distances from differences c - x that have only c's rounding error."""
    if not all(map(_is_wide, operands)):
        return predict_nothing(expected)
    with np.errstate(all="ignore"):
        if operands[0].dtype == np.complex128:
            parts = [_one_sided_difference(*map(part, operands)) for part in (np.real, np.imag)]
            value = complex_of(*parts)
        else:
            value = _one_sided_difference(*operands)
        limit = np.abs(value) * PRECISION + SMALLEST
        overflowing = _overflows(operation, operands, value)
        return (_distances(value, actual[0], limit, overflowing),)


def _one_sided_difference(minuend: Array, subtrahend: Array) -> Array:
    """Return c - x on pairs, without the rounding error of x in the difference of the larger
    numbers.
    """
    (high, low), (taken, rest) = map(split_into_pairs, (minuend, subtrahend))
    total = high - taken
    error = high - (total + taken)
    lows = low.astype(np.float64) - rest
    return round_to_pairs(total.astype(np.float64) + (error + lows))


CONSTANT_OFFSETS = Hypothesis(
    LABEL, partial(_errors, single=True), represents=True, constants=("offset",)
)
"""The class of normalizations on pairs with a constant offset, from which the scaled mean is
subtracted.
"""

CONSTANT_DATA = Hypothesis(
    LABEL, partial(_errors, single=True), represents=True, constants=("operand",)
)
"""The class of normalizations of constant data on pairs, from which their mean is subtracted."""

CONSTANT_GRADIENT_OPERANDS = tuple(
    Hypothesis(LABEL, partial(_errors, single=True), represents=True, constants=(name,))
    for name in ("operand", "variance", "grad_output")
)
"""The class of gradients of a normalization on pairs.

Mean and sums are subtracted from operand and grad_output, and a quotient by a constant variance
subtracts products from one another.
"""

CONSTANT_MATRICES = Hypothesis(
    LABEL, partial(_errors, single=True), represents=True, constants=("a",)
)
"""The class of Cholesky factors on pairs of a constant matrix, from which sums of products are
subtracted.
"""

CONSTANT_MINUENDS = Hypothesis(LABEL, _constant_minuend_errors, represents=True, constants=("lhs",))
"""The class of c - x of a constant c. The sum s = c + (-x) has the rounding error
(c - (s + x)) + (-x - (s - (s + x))). The algebraic simplifier makes 0 of the second summand, so
that the result is as accurate as f32 if x is smaller than c.
"""

CONSTANT_SPLATS = Hypothesis(LABEL, _splat_errors, represents=True, constants=("*",))
"""The class of results on pairs of constants whose elements are all equal: the compiler computes a
single element.
"""

BROADCAST_NUMBERS = Hypothesis(LABEL, _broadcast_number_errors, represents=True)
"""The class of results on pairs of a number that is broadcast to all elements, and of others:
functions of that number are as accurate as f32.
"""

SINGLE_ELEMENTS = Hypothesis(LABEL, _single_element_errors, represents=True)
"""The class of results on pairs that have one element.

There the algebraic simplifier removes steps that compute second numbers: exp of one number of f64
has 26 right bits, and 48 without that pass.
"""

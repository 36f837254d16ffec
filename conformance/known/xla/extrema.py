"""Extrema and sums by compilers that treat special values differently.

Each class is a model: the reduction is evaluated on changed operands that mimic the compiler. Only
elements that are equal bit for bit are of the class.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    predict_nothing,
    predict_where,
)
from conformance.known.xla.many_elements import KERNELS, Kernel, fold_extremum
from conformance.known.xla.pairs.representation import round_to_pairs
from conformance.tolerance.rule import Measure
from conformance.transforms.values import free_values
from reference.interpreter.evaluate import EvaluationError, apply, evaluate
from reference.ir.monoid import ADD, MAXIMUM, MINIMUM, Monoid
from reference.ir.program import Function, Operation, Program, Region, TensorType, Value, single_op
from reference.ir.regions import monoid_of
from reference.ir.types import Array, element_type_of, to_bits
from reference.numerics.rounding import to_float64
from reference.unspecified.reduction import decompose_reduction

_PAIR = 2
"""Operands of a reduction of one input: the input and its init value."""

_SINGLE = 32
"""Bits of the narrowest type in which kernels lose numbers beside NaN."""

Otherwise = Callable[[Monoid, Array, Array], tuple[Array, Array] | None]
"""A function otherwise(monoid of the body, operand, init value): both as the compiler treats them,
None if unchanged.
"""

Compute = Callable[[Operation, Monoid, Operands], Array | None]
"""compute(operation, monoid of the body, operands): the result that the compiler computes; None if
no result but the specification's is known.
"""


def _without_nan(monoid: Monoid, operand: Array, init: Array) -> tuple[Array, Array] | None:
    if not monoid.extremum:
        return None
    return _replace_by_init(operand, np.isnan(to_float64(operand)), init), init


def _without_the_greater_zero(
    monoid: Monoid, operand: Array, init: Array
) -> tuple[Array, Array] | None:
    """Return operand and init value with init values for zeros: for +0 of a maximum, -0 of a
    minimum.
    """
    if not monoid.extremum:
        return None
    number = to_float64(operand)
    taken = (number == 0) & (np.signbit(number) == (monoid.extremum < 0))
    return _replace_by_init(operand, taken, init), init


def _pairs_without_the_greater_zero(
    monoid: Monoid, operand: Array, init: Array
) -> tuple[Array, Array] | None:
    """Round f64 operands to pairs of f32, which turns small numbers into zeros.

    Then replace the zeros that `_without_the_greater_zero` replaces.
    """
    if operand.dtype != np.float64:
        return None
    return _without_the_greater_zero(monoid, round_to_pairs(operand), round_to_pairs(init))


def _without_nan_nor_zero(
    monoid: Monoid, operand: Array, init: Array
) -> tuple[Array, Array] | None:
    """Return operand and init value without NaN, and with only the first of the remaining zeros."""
    left = _without_nan(monoid, operand, init)
    return None if left is None else _without_the_greater_zero(monoid, *left)


def _from_zero(monoid: Monoid, operand: Array, init: Array) -> tuple[Array, Array] | None:
    return (operand, np.zeros_like(init)) if monoid is ADD else None


def _replace_by_init(operand: Array, mask: Array, init: Array) -> Array:
    return np.where(mask, init, operand).astype(operand.dtype)


def _reduce_other_operands(otherwise: Otherwise) -> Compute:
    """Return a function that computes a reduction on the operands that `otherwise` returns."""

    def compute(operation: Operation, monoid: Monoid, operands: Operands) -> Array | None:
        changed = otherwise(monoid, *operands)
        return None if changed is None else apply(operation, changed)[0]

    return compute


def _reduce_by_kernel(kernel: Kernel) -> Compute:
    """Return a function that computes a reduction in the order of a kernel."""

    def compute(operation: Operation, monoid: Monoid, operands: Operands) -> Array | None:
        if element_type_of(operands[0]).bits < _SINGLE:  # these kernels lose NaN alone
            return None
        return fold_extremum(decompose_reduction(operation, operands), monoid, kernel)

    return compute


def _make_measure(compute: Compute, concerned: Callable[[Array, Array], Array]) -> Measure:
    """Return a measure: 0 for concerned elements that equal the compiler's results."""

    def measure(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        if len(operands) != _PAIR or not element_type_of(expected[0]).is_float:
            return predict_nothing(expected)
        region = operation.regions[0]
        monoid = monoid_of(region) or body_monoid(region)
        if monoid is None:
            return predict_nothing(expected)
        if operation.operands[0] == operation.operands[1]:
            return predict_nothing(expected)  # nothing is reduced
        try:
            result = compute(operation, monoid, operands)
        except EvaluationError:
            return predict_nothing(expected)
        if result is None:
            return predict_nothing(expected)
        alike = to_bits(result) == to_bits(actual[0])
        alike |= _is_flushed(result, actual[0])
        alike &= concerned(to_float64(expected[0]), to_float64(actual[0]))
        return predict_where(alike)

    return measure


_SIGNED = (-1.0, -0.0, 0.0, 1.0)


def body_monoid(region: Region) -> Monoid | None:
    """Return the monoid that a body computes with other operations, or None.

    Its results on zeros of both signs and on 1 determine it.
    """
    first, second = (value.type for value in region.arguments)
    if free_values(region) or first != second or not isinstance(first, TensorType):
        return None
    numbers = [np.array(number).astype(first.storage) for number in _SIGNED]
    pairs = list(product(numbers, numbers))
    end = region.operations[-1].operands
    body = Program((Function("main", region, tuple(value.type for value in end)),))
    placed = tuple(Value(name, first) for name in ("a", "b"))
    try:
        found = [evaluate(body, pair) for pair in pairs]
        for monoid in (MAXIMUM, MINIMUM, ADD):
            alone = single_op(monoid.name, placed, (first,))
            same = (evaluate(alone, pair) for pair in pairs)
            if all(to_bits(a[0]) == to_bits(b[0]) for a, b in zip(found, same, strict=True)):
                return monoid
    except EvaluationError:
        pass
    return None


def _is_flushed(result: Array, actual: Array) -> Array:
    """Return a mask of elements that differ only by flushed subnormals."""
    smallest = element_type_of(result).float_format.smallest_normal
    return (np.abs(to_float64(result)) < smallest) & (to_float64(actual) == 0) & (result != 0)


def _lost_elements(expected: Array, actual: Array) -> Array:
    return np.isnan(expected) & ~np.isnan(actual)


def _zeros(expected: Array, actual: Array) -> Array:
    return (expected == 0) & (actual == 0)


def _complex_from_zero(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for complex sums that equal sums from +0 and have a part that is zero."""
    is_sum = len(operands) == _PAIR and monoid_of(operation.regions[0]) is ADD
    if not is_sum or not element_type_of(expected[0]).is_complex:
        return predict_nothing(expected)
    (other,) = apply(operation, (operands[0], np.zeros_like(operands[1])))
    alike = (to_bits(other) == to_bits(actual[0])).all(axis=-1)
    zeros = [_zeros(part(expected[0]), part(actual[0])) for part in (np.real, np.imag)]
    return predict_where(alike & (zeros[0] | zeros[1]))


def _hypothesis(
    label: str,
    compute: Compute,
    concerned: Callable[[Array, Array], Array],
    *,
    signs: bool = False,
) -> Hypothesis:
    return _measured_hypothesis(label, _make_measure(compute, concerned), signs=signs)


def _measured_hypothesis(label: str, measure: Measure, *, signs: bool = False) -> Hypothesis:
    return Hypothesis(label, measure, signs=signs, ulps=measure)


_EQUAL_ZEROS = "zeros taken for equal"

PAIR_EXTREMA = (
    _hypothesis(
        _EQUAL_ZEROS, _reduce_other_operands(_pairs_without_the_greater_zero), _zeros, signs=True
    ),
)
"""The class of extrema of numbers of f64 that are pairs of f32."""

WRONG_REDUCTIONS = (
    _hypothesis("NaN left out", _reduce_other_operands(_without_nan), _lost_elements),
    *(_hypothesis("NaN left out", _reduce_by_kernel(one), _lost_elements) for one in KERNELS),
    _hypothesis("NaN left out", _reduce_other_operands(_without_nan_nor_zero), _lost_elements),
    _hypothesis(
        _EQUAL_ZEROS, _reduce_other_operands(_without_the_greater_zero), _zeros, signs=True
    ),
    _hypothesis("summed from +0", _reduce_other_operands(_from_zero), _zeros, signs=True),
    _measured_hypothesis("summed from +0", _complex_from_zero, signs=True),
)
"""Classes of wrong reductions: an extremum that ignores NaN; an extremum that ignores NaN and the
numbers that a kernel drops next to a NaN; an extremum that is a zero of the other sign; a sum
that is +0 although its init value and all elements are -0.
"""

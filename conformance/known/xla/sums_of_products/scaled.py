"""Sums of products of scaled operands by compilers."""

from __future__ import annotations

import itertools
import operator

import numpy as np

from conformance.known.hypothesis import Hypothesis, Operands, Results
from conformance.known.xla.sums_of_products import regrouped_scales
from conformance.known.xla.sums_of_products.products import (
    FLUSHED,
    IN_BF16,
    bf16_accumulation_errors,
)
from conformance.known.xla.sums_of_products.rounded_products import ROUNDED_SCALED_PRODUCTS
from conformance.tolerance.bounds.contraction import contraction_sums, depth_of
from conformance.tolerance.bounds.products import make_measure, quantum_of
from conformance.tolerance.bounds.scaled import as_dot_general, factors_of, scale_operands
from reference.ir.program import Operation
from reference.ir.types import Array, element_type, element_type_of
from reference.numerics.products import add_initial_zero, round_sums
from reference.numerics.rounding import to_float64
from reference.numerics.zeros import is_negative, is_zero
from reference.ops.xla.scaled import BF16

_F32 = element_type("f32")


def _flushed_errors(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return the errors of sums in which values that are subnormal in bf16 are flushed, on one or
    both sides.

    The scales of a side may be flushed, too.

    The least number of f8E8M0FNU is such a scale. A constant may be scaled at compile time, and is
    then not flushed, unlike the other side.
    """
    product, default = as_dot_general(operation, operands)
    measure, to = (
        make_measure(contraction_sums, depth_of, default, flushes=True),
        element_type_of(expected[0]),
    )
    kept = factors_of(operands)
    flushed = tuple(
        map(
            _without_subnormals,
            factors_of(tuple(map(_without_subnormals, map(to_float64, operands)))),
        )
    )
    found: list[Array] = []
    for factors in itertools.product(*zip(kept, flushed, strict=True)):
        sums = add_initial_zero(contraction_sums(product, factors, False))
        same = all(map(operator.is_, factors, kept))
        found += measure(product, factors, (expected[0] if same else round_sums(sums, to),), actual)
    wrong = _other_zeros(expected, actual) & (not _may_be_flushed(kept))
    return (np.where(wrong, np.inf, np.minimum.reduce(found)),)


def _without_subnormals(numbers: Array) -> Array:
    """Return numbers with those that are subnormal in bf16 replaced by zero."""
    zero = np.copysign(numbers.dtype.type(0), numbers)
    return np.where(np.abs(numbers) < BF16.float_format.smallest_normal, zero, numbers)


def _may_be_flushed(factors: Operands) -> bool:
    """Return a mask of products or sums that may be subnormal, so that their zero has any sign."""
    quantum = 1.0
    for one in factors:
        quantum *= quantum_of(np.abs(one[np.isfinite(one)]).astype(np.float64))
    return quantum < _F32.float_format.smallest_normal


def _other_zeros(expected: Results, actual: Results) -> Array:
    """Return a mask of zeros that have the other sign."""
    want, got = expected[0], actual[0]
    return is_zero(want) & is_zero(got) & (is_negative(want) != is_negative(got))


SCALED = (
    Hypothesis(FLUSHED, _flushed_errors, flushes=True, signs=True),
    Hypothesis(IN_BF16, scale_operands(bf16_accumulation_errors)),
    *regrouped_scales.CLASSES,
    ROUNDED_SCALED_PRODUCTS,
)

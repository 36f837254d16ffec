"""Products rounded to the type of operands or result before they are added.

The compilers for GPU and TPU write a product with a vector, and an outer product, as elementwise
products: in the operands' or the result's type, whichever has more range (see product_types.py).
They are added in f32, or in the same type. An algorithm that rounds operands to a narrow type has
products in that type. Scaled operands are rounded to such a type, too. A convolution with a single
window position is computed in the same way (see unreversed.py).

Source: xla/service/algebraic_simplifier.cc (dot strength reduction), read; libtpu 0.0.50 and jaxlib
0.12 for GPUs, measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    predict_nothing,
    predict_where,
)
from conformance.known.xla.sums_of_products.einsums import over_einsums
from conformance.known.xla.windows.unreversed import without_reversal
from conformance.tolerance.bounds.contraction import dimensions_of
from conformance.tolerance.bounds.convolution import geometry_of
from conformance.tolerance.bounds.scaled import as_dot_general, factors_of
from conformance.tolerance.rule import Measure
from conformance.tolerance.ulp import ulps_from_prediction
from reference.interpreter.evaluate import given_attributes
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type_of
from reference.numerics.alike import equal_elements
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import round_to, to_float64
from reference.ops.contraction import arrange_matrices
from reference.ops.convolution import convolve
from reference.ops.ragged import Mode, ragged_numbers

LABEL = "products rounded before they are added"

_BF16 = ELEMENT_TYPES["bf16"]
_F16 = ELEMENT_TYPES["f16"]
_F32 = ELEMENT_TYPES["f32"]
MOST = 1 << 22
"""Largest number of products that are computed one by one."""
_F32_ROUNDOFF = 2.0**-24


def _product_errors(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    types = _types_of_algorithm(operation) or _narrow_types(operands, expected)
    if (len(operands) != 2 and not _is_ragged_batch(operation)) or not types:
        return predict_nothing(expected)
    return interval_errors(_sums_of_matrices(operation, operands[:2], types), expected, actual)


def _is_ragged_batch(operation: Operation) -> bool:
    """Return whether an operation is a ragged dot whose groups make no difference."""
    if operation.attribute("lhs_ragged_dimensions") is None:
        return False
    return ragged_numbers(**given_attributes(operation)).mode is Mode.BATCH


def _convolution_errors(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    rewritten = without_reversal(operation, operands, expected)
    types = _narrow_types(operands, expected)
    if rewritten is None or not types or operands[0].size * expected[0].size > MOST:
        return predict_nothing(expected)
    return interval_errors(_sums_of_windows(rewritten, operands, types), expected, actual)


def _scaled_product_errors(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    product, _ = as_dot_general(operation, operands)
    types = {_BF16, element_type_of(expected[0])}
    sums = chain(
        _sums_of_matrices(product, factors_of(operands), types),
        _sums_of_matrices(product, _f16_factors(operands), {_F32}),
    )
    return interval_errors(sums, expected, actual)


def _f16_factors(operands: Operands) -> Operands:
    """Return the operands times their scales, in f16 if one is of f16 and the other no wider.

    XLA for GPUs multiplies them in f16 then, which may overflow, and the rest in f32. A scale may
    be infinite or zero in f16. Source: optimised modules of jaxlib 0.12 for GPUs.
    """
    in_f16 = factors_of(tuple(_round_to_type(to_float64(one), _F16) for one in operands))
    pairs = zip(operands[::2], operands[1::2], strict=True)
    return tuple(
        _round_to_type(narrow, _F16) if _is_scaled_in_f16(*pair) else factor
        for pair, factor, narrow in zip(pairs, factors_of(operands), in_f16, strict=True)
    )


def _is_scaled_in_f16(operand: Array, scale: Array) -> bool:
    """Return whether one of two arrays is of f16, and the other of f16 or of a narrower type."""
    types = {element_type_of(operand), element_type_of(scale)}
    return _F16 in types and all(one is _F16 or one.bits < _F16.bits for one in types)


def _types_of_algorithm(operation: Operation) -> set[ElementType]:
    """Return the narrow types to which a stated algorithm of one product rounds operands."""
    if operation.attribute("num_primitive_operations", 0) != 1:
        return set()
    names = (operation.attribute(f"{side}_precision_type") for side in ("lhs", "rhs"))
    types = {ELEMENT_TYPES[str(name)] for name in names if name in ELEMENT_TYPES}
    return {one for one in types if one.bits <= _F16.bits}


def _narrow_types(operands: Operands, expected: Results) -> set[ElementType]:
    """Return the types of factors and result; none if a type is wider than 16 bits or no float."""
    types = {element_type_of(one) for one in (*operands[:2], expected[0])}
    return types if all(one.is_float and one.bits <= 16 for one in types) else set()


@quiet
def interval_errors(
    intervals: Iterable[tuple[Array, Array]], expected: Results, actual: Results
) -> Results:
    """Return the widths, in ulp, of predicted intervals that contain elements, else infinity.

    An interval has the sums of products rounded to a type, by the order in which they are added.
    """
    shape, to = expected[0].shape, element_type_of(actual[0])
    found = np.full(shape, np.inf)
    for low, high in intervals:
        least, most = (round_to(one.reshape(shape), to) for one in (low, high))
        widths = ulps_from_prediction(least, most)
        is_inside = _lies_between(least, most, actual[0])
        found = np.where(is_inside, np.minimum(found, widths), found)
    return (found,)


def _sums_of_matrices(
    operation: Operation, operands: Operands, types: set[ElementType]
) -> Iterator[tuple[Array, Array]]:
    left, right = operands
    lhs, rhs, _ = arrange_matrices(left, right, dimensions_of(operation, left))
    rows, depth, columns = lhs.shape[-2], lhs.shape[-1], rhs.shape[-1]
    is_elementwise = min(rows, columns) == 1 or depth <= 1
    for of in sorted(types, key=lambda one: one.name):
        a, b = (_round_to_type(one, of) for one in (lhs, rhs))
        yield _unrounded_sums(a, b)
        if is_elementwise and lhs.size * columns <= MOST:
            yield rounded_product_sums(a, b, of)
            yield stepwise_sums(a, b, of)


def _sums_of_windows(
    operation: Operation, operands: Operands, types: set[ElementType]
) -> Iterator[tuple[Array, Array]]:
    window = geometry_of(operation, operands)
    lhs, rhs = operands[:2]
    for of in sorted(types, key=lambda one: one.name):
        for sums in (rounded_product_sums, stepwise_sums):
            low, high = (
                convolve(
                    round_to(to_float64(lhs), of),
                    round_to(to_float64(rhs), of),
                    window,
                    lambda a, b, of=of, sums=sums, end=end: sums(a, b, of)[end],
                )
                for end in (0, 1)
            )
            yield low, high


def _zero_if_contained(measure: Measure) -> Measure:
    """Return the measure that is 0 for each element in an interval, else infinite."""

    def zero_if_contained(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        widths = measure(operation, operands, expected, actual)
        return predict_where(*map(np.isfinite, widths))

    return zero_if_contained


def rounded_hypothesis(measure: Measure) -> Hypothesis:
    """Return the class of sums for which a measure returns the width of an interval."""
    return Hypothesis(LABEL, _zero_if_contained(measure), ulps=measure)


def _round_to_type(numbers: Array, of: ElementType) -> Array:
    return to_float64(round_to(np.asarray(numbers, np.float64), of))


def _unrounded_sums(lhs: Array, rhs: Array) -> tuple[Array, Array]:
    """Return the smallest and largest sums in f32 of products that are not rounded."""
    size = _F32_ROUNDOFF * lhs.shape[-1] * np.matmul(np.abs(lhs), np.abs(rhs))
    total = np.matmul(lhs, rhs)
    size = np.where(np.isfinite(total), size, 0)
    return total - size, total + size


def rounded_product_sums(lhs: Array, rhs: Array, of: ElementType) -> tuple[Array, Array]:
    """Return the smallest and largest sums in f32 of products rounded to a type."""
    products = _rounded_products(lhs, rhs, of)
    total, size = (
        products.sum(axis=-2),
        _F32_ROUNDOFF * lhs.shape[-1] * np.abs(products).sum(axis=-2),
    )
    size = np.where(np.isfinite(total), size, 0)
    return total - size, total + size


def stepwise_sums(lhs: Array, rhs: Array, of: ElementType) -> tuple[Array, Array]:
    """Return the sums, each step rounded to a type, twice: as the smallest and the largest."""
    products = _rounded_products(lhs, rhs, of)
    total = np.zeros((*products.shape[:-2], products.shape[-1]))
    for number in range(lhs.shape[-1]):
        total = _round_to_type(total + products[..., number, :], of)
    return total, total


def _rounded_products(lhs: Array, rhs: Array, of: ElementType) -> Array:
    return _round_to_type(lhs[..., :, :, None] * rhs[..., None, :, :], of)


def _lies_between(low: Array, high: Array, got: Array) -> Array:
    """Return a mask of elements between two numbers, bounds included."""
    below, above, at = map(to_float64, (low, high, got))
    is_inside = (below <= at) & (at <= above)
    return is_inside | equal_elements(low, got) | equal_elements(high, got)


ROUNDED_PRODUCTS = rounded_hypothesis(over_einsums(_product_errors))
ROUNDED_SCALED_PRODUCTS = rounded_hypothesis(_scaled_product_errors)
ROUNDED_CONVOLUTIONS = rounded_hypothesis(_convolution_errors)

"""Products rounded to the type of operands or result before they are added.

The compilers for GPU and TPU write a product with a vector, and an outer product, as elementwise
products: in the operands' or the result's type, whichever has more range (see product_types.py).
They are added in f32, or in the same type. Scaled operands are rounded to such a type, too.

Source: xla/service/algebraic_simplifier.cc (dot strength reduction), read; libtpu 0.0.50 and
jaxlib 0.12.0 for GPUs, measured.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    predict_nothing,
    predict_where,
)
from conformance.tolerance.bounds.contraction import dimensions_of
from conformance.tolerance.bounds.scaled import as_dot_general, factors_of
from conformance.tolerance.rule import Measure
from conformance.tolerance.ulp import ulps_from_prediction
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type_of
from reference.numerics.alike import equal_elements
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import round_to, to_float64
from reference.ops.contraction import arrange_matrices

LABEL = "products rounded before they are added"

_BF16 = ELEMENT_TYPES["bf16"]
_MOST = 1 << 22
"""Largest number of products that are computed one by one."""
_F32 = 2.0**-24


def _of_operands(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    types = {element_type_of(one) for one in operands[:2]} | {element_type_of(expected[0])}
    if len(operands) != 2 or not all(_is_narrow(one) for one in types):
        return predict_nothing(expected)
    return _errors(operation, operands, types, expected, actual)


def _of_scaled_operands(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    product, _ = as_dot_general(operation, operands)
    types = {_BF16, element_type_of(expected[0])}
    return _errors(product, factors_of(operands), types, expected, actual)


def _is_narrow(of: ElementType) -> bool:
    return of.is_float and of.bits <= 16


@quiet
def _errors(
    operation: Operation,
    operands: Operands,
    types: set[ElementType],
    expected: Results,
    actual: Results,
) -> Results:
    """Return the widths, in ulp, of predicted intervals that contain elements, else infinity.

    An interval has the sums of products rounded to a type, by the order in which they are added.
    """
    left, right = operands
    lhs, rhs, shape = arrange_matrices(left, right, dimensions_of(operation, left))
    found, to = np.full(expected[0].shape, np.inf), element_type_of(actual[0])
    for of in sorted(types, key=lambda one: one.name):
        for low, high in _sums(_round_to_type(lhs, of), _round_to_type(rhs, of), of):
            least, most = (round_to(one.reshape(shape), to) for one in (low, high))
            widths = ulps_from_prediction(least, most)
            is_inside = _lies_between(least, most, actual[0])
            found = np.where(is_inside, np.minimum(found, widths), found)
    return (found,)


def _zero_if_contained(measure: Measure) -> Measure:
    """Return the measure that is 0 for each element in an interval, else infinite."""

    def contained(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        widths = measure(operation, operands, expected, actual)
        return predict_where(*map(np.isfinite, widths))

    return contained


def _hypothesis(measure: Measure) -> Hypothesis:
    return Hypothesis(LABEL, _zero_if_contained(measure), ulps=measure)


def _round_to_type(numbers: Array, of: ElementType) -> Array:
    return to_float64(round_to(np.asarray(numbers, np.float64), of))


def _sums(lhs: Array, rhs: Array, of: ElementType) -> Iterator[tuple[Array, Array]]:
    """Yield the smallest and largest sums of rounded factors, and of rounded products."""
    rows, depth, columns = lhs.shape[-2], lhs.shape[-1], rhs.shape[-1]
    size = _F32 * depth * np.matmul(np.abs(lhs), np.abs(rhs))
    total = np.matmul(lhs, rhs)
    yield total - size, total + size
    is_elementwise = min(rows, columns) == 1 or depth <= 1
    if not is_elementwise or lhs.size * columns > _MOST:
        return
    products = _round_to_type(lhs[..., :, :, None] * rhs[..., None, :, :], of)
    total, size = products.sum(axis=-2), _F32 * depth * np.abs(products).sum(axis=-2)
    yield total - size, total + size
    one_by_one = np.zeros(total.shape)
    for number in range(depth):
        one_by_one = _round_to_type(one_by_one + products[..., number, :], of)
    yield one_by_one, one_by_one


def _lies_between(low: Array, high: Array, got: Array) -> Array:
    """Return a mask of elements between two numbers, bounds included."""
    below, above, at = map(to_float64, (low, high, got))
    is_inside = (below <= at) & (at <= above)
    return is_inside | equal_elements(low, got) | equal_elements(high, got)


OF_OPERANDS = _hypothesis(_of_operands)
OF_SCALED_OPERANDS = _hypothesis(_of_scaled_operands)
